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

/// What a run-time compiler makes of a source, and its cache. NVRTC and HIPRTC share it.
namespace weir::gpu {

struct CompiledProgram {
  std::vector<std::byte> image;
  /// For each of `CompileOptions::kernels`: what the linker calls it.
  std::vector<std::pair<std::string, std::string>> names;

  /// As one block of bytes, for the cache.
  std::vector<std::byte> packed() const;
  /// Nothing if the bytes do not hold together.
  static std::optional<CompiledProgram> unpack(std::span<const std::byte> bytes);

  /// The image with the names behind it, if there are any, as docs/bundle-format.md describes it: for bundles. Drivers
  /// take it as it is, since none reads beyond its image's own end.
  std::vector<std::byte> image_with_names() const;
  /// The same back, or just the image where no names stand behind it.
  static CompiledProgram from_image(std::span<const std::byte> bytes);
};

/// Scope of calls to a run-time compiler. The end of the process waits for those that are under way, some seconds at most,
/// since the static objects of the compiler's library go then. Throws if the end has begun.
class CompilerCalls {
 public:
  CompilerCalls(const char* operation, std::string_view object);
  ~CompilerCalls();
  /// The compiler has made a program, and so opened the libraries that it needs: their static objects must also go later.
  void opened() const;
  CompilerCalls(const CompilerCalls&) = delete;
  CompilerCalls& operator=(const CompilerCalls&) = delete;
};

/// What an error of a compilation is about.
struct Subject {
  const char* operation;
  std::string object;
};

/// Compiles one program by the functions of NVRTC or HIPRTC, which have the same form and are named here without `prefix`.
/// `target`: for errors. `take_image(program, check)` returns the image.
template <class Handle, class Functions, class TakeImage>
CompiledProgram compile_program(const Functions& rtc, const std::string& prefix, const std::string& description,
                                const Subject& subject, std::string_view source, const CompileOptions& options,
                                std::span<const std::string> arguments, const std::string& target, std::string& log,
                                TakeImage&& take_image) {
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
  HeaderList headers(options);  // pointers to what hiprtcCreateProgram might write before 7.0
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
    fail("'" + options.name + "' does not compile for " + target + " with " + description + " (" +
         rtc.GetErrorString(result) + ")" + (log.empty() ? "" : ":\n" + log));
  }
  CompiledProgram made{take_image(program.handle, check), {}};
  for (const std::string& kernel : options.kernels) {
    const char* symbol = nullptr;
    if (const auto found = rtc.GetLoweredName(program.handle, kernel.c_str(), &symbol); found != success) {
      fail(prefix + "GetLoweredName of " + description + " does not find the kernel '" + kernel + "' (" +
           rtc.GetErrorString(found) + "); name it in `kernels` with all its arguments, each by its own type");
    }
    made.names.emplace_back(kernel, symbol);
  }
  return made;
}

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
CompiledProgram compile_cached(const Invocation& invocation, const std::function<CompiledProgram()>& compile);

}  // namespace weir::gpu
