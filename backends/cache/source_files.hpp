// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cache/kernel_cache.hpp"

/// The files that a compilation depends on, for compilers that do not report them.
namespace weir::cache {

/// The input of a compilation.
struct SourceFiles {
  std::string_view source;
  /// The folder that the source's quoted includes search first, or empty.
  std::string folder;
  /// All options of the compiler, in order. Include folders and included files are read from them.
  std::span<const std::string> options;
  /// Headers given as text: names and contents.
  std::span<const char* const> header_names, header_texts;
  /// Whether the compiler also searches folders of its own, so that a header that is not found here may still exist.
  bool has_own_folders;
};

/// Adds to the key the source, the options and each file that an `#include` may refer to, recursively: inactive branches
/// count, and every search folder, not only the first with a match. So equal keys mean equal text, and a changed or new
/// header changes the key. Returns an empty text, or why the files cannot be found: an include of a macro, a header outside
/// the known folders, __DATE__ or __TIME__, an option that names another file, or more than 64 MiB.
std::string add_source_files(CacheKeyBuilder& key, const SourceFiles& files);

}  // namespace weir::cache
