// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "backends/cache/kernel_cache.hpp"
#include "backends/cache/source_files.hpp"
#include "weir/plugin/support.hpp"
#include "weir/error.hpp"
#include "weir/version.hpp"

namespace weir::gpu {
namespace {

/// A part of each cache key. Change it if `packed` or the members of `CompiledProgram` change.
constexpr const char* revision = "1";

/// Comes after an image and before the kernel names that are appended to it.
constexpr std::string_view names_magic = "\x89WEIRKN\n";

void append(std::vector<std::byte>& bytes, std::string_view text) {
  const std::uint64_t size = text.size();
  const auto* const length = reinterpret_cast<const std::byte*>(&size);
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), length, length + sizeof(size));
  bytes.insert(bytes.end(), begin, begin + text.size());
}

// Removes the first string from `bytes` and returns it; empty if `bytes` is damaged.
std::optional<std::string> take(std::span<const std::byte>& bytes) {
  std::uint64_t size = 0;
  if (bytes.size() < sizeof(size)) return std::nullopt;
  std::memcpy(&size, bytes.data(), sizeof(size));
  bytes = bytes.subspan(sizeof(size));
  if (size > bytes.size()) return std::nullopt;
  std::string text(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(size));
  bytes = bytes.subspan(static_cast<std::size_t>(size));
  return text;
}

// Describes the file's state for the cache key. If a library is replaced by another build of the same version, the key
// changes.
std::string state_of(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return file + " unknown";
  return file + " " + std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec) + " " + std::to_string(status.st_ino);
}

cache::KernelCache& kernel_cache(const char* backend) {
  // One cache for this plugin. It is never destroyed, because destructors of static objects may compile modules.
  static auto& kept = *new cache::KernelCache(cache::default_cache_folder(), backend);
  return kept;
}

struct OpenCalls {
  std::mutex mutex;
  std::condition_variable changed;
  int under_way = 0;
  unsigned ended = 0;
  bool process_ends = false;
  int process = 0;
};
OpenCalls& open_calls() {
  static auto* const calls = new OpenCalls;
  return *calls;
}

void wait_for_calls() {
  OpenCalls& calls = open_calls();
  if (calls.process != ::getpid()) return;  // a forked child does not have the threads that make these calls
  std::unique_lock lock(calls.mutex);
  calls.process_ends = true;
  calls.changed.wait_for(lock, std::chrono::seconds(5), [&] { return calls.under_way == 0; });
}

}  // namespace

CompilerCalls::CompilerCalls(const char* operation, std::string_view object) {
  OpenCalls& calls = open_calls();
  const std::lock_guard lock(calls.mutex);
  if (calls.process_ends) {
    throw Error(Errc::compiler_not_found, operation, object,
                "the process is ending, so the compiler is shut down; threads that compile must end before main returns");
  }
  calls.process = ::getpid();
  if (calls.under_way++ == 0 && calls.ended == 0) std::atexit(&wait_for_calls);
}

// Exit handlers run in reverse order of registration. The handler must run before the destructors of the compiler's static
// objects, so it is registered after them.
void CompilerCalls::opened() const {
  OpenCalls& calls = open_calls();
  const std::lock_guard lock(calls.mutex);
  if (calls.ended == 0 && !calls.process_ends) std::atexit(&wait_for_calls);
}

CompilerCalls::~CompilerCalls() {
  OpenCalls& calls = open_calls();
  const std::lock_guard lock(calls.mutex);
  if (std::has_single_bit(++calls.ended) && !calls.process_ends) std::atexit(&wait_for_calls);
  --calls.under_way;
  calls.changed.notify_all();
}

std::vector<std::byte> CompiledProgram::packed() const {
  std::vector<std::byte> bytes;
  append(bytes, std::to_string(names.size()));
  for (const auto& [expression, symbol] : names) {
    append(bytes, expression);
    append(bytes, symbol);
  }
  bytes.insert(bytes.end(), image.begin(), image.end());
  return bytes;
}

