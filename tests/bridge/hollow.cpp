// SPDX-License-Identifier: Apache-2.0

// A library in front of the bridge, as release 7.2, that has some functions by their names alone: they say
// hipErrorNotSupported. They are those of the environment variable WEIR_BRIDGE_HOLLOW, a list with commas; without it, all
// that the backend calls optional, save cooperative launches, of which an attribute tells. Some implementations of HIP are
// like that.

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "backends/hip/symbols.hpp"

#undef hipGetDeviceProperties  // which headers since 6.0 make another function's name

namespace {

using Word = std::uint64_t;  // what every parameter of these functions fits in
using Function = Word (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);
enum Need { required, optional };
constexpr Word not_supported = 801;

/// The bridge's function, or null for one that is there by name alone.
Function find(const std::string& name, Need need) {
  static void* const bridge = [] {
    Dl_info self{};
    ::dladdr(reinterpret_cast<void*>(&find), &self);
    const std::string path = self.dli_fname, folder = path.substr(0, path.rfind('/'));
    return ::dlopen((folder + "/../7.2/libamdhip64.so.7").c_str(), RTLD_NOW | RTLD_LOCAL);
  }();
  const char* const list = std::getenv("WEIR_BRIDGE_HOLLOW");
  const bool is_exempt = name.starts_with("hipGetDeviceProperties") ||  // nothing else tells the architecture
                         name == "hipModuleLaunchCooperativeKernel";
  const bool is_hollow = list != nullptr ? ("," + std::string(list) + ",").find("," + name + ",") != std::string::npos
                                         : need == optional && !is_exempt;
  void* const found = bridge != nullptr && !is_hollow ? ::dlsym(bridge, name.c_str()) : nullptr;
  if (found == nullptr && !is_hollow) {
    std::fprintf(stderr, "hollow bridge: there is no %s behind it\n", name.c_str());
    std::abort();
  }
  return reinterpret_cast<Function>(found);
}

}  // namespace

// The functions under the runtime's names, which the headers have given to others. Arguments that a caller did not pass,
// beyond the six in registers, are words of its own stack: there, and not looked at.
#define HOLLOW(function, need)                                                                                              \
  extern "C" __attribute__((visibility("default")))                                                                         \
  Word hollow_##function(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word) __asm__(#function);        \
  extern "C" Word hollow_##function(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k, \
                                    Word l) {                                                                               \
    static const Function forwarded = find(#function, need);                                                                \
    return forwarded != nullptr ? forwarded(a, b, c, d, e, f, g, h, i, j, k, l) : not_supported;                            \
  }
#define HOLLOW_SYMBOL(field, function, since, need) HOLLOW(function, need)
#define HOLLOW_NEWER_SYMBOL(field, function, since, parameters) HOLLOW(function, optional)
WEIR_HIP_SYMBOLS(HOLLOW_SYMBOL)
WEIR_HIP_NEWER_SYMBOLS(HOLLOW_NEWER_SYMBOL)
HOLLOW(hipGetLastError, required)
