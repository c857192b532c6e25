// SPDX-License-Identifier: Apache-2.0
#include "weir/version.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "weir/abi.hpp"
#include "weir/error.hpp"

// The library's version, and the check of a program's headers.
namespace {

// Versions of one series have compatible interfaces: before 1.0 a series is a minor version, later a major version.
constexpr std::uint32_t series_of(std::uint32_t version) { return version < 10000 ? version / 100 : version / 10000 * 100; }

std::string version_text(std::uint32_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string library_file() {
  Dl_info info;
  const bool known = ::dladdr(reinterpret_cast<const void*>(&weir::version), &info) != 0 && info.dli_fname != nullptr;
  return known ? info.dli_fname : "libweir.so";
}

[[noreturn, gnu::cold]] void throw_header_mismatch(std::uint32_t version, std::uint32_t revision, const char* fingerprint) {
  std::string cause;
  if (series_of(version) != series_of(WEIR_VERSION) || revision != weir::interface_revision) {
    cause = fmt::format(
        "the program was built with the headers of Weir {} (interface revision {}), but runs with the library of Weir {} "
        "(revision {}); build the program with this library's headers, or run it with the library that it was built for",
        version_text(version), revision, WEIR_VERSION_STRING, weir::interface_revision);
  } else {
    cause = fmt::format(
        "the program was built with '{}', but the library with '{}'; build both with the same C++ library, the same options "
        "for "
        "it (_GLIBCXX_DEBUG, _GLIBCXX_USE_CXX11_ABI) and the same release of Weir",
        fingerprint, weir::abi());
  }
  throw weir::Error(weir::Errc::headers_incompatible, "Registry::instance", library_file(), cause);
}

}  // namespace

void weir_check_headers(std::uint32_t version, std::uint32_t revision, std::uint64_t layout_hash, const char* fingerprint) {
  if (series_of(version) != series_of(WEIR_VERSION) || revision != weir::interface_revision ||
      layout_hash != weir::detail::layout_hash()) {
    throw_header_mismatch(version, revision, fingerprint);
  }
}

namespace weir {

const char* version() noexcept { return WEIR_VERSION_STRING; }

const char* abi() noexcept { return detail::fingerprint.data(); }

}  // namespace weir
