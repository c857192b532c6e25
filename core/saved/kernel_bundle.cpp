// SPDX-License-Identifier: Apache-2.0
#include "weir/kernel_bundle.hpp"

#include <fmt/format.h>

#include "core/base/error_text.hpp"
#include "core/runtime/compile_options.hpp"
#include "core/saved/kernel_bundle_format.hpp"
#include "weir/error.hpp"

// The functions of `KernelBundle`, and the bundle of a module that was compiled at run time.
namespace weir {
namespace {

using namespace detail;

[[noreturn]] void throw_bad_bundle(std::span<const std::byte> bytes, const std::string& flaw) {
  throw Error(Errc::invalid_image, "KernelBundle", fmt::format("bundle of {} bytes", bytes.size()), flaw);
}

}  // namespace

std::vector<std::byte> detail::bundle_of(std::string_view source, const CompileOptions& options, std::string_view backend) {
  BundleWriter writer;
  writer.add(record::source, options.name, source);
  for (const auto& [name, text] : options.headers) writer.add(record::header, name, text);
  for (const auto& [name, value] : options.defines) writer.add(record::define, name, value);
  for (const std::string& option : options.extra) writer.add(record::option, backend, option);
  for (const std::string& kernel : options.kernels) writer.add(record::kernel, kernel, "");
  writer.add(record::standard, "", std::to_string(options.cxx_standard));
  if (options.fast_math) writer.add(record::fast_math, "", "");
  if (options.debug) writer.add(record::debug, "", "");
  return writer.bundle();
}

KernelBundle::KernelBundle(std::span<const std::byte> bytes) : bytes_(bytes) {
  BundleReader reader(bytes, bundle_magic, bundle_version,
                      "the bytes are not a bundle of weir_add_kernels: they do not begin like a bundle", throw_bad_bundle);
  while (!reader.at_end()) {
    reader.next();
    const std::string_view kind = reader.kind, name = reader.name;
    if (kind == record::image) {
      const std::size_t space = name.find(' ');
      if (space == 0 || space >= name.size() - 1 || reader.data.empty()) {
        throw_bad_bundle(bytes, fmt::format("it is damaged: '{}' is not a backend and an architecture", printable(name)));
      }
      images_.push_back({name.substr(0, space), name.substr(space + 1), reader.data});
    } else if (kind == record::source) {
      name_ = name;
      if (!reader.data.empty()) source_ = text_of(reader.data);
    } else if (kind == record::header) {
      headers_.emplace_back(name, text_of(reader.data));
    } else if (kind == record::define) {
      defines_.emplace_back(name, text_of(reader.data));
    } else if (kind == record::option) {
      extra_.emplace_back(name, text_of(reader.data));
    } else if (kind == record::kernel) {
      kernels_.push_back(name);
    } else if (kind == record::standard) {
      const std::string_view number = text_of(reader.data);
      if (number != "14" && number != "17" && number != "20") {
        throw_bad_bundle(bytes, fmt::format("it is damaged: '{}' is not a C++ standard", printable(number)));
      }
      cxx_standard_ = (number[0] - '0') * 10 + (number[1] - '0');
    } else if (kind == record::fast_math) {
      fast_math_ = true;
    } else if (kind == record::debug) {
      debug_ = true;
    }
  }
}

CompileOptions KernelBundle::options(std::string_view backend) const {
  CompileOptions options;
  if (!name_.empty()) options.name = name_;
  for (const auto& [name, value] : defines_) options.defines.emplace_back(name, value);
  for (const auto& [name, text] : headers_) options.headers.emplace_back(name, text);
  for (const auto& [name, option] : extra_) {
    if (name == backend) options.extra.emplace_back(option);
  }
  options.kernels.assign(kernels_.begin(), kernels_.end());
  options.cxx_standard = cxx_standard_;
  options.fast_math = fast_math_;
  options.debug = debug_;
  return options;
}

}  // namespace weir
