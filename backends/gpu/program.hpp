// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/gpu/header_list.hpp"
#include "weir/module.hpp"

/// What a run-time compiler makes of a source, and its cache. NVRTC and HIPRTC share it.
namespace weir::gpu {

struct Program {
  std::vector<std::byte> image;
  /// For each of `CompileOptions::kernels`: what the linker calls it.
  std::vector<std::pair<std::string, std::string>> names;

  /// As one block of bytes, for the cache.
  std::vector<std::byte> packed() const;
  /// Nothing if the bytes do not hold together.
  static std::optional<Program> unpack(std::span<const std::byte> bytes);

  /// The image with the names behind it, if there are any, as docs/bundle-format.md describes it: for bundles. Drivers
  /// take it as it is, since none reads beyond its image's own end.
  std::vector<std::byte> image_with_names() const;
  /// The same back, or just the image where no names stand behind it.
  static Program from_image(std::span<const std::byte> bytes);
};

/// Scope of calls to a run-time compiler. The end of the process waits for those that are under way, some seconds at most,
/// since the static objects of the compiler's library go then. Throws if the end has begun.
class CompilerCalls {
 public:
  CompilerCalls(const char* operation, std::string_view object);
  ~CompilerCalls();
  /// The compiler has made a program, and so opened the libraries that it needs: their static objects are to go later, too.
  void opened() const;
  CompilerCalls(const CompilerCalls&) = delete;
  CompilerCalls& operator=(const CompilerCalls&) = delete;
};

/// A compilation at run time, as the cache knows it.
struct Invocation {
  const char* backend;                     ///< "cuda": the cache's folder
  std::string_view source;
  const CompileOptions& options;
  const HeaderList& headers;
  std::span<const std::string> arguments;  ///< all of the compiler's options
  std::string compiler;                    ///< which one, and its version
  std::vector<std::string> files;          ///< that it consists of
  bool has_own_folders;                    ///< see cache::SourceFiles
};

/// The program that was kept, or else what `compile` makes, which is kept.
Program compile_cached(const Invocation& invocation, const std::function<Program()>& compile);

}  // namespace weir::gpu
