// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cache/kernel_cache.hpp"

/// Finds the files that a compilation reads, for compilers that do not report them.
namespace weir::cache {

/// The inputs of a compilation.
struct SourceFiles {
  std::string_view source;
  /// The folder that is searched first for quoted includes of the source; may be empty.
  std::string folder;
  /// All options of the compiler, in order. They include the include folders and the files to be included.
  std::span<const std::string> options;
  /// The names and the texts of headers that are given as text.
  std::span<const char* const> header_names, header_texts;
  /// Whether the compiler also searches folders of its own. A header that is found nowhere else may then exist there.
  bool has_own_folders;
};

/// Adds to the key the source, the options, and each file to which an `#include` may refer, recursively. Includes in
/// inactive branches count as well, and every search folder counts, not only the first that has the file. So equal keys mean
/// equal text, and a changed or new header changes the key. Returns "", or the reason why the files cannot be determined: an
/// include of a macro, a header outside the known folders, __DATE__ or __TIME__, an option that names another file, or more
/// than 64 MiB of files.
std::string add_source_files(CacheKeyBuilder& key, const SourceFiles& files);

}  // namespace weir::cache
