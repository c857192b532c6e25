// SPDX-License-Identifier: Apache-2.0
#include "weir/kernel_bundle.hpp"

#include <fmt/format.h>

#include "core/abi_difference.hpp"
#include "core/kernel_bundle_format.hpp"
#include "weir/error.hpp"

namespace weir {
namespace {

using namespace detail;

[[noreturn]] void throw_bad_bundle(std::span<const std::byte> bytes, const std::string& flaw) {
  throw Error(Errc::invalid_image, "KernelBundle", fmt::format("bundle of {} bytes", bytes.size()), flaw);
}

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Takes a bundle apart, never beyond its bytes.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {
    if (bytes.size() < sizeof(BundleHeader) || text(bytes.first(bundle_magic.size())) != bundle_magic) {
      throw_bad_bundle(bytes, "these are no kernels that weir_add_kernels made: they do not begin as a bundle does");
    }
    BundleHeader head;
    std::memcpy(&head, bytes.data(), sizeof(head));
    if (head.version != bundle_version) {
      throw_bad_bundle(bytes,
             fmt::format("it has version {} of the format, and this Weir reads version {}; make it with the Weir that the "
                         "program is linked to",
                         head.version, bundle_version));
    }
    if (head.size != bytes.size() || head.size % bundle_alignment != 0) {
      throw_bad_bundle(bytes, fmt::format("it is damaged: it says that it has {} bytes", head.size));
    }
    at_ = sizeof(head);
  }

  bool at_end() const noexcept { return at_ == bytes_.size(); }

  void next() {
    // The size is a multiple of the alignment, and so is each step, so that a header is there, or the end.
    BundleRecord head;
    std::memcpy(&head, take(sizeof(head), "a record's header").data(), sizeof(head));
    kind.assign(head.kind, sizeof(head.kind));
    name = text(take(head.name_size, "a record's name"));
    data = take(head.data_size, "a record's data");
  }

  std::string kind;
  std::string_view name;
  std::span<const std::byte> data;

 private:
  std::span<const std::byte> take(std::uint64_t size, const char* what) {
    const std::size_t left = bytes_.size() - at_;
    if (size > left)
      throw_bad_bundle(bytes_, fmt::format("it is damaged: {} of {} bytes at {} does not fit in", what, size, at_));
    const auto taken = bytes_.subspan(at_, size);
    at_ += (size + bundle_alignment - 1) / bundle_alignment * bundle_alignment;
    return taken;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace

KernelBundle::KernelBundle(std::span<const std::byte> bytes) : bytes_(bytes) {
  for (Reader reader(bytes); !reader.at_end();) {
    reader.next();
    const std::string_view kind = reader.kind, name = reader.name;
    if (kind == record::image) {
      const std::size_t space = name.find(' ');
      if (space == 0 || space >= name.size() - 1 || reader.data.empty()) {
        throw_bad_bundle(bytes,
                         fmt::format("it is damaged: '{}' is no image of a backend and an architecture", printable(name)));
      }
      images_.push_back({name.substr(0, space), name.substr(space + 1), reader.data});
    } else if (kind == record::source) {
      name_ = name;
      if (!reader.data.empty()) source_ = text(reader.data);
    } else if (kind == record::header) {
      headers_.emplace_back(name, text(reader.data));
    } else if (kind == record::define) {
      defines_.emplace_back(name, text(reader.data));
    } else if (kind == record::option) {
      extra_.emplace_back(name, text(reader.data));
    } else if (kind == record::kernel) {
      kernels_.push_back(name);
    } else if (kind == record::standard) {
      const std::string_view number = text(reader.data);
      if (number != "14" && number != "17" && number != "20") {
        throw_bad_bundle(bytes, fmt::format("it is damaged: '{}' is no standard of C++", printable(number)));
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
