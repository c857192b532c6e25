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
#include "weir/error.hpp"
#include "weir/module.hpp"

/// Run-time compilation for NVRTC and HIPRTC: the result, its cache, and the calls that both compilers share.
namespace weir::gpu {

struct CompiledProgram {
  std::vector<std::byte> image;
  /// One pair for each of `CompileOptions::kernels`: the expression and its symbol.
  std::vector<std::pair<std::string, std::string>> names;

  /// Packs image and names into one block of bytes, for the cache.
  std::vector<std::byte> packed() const;
  /// The reverse of `packed`. Returns nothing if the bytes are damaged.
  static std::optional<CompiledProgram> unpack(std::span<const std::byte> bytes);

  /// For bundles: the image, followed by the names if there are any, in the format of docs/bundle-format.md. Drivers load
  /// the result unchanged, because they read nothing beyond the image's own end.
  std::vector<std::byte> image_with_names() const;
  /// The reverse of `image_with_names`. The result has no names if none follow the image.
  static CompiledProgram from_image(std::span<const std::byte> bytes);
};

/// Scope of calls to a run-time compiler. At process exit the static objects of the compiler's library are destroyed, so the
/// exit waits some seconds for running calls to finish. The constructor throws if the exit has begun.
class CompilerCalls {
 public:
  CompilerCalls(const char* operation, std::string_view object);
  ~CompilerCalls();
  /// Called after the compiler has compiled a program and has thereby loaded its libraries. Registers the exit handler,
  /// which must run before the destructors of those libraries' static objects.
  void opened() const;
  CompilerCalls(const CompilerCalls&) = delete;
  CompilerCalls& operator=(const CompilerCalls&) = delete;
};

/// The operation and the object that a compilation's error names.
struct Subject {
  const char* operation;
  std::string object;
};

/// Compiles one program with the functions of NVRTC or HIPRTC, which have the same signatures. `Functions` has them under
/// their names without `prefix`. `target`: the architecture, for error messages. `take_image(program, check)` returns the
/// image. `explain(program, log)` returns the log for the error of a source that does not compile.
template <class Handle, class Functions, class TakeImage, class Explain>
CompiledProgram compile_program(const Functions& rtc, const std::string& prefix, const std::string& description,
                                const Subject& subject, std::string_view source, const CompileOptions& options,
                                std::span<const std::string> arguments, const std::string& target, std::string& log,
                                TakeImage&& take_image, Explain&& explain) {
  const CompilerCalls calls(subject.operation, subject.object);
  struct Owner {
    const Functions& rtc;
    Handle handle = nullptr;
    ~Owner() {
      if (handle != nullptr) rtc.DestroyProgram(&handle);
    }
  } program{rtc};
  const auto fail = [&](const std::string& detail) {
    throw Error(Errc::compilation_failed, subject.operation, subject.object, detail);
  };
  const auto check = [&](auto result, const char* call) {
    if (result != decltype(result){}) fail(prefix + call + " of " + description + ": " + rtc.GetErrorString(result));
  };
  HeaderList headers(options);  // not const, because hiprtcCreateProgram before 7.0 may write to it
  check(rtc.CreateProgram(&program.handle, std::string(source).c_str(), options.name.c_str(), headers.count(),
                          headers.texts.data(), headers.names.data()),
        "CreateProgram");
  calls.opened();
  for (const std::string& kernel : options.kernels)
    check(rtc.AddNameExpression(program.handle, kernel.c_str()), "AddNameExpression");
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  const auto result = rtc.CompileProgram(program.handle, static_cast<int>(pointers.size()), pointers.data());
  constexpr auto success = decltype(result){};
  std::size_t size = 0;
  if (rtc.GetProgramLogSize(program.handle, &size) == success && size > 1) {
    log.resize(size);
    rtc.GetProgramLog(program.handle, log.data());
    log.resize(log.find_last_not_of(std::string_view("\0\n", 2)) + 1);
  }
  if (result != success) {
    log = explain(program.handle, std::move(log));
    fail("'" + options.name + "' does not compile for " + target + " with " + description + " (" +
         rtc.GetErrorString(result) + ")" + (log.empty() ? "" : ":\n" + log));
  }
  CompiledProgram made{take_image(program.handle, check), {}};
  for (const std::string& kernel : options.kernels) {
    const char* symbol = nullptr;
    if (const auto found = rtc.GetLoweredName(program.handle, kernel.c_str(), &symbol); found != success) {
      fail(prefix + "GetLoweredName of " + description + " cannot find the kernel '" + kernel + "' (" +
           rtc.GetErrorString(found) + "); write it in `kernels` with all its arguments, each with its own type");
    }
    made.names.emplace_back(kernel, symbol);
  }
  return made;
}

/// The inputs of a run-time compilation, from which the cache key is computed.
struct Invocation {
  const char* backend;                     ///< "cuda" or "hip"; also the name of the cache's folder
  std::string_view source;
  const CompileOptions& options;
  const HeaderList& headers;
  std::span<const std::string> arguments;  ///< all options that are passed to the compiler
  std::string compiler;                    ///< the compiler's name and version
  std::vector<std::string> files;          ///< the compiler's library files
  bool has_own_folders;                    ///< see cache::SourceFiles::has_own_folders
};

/// Returns the cached program, or calls `compile` and caches the result.
CompiledProgram compile_cached(const Invocation& invocation, const std::function<CompiledProgram()>& compile);

}  // namespace weir::gpu
