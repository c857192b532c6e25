// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <system_error>

#include "commands.hpp"
#include "core/base/error_text.hpp"
#include "core/saved/kernel_bundle_format.hpp"
#include "layout.hpp"
#include "weir/error.hpp"
#include "weir/kernel_bundle.hpp"

namespace weir::tool {
namespace {

using detail::bundle_magic;
using detail::printable;

std::string describe(const KernelBundle& bundle) {
  std::string text =
      fmt::format("{}, {}\n", bundle.name().empty() ? "an image that is not in a bundle yet" : printable(bundle.name()),
                  format_bytes(bundle.bytes().size()));
  for (const auto& [backend, architecture, code] : bundle.images()) {
    text += fmt::format("  image   {:<24}  {}\n", printable(fmt::format("{} {}", backend, architecture)),
                        format_bytes(code.size()));
  }
  if (!bundle.source()) return bundle.name().empty() ? text : text + "  source  not included\n";
  const CompileOptions options = bundle.options("");
  text += fmt::format("  source  {}, C++{}{}{}\n", format_bytes(bundle.source()->size()), options.cxx_standard,
                      options.fast_math ? ", fast math" : "", options.debug ? ", for debugging" : "");
  for (const std::string& kernel : options.kernels) text += printable(fmt::format("  kernel  {}", kernel)) + "\n";
  for (const auto& [name, value] : options.defines) text += printable(fmt::format("  define  {}={}", name, value)) + "\n";
  for (const auto& [name, header] : bundle.headers()) {
    text += fmt::format("  header  {:<24}  {}\n", printable(name), format_bytes(header.size()));
  }
  return text;
}

}  // namespace

std::string inspect_kernels(const std::string& file) {
  std::error_code unknown;  // ignored, because opening the file will fail too
  if (std::filesystem::is_directory(file, unknown))
    throw std::runtime_error(fmt::format("{} is a folder, not a file", file));
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) throw std::runtime_error(fmt::format("{} cannot be read: {}", file, std::strerror(errno)));
  std::string text;
  const std::boyer_moore_horspool_searcher searcher(bundle_magic.begin(), bundle_magic.end());
  for (auto at = bytes.begin(); (at = std::search(at, bytes.end(), searcher)) != bytes.end();) {
    const auto left = static_cast<std::size_t>(bytes.end() - at);
    detail::BundleHeader head{};
    std::memcpy(&head, &*at, std::min(left, sizeof(head)));
    // Weir's own code also contains these bytes, followed by other data. So skip invalid bundles, except at the beginning of
    // the file: that must be a bundle.
    const bool alone = at == bytes.begin();
    const std::size_t size = alone || head.size > left ? left : head.size;
    if (alone || (head.version == detail::bundle_version && head.size >= sizeof(head) && head.size <= left)) {
      try {
        text += describe(KernelBundle(std::as_bytes(std::span(&*at, size))));
      } catch (const Error& error) {
        throw std::runtime_error(fmt::format("{}: the bundle at byte {}: {}", file, at - bytes.begin(), error.detail()));
      }
      at += static_cast<std::ptrdiff_t>(size);
    } else {
      at += static_cast<std::ptrdiff_t>(bundle_magic.size());
    }
  }
  if (text.empty()) throw std::runtime_error(fmt::format("{} contains no kernels of weir_add_kernels", file));
  return text;
}

}  // namespace weir::tool