std::optional<CompiledProgram> CompiledProgram::unpack(std::span<const std::byte> bytes) {
  CompiledProgram program;
  const auto count = take(bytes);
  if (!count) return std::nullopt;
  while (std::to_string(program.names.size()) != *count) {
    auto expression = take(bytes), symbol = take(bytes);
    if (!expression || !symbol) return std::nullopt;
    program.names.emplace_back(*std::move(expression), *std::move(symbol));
  }
  program.image.assign(bytes.begin(), bytes.end());
  return program;
}

std::vector<std::byte> CompiledProgram::image_with_names() const {
  std::vector<std::byte> bytes = image;
  if (names.empty()) return bytes;
  const std::vector<std::byte> packed_names = CompiledProgram{{}, names}.packed();
  bytes.insert(bytes.end(), packed_names.begin(), packed_names.end());
  const std::uint64_t size = packed_names.size();
  const auto* const length = reinterpret_cast<const std::byte*>(&size);
  const auto* const magic = reinterpret_cast<const std::byte*>(names_magic.data());
  bytes.insert(bytes.end(), length, length + sizeof(size));
  bytes.insert(bytes.end(), magic, magic + names_magic.size());
  return bytes;
}

CompiledProgram CompiledProgram::from_image(std::span<const std::byte> bytes) {
  CompiledProgram plain{{bytes.begin(), bytes.end()}, {}};
  std::uint64_t size = 0;
  const std::size_t tail = sizeof(size) + names_magic.size();
  if (bytes.size() < tail ||
      std::memcmp(bytes.data() + bytes.size() - names_magic.size(), names_magic.data(), names_magic.size()) != 0) {
    return plain;
  }
  std::memcpy(&size, bytes.data() + bytes.size() - tail, sizeof(size));
  if (size > bytes.size() - tail) return plain;
  const std::size_t end_of_image = bytes.size() - tail - static_cast<std::size_t>(size);
  auto named = unpack(bytes.subspan(end_of_image, static_cast<std::size_t>(size)));
  if (!named || !named->image.empty()) return plain;
  named->image.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(end_of_image));
  return *std::move(named);
}

CompiledProgram compile_cached(const Invocation& invocation, const std::function<CompiledProgram()>& compile) {
  cache::CacheKeyBuilder builder;
  builder.add(WEIR_VERSION_STRING).add(revision).add(invocation.compiler).add(invocation.options.name).add("kernels");
  for (const std::string& file : invocation.files) builder.add(state_of(file));
  for (const std::string& expression : invocation.options.kernels) builder.add(expression);
  // The compiler searches a quoted include first in the folder of the source's file, if the source has a file name.
  const std::string& name = invocation.options.name;
  const std::string folder = name.find('/') == std::string::npos ? "." : name.substr(0, name.rfind('/') + 1);
  const std::string unknown = cache::add_source_files(builder, {.source = invocation.source,
                                                                .folder = invocation.has_own_folders ? "" : folder,
                                                                .options = invocation.arguments,
                                                                .header_names = invocation.headers.names,
                                                                .header_texts = invocation.headers.texts,
                                                                .has_own_folders = invocation.has_own_folders});
  if (!unknown.empty()) {
    support::log(support::LogLevel::info, "'" + name + "' is compiled again each time: " + unknown);
    return compile();
  }
  cache::KernelCache& kept = kernel_cache(invocation.backend);
  const cache::CacheKey key = builder.key();
  if (const auto bytes = kept.find(key)) {
    if (auto program = CompiledProgram::unpack(*bytes)) {
      support::log(support::LogLevel::info, "'" + name + "' comes from the cache");
      return *std::move(program);
    }
  }
  CompiledProgram program = compile();
  kept.store(key, program.packed());
  return program;
}

}  // namespace weir::gpu
