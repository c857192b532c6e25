// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cache/kernel_cache.hpp"

/// What a compilation depends on, for compilers that do not tell which files they have read.
namespace weir::cache {

/// A compilation, as it is handed to a compiler.
struct SourceFiles {
  std::string_view source;
  /// The folder in which quoted includes of the source itself are looked for first; empty if there is none.
  std::string folder;
  /// All of the compiler's options, in their order. Those that name folders and files to include are understood.
  std::span<const std::string> options;
  /// Headers that are handed over: their names and their texts.
  std::span<const char* const> header_names, header_texts;
  /// Whether the compiler has folders of its own. A header that is in no folder that is known here may then be in one of
  /// them.
  bool has_own_folders;
};

/// Adds to the key the source, the options, and each file that an `#include` of the source, or of such a file, may mean:
/// whether it stands behind `#if 0` or not, and in each of the folders, not only the first. So the same key means the same
/// text, and a header that is changed, or appears, changes the key. Returns why that cannot be known, or nothing: a name
/// that is made by a macro, a header in a folder that is not known, the date or the time, an option that names another file,
/// more than 64 MiB.
std::string add_source_files(CacheKeyBuilder& key, const SourceFiles& files);

}  // namespace weir::cache
