// SPDX-License-Identifier: Apache-2.0
#include "tools/model/stack.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <set>
#include <span>
#include <string_view>

#include "core/base/no_destructor.hpp"
#include "tools/readable_name.hpp"
#include "weir/plugin/caller.hpp"

#if WEIR_HAS_BACKTRACE
#include <backtrace.h>
#endif

namespace weir::model {
namespace {

constexpr int most_frames = 48, most_told = 16;

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_of_weir(void* address) {
  Dl_info info;
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return false;
  const std::string_view name = file_name(info.dli_fname);
  return name.starts_with("libweir.so") || name.starts_with("libweir_");
}

std::string demangled(const std::string& symbol) {
  if (std::string text = tool::readable_name(symbol); text != symbol) return text;
  // GCC's demangler (12) cannot read lambdas with `auto` parameters. For a lambda in a function, the name of that function
  // is returned instead. For a C++ library function that takes such a lambda, the function's own name is read from the
  // symbol.
  if (symbol.starts_with("_ZZ")) {
    for (std::size_t end = symbol.rfind('E'); end != std::string::npos && end > 3; end = symbol.rfind('E', end - 1)) {
      const std::string function = "_Z" + symbol.substr(3, end - 3);
      if (const std::string outer = tool::readable_name(function); outer != function) return outer + "::{lambda}";
    }
  }
  if (symbol.starts_with("_ZSt")) {
    char* name = nullptr;
    const std::size_t length = std::strtoul(symbol.c_str() + 4, &name, 10);
    if (length != 0 && length <= std::strlen(name)) return "std::" + std::string(name, length) + "<…>";
  }
  return symbol;
}

Frame plain_frame(void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {"?", fmt::format("{}", address)};
  const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  return {info.dli_sname != nullptr ? demangled(info.dli_sname) : "?",
          fmt::format("{}+{:#x}", file_name(info.dli_fname), offset)};
}

#if WEIR_HAS_BACKTRACE
void ignore_error(void*, const char*, int) {}

int add_frame(void* frames, std::uintptr_t, const char* file, int line, const char* function) {
  if (file == nullptr) return 0;
  static_cast<std::vector<Frame>*>(frames)->push_back(
      {function != nullptr ? demangled(function) : "?", fmt::format("{}:{}", file, line)});
  return 0;
}

void name_frame(void* frame, std::uintptr_t, const char* symbol, std::uintptr_t, std::uintptr_t) {
  if (symbol != nullptr) static_cast<Frame*>(frame)->function = demangled(symbol);
}

void add_frames(void* address, std::vector<Frame>& frames) {
  static backtrace_state* const state = ::backtrace_create_state(nullptr, 1, ignore_error, nullptr);
  const std::size_t before = frames.size();
  if (state != nullptr)
    ::backtrace_pcinfo(state, reinterpret_cast<std::uintptr_t>(address), add_frame, ignore_error, &frames);
  if (frames.size() != before) return;
  frames.push_back(plain_frame(address));
  if (state != nullptr)
    ::backtrace_syminfo(state, reinterpret_cast<std::uintptr_t>(address), name_frame, ignore_error, &frames.back());
}
#else
void add_frames(void* address, std::vector<Frame>& frames) { frames.push_back(plain_frame(address)); }
#endif

/// Converts the frames of a program in another language. Each place has one permanent `Frame`, so that equal stacks compare
/// equal.
Stack foreign_stack(std::span<const SourceFrame> caller) {
  static detail::NoDestructor<std::set<Frame>> known;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Stack stack{nullptr};
  for (const SourceFrame& frame : caller)
    stack.push_back(&*(*known).insert({std::string(frame.function), fmt::format("{}:{}", frame.file, frame.line)}).first);
  return stack;
}

}  // namespace

Stack take_stack() {
  if (const auto caller = support::caller_frames(); !caller.empty()) return foreign_stack(caller);
  void* addresses[most_frames];
  const int count = ::backtrace(addresses, most_frames);
  return Stack(addresses, addresses + count);
}

std::string text_of(const std::vector<Frame>& frames) {
  constexpr std::size_t most_letters = 160;  // limit for a function's name: template names can be very long
  const auto is_own = [](const Frame& frame) {
    if (frame.place.find(':') != std::string::npos) {  // the place is a source line
      constexpr const char* others[] = {"include/c++/", "include/weir/", "/weir/cudart/include/"};
      return std::none_of(std::begin(others), std::end(others),
                          [&](const char* other) { return frame.place.find(other) != std::string::npos; });
    }
    const std::string_view name = std::string_view(frame.function).substr(0, frame.function.find_first_of("(<"));
    const std::string_view function = name.substr(name.rfind(' ') + 1);  // without the return type
    return !function.starts_with("weir::") && !function.starts_with("std::");
  };
  const bool has_own = std::any_of(frames.begin(), frames.end(), is_own);
  std::string text;
  std::size_t number = 0;
  for (const Frame& frame : frames) {
    if (has_own && !is_own(frame)) continue;
    const bool is_long = frame.function.size() > most_letters;
    text += fmt::format("      #{} {}{} {}\n", number++, frame.function.substr(0, most_letters), is_long ? "…" : "",
                        frame.place);
  }
  return text;
}

std::vector<Frame> frames_of(const Stack& stack) {
  if (!stack.empty() && stack.front() == nullptr) {
    std::vector<Frame> frames;
    for (std::size_t i = 1; i < stack.size(); ++i) frames.push_back(*static_cast<const Frame*>(stack[i]));
    return frames;
  }
  // A return address is after the call instruction, so subtract one byte to find the line of the call.
  const auto call = [&](std::size_t i) { return const_cast<char*>(static_cast<const char*>(stack[i])) - 1; };
  std::vector<Frame> frames;
  for (std::size_t i = 0; i < stack.size() && frames.size() < most_told; ++i) {
    if (is_of_weir(call(i))) continue;
    add_frames(call(i), frames);
    // What Clang makes of a kernel for the host; the line below it has the launch.
    std::erase_if(frames, [](const Frame& frame) { return frame.function.find("__device_stub__") != std::string::npos; });
    if (frames.empty()) continue;
    if (frames.back().function == "main") break;
  }
  return frames;
}

}  // namespace weir::model
