// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "weir/access.hpp"
#include "weir/backend.hpp"
#include "weir/backend_info.hpp"
#include "weir/capture.hpp"
#include "weir/communicator.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/event.hpp"
#include "weir/export.hpp"
#include "weir/feature.hpp"
#include "weir/graph.hpp"
#include "weir/graph_changes.hpp"
#include "weir/health.hpp"
#include "weir/kernel_bundle.hpp"
#include "weir/memory.hpp"
#include "weir/module.hpp"
#include "weir/portable_graph.hpp"
#include "weir/stream.hpp"
#include "weir/stream_pool.hpp"
#include "weir/stream_scope.hpp"
#include "weir/version.hpp"

/// The fingerprint of the C++ ABI: the standard library, and a hash of the layouts of types that programs and the library
/// exchange. `Registry::instance` compares the program's fingerprint with the library's. Plugins depend on more
/// types: weir/plugin/abi.hpp. See docs/abi.md.
extern "C" {
/// Throws `headers_incompatible` if a program that was compiled with headers of this version, interface revision, layout and
/// fingerprint cannot use this library. The name and the parameters of this function never change, so that every release of
/// the library can check every program. Any thread.
WEIR_API void weir_check_headers(std::uint32_t version, std::uint32_t revision, std::uint64_t layout_hash,
                                 const char* fingerprint);
}

namespace weir::detail {

#if defined(_LIBCPP_VERSION)
#define WEIR_ABI_LIBRARY "libc++"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
#define WEIR_ABI_LIBRARY "libstdc++-cxx11"
#else
#define WEIR_ABI_LIBRARY "libstdc++-cxx98"
#endif
// _GLIBCXX_ASSERTIONS is not part of the fingerprint, because it changes no layout.
#if defined(_GLIBCXX_DEBUG)
#define WEIR_ABI_DEBUG "1"
#else
#define WEIR_ABI_DEBUG "0"
#endif
#define WEIR_ABI_OPTIONS "library=" WEIR_ABI_LIBRARY " debug-containers=" WEIR_ABI_DEBUG
// A sanitizer changes no layout either, so it is not part of this fingerprint. It is part of a plugin's note, because a
// plugin that was built with a sanitizer needs the sanitizer's runtime in the process.
#if defined(__SANITIZE_ADDRESS__)
#define WEIR_ABI_SANITIZER "address"
#elif defined(__SANITIZE_THREAD__)
#define WEIR_ABI_SANITIZER "thread"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEIR_ABI_SANITIZER "address"
#elif __has_feature(thread_sanitizer)
#define WEIR_ABI_SANITIZER "thread"
#endif
#endif
#ifndef WEIR_ABI_SANITIZER
#define WEIR_ABI_SANITIZER "none"
#endif

// clang-format off
/// The types whose size must be the same in the program and in the library.
#define WEIR_ABI_SIZES(X)                                                                                        \
  X(void*) X(std::size_t) X(std::string) X(std::vector<int>) X(std::shared_ptr<void>) X(std::optional<int>)      \
  X(std::exception_ptr) X(std::error_code) X(std::system_error) X(std::mutex) X(Error) X(NativeError) X(Backend) \
  X(BackendInfo) X(BackendVersions) X(LoadAttempt) X(FeatureTable) X(FeatureState) X(Device) X(DeviceProperties) \
  X(Stream) X(StreamOptions) X(CaptureInfo) X(CaptureOptions) X(MemoryOperation) X(AccessPolicyWindow)           \
  X(StreamPool) X(StreamPoolOptions) X(StreamLease) X(StreamScope) X(UniqueFunction<void()>) X(Event)            \
  X(EventOptions) X(Graph) X(GraphExec) X(Topology) X(InstantiateOptions) X(RefCounted) X(Ptr<Stream>)           \
  X(Allocation) X(Buffer<int>) X(Span<int>) X(MemoryPool) X(MemoryPoolOptions) X(MemoryInfo) X(HostRegistration) \
  X(InterprocessHandle) X(Communicator) X(CommunicatorOptions) X(CommunicatorSplit) X(CollectiveData)            \
  X(MpiCommunicator) X(Module)                                                                                   \
  X(Kernel) X(KernelProperties) X(KernelBundle) X(CompileOptions) X(Dim3) X(LaunchConfig) X(Parameter)           \
  X(GraphChanges) X(PortableGraph) X(NamedMemory) X(PartitionOptions) X(PendingWork) X(Suspect) X(DeviceHealth)  \
  X(MemoryAccess) X(LaunchEnvironment)
// clang-format on

/// Mixes a number into a hash (FNV-1a, a number at a time).
constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t number) { return (hash ^ number) * 0x100000001b3U; }

#define WEIR_ABI_SIZE(...) sizeof(__VA_ARGS__),
#define WEIR_ABI_NAME(name, text) #name ","
/// The hash of the C++ library's options and of all sizes. Programs contain the numeric values of `Feature` and
/// `Errc`, so it also covers the names of features in their order, and the number of errors.
consteval std::uint64_t layout_hash() {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : std::string_view(WEIR_ABI_OPTIONS WEIR_FEATURES(WEIR_ABI_NAME))) {
    hash = mixed(hash, static_cast<unsigned char>(c));
  }
  hash = mixed(hash, static_cast<std::uint64_t>(Errc::communicator_failed));
  for (const std::size_t number : {WEIR_ABI_SIZES(WEIR_ABI_SIZE)}) hash = mixed(hash, number);
  return hash;
}
#undef WEIR_ABI_NAME

/// A fingerprint: the C++ library and its options, and `layout` in hexadecimal.
consteval auto make_fingerprint(std::uint64_t layout) {
  constexpr std::string_view options = WEIR_ABI_OPTIONS " layout=";
  std::array<char, options.size() + 17> text{};
  std::size_t size = 0;
  for (const char c : options) text[size++] = c;
  for (int shift = 60; shift >= 0; shift -= 4) text[size++] = "0123456789abcdef"[layout >> shift & 15U];
  return text;
}

// Not `inline`: each translation unit has its own copy, because units may be compiled with different options.
static constexpr auto fingerprint = make_fingerprint(layout_hash());

/// Throws `headers_incompatible` if the program was compiled with headers that do not fit the library.
WEIR_IN_CALLER void check_headers() {
  ::weir_check_headers(WEIR_VERSION, interface_revision, layout_hash(), fingerprint.data());
}

}  // namespace weir::detail
