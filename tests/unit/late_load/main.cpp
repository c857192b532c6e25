// SPDX-License-Identifier: Apache-2.0

// A program that loads Weir late, like an interpreter: after its start, while another thread runs, and after other libraries
// have used part of the static TLS, the loader's room for thread-local variables that need no call. Weir's own variables are
// of that kind (core/runtime/thread_state.hpp), and the loader refuses a library that needs more room than is left.
//
// weir_late_load USER OTHER…: loads OTHER…, then USER, which is linked to Weir, and works through it.

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstring>
#include <latch>
#include <thread>

namespace {

// glibc keeps 512 bytes for all such libraries of a process (tunable glibc.rtld.optional_static_tls). Weir is to take no
// more than half of it.
constexpr std::size_t most_static_tls = 256;

int largest_of_weir(dl_phdr_info* info, std::size_t, void* largest) {
  if (std::strstr(info->dlpi_name, "/libweir.so") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_TLS) continue;
    std::printf("%s: %zu bytes of thread-local variables\n", info->dlpi_name, static_cast<std::size_t>(header.p_memsz));
    auto& size = *static_cast<std::size_t*>(largest);
    if (header.p_memsz > size) size = header.p_memsz;
  }
  return 0;
}

void* load(const char* path) {
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::printf("%s\n", ::dlerror());
  return library;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  std::latch loaded(1);
  bool worked_on_thread = false;
  int (*work)() = nullptr;
  std::thread earlier([&] {
    loaded.wait();
    worked_on_thread = work != nullptr && work() == 0;
  });
  bool all_loaded = true;
  for (int i = 2; i < argc; ++i) all_loaded = load(argv[i]) != nullptr && all_loaded;
  if (void* const user = load(argv[1])) work = reinterpret_cast<int (*)()>(::dlsym(user, "work_through_weir"));
  loaded.count_down();
  earlier.join();
  const bool worked = work != nullptr && work() == 0;
  std::size_t largest = 0;
  ::dl_iterate_phdr(largest_of_weir, &largest);
  std::printf(
      "other libraries loaded: %d, worked: %d, worked on an earlier thread: %d, most of a library: %zu of %zu bytes\n",
      all_loaded, worked, worked_on_thread, largest, most_static_tls);
  return all_loaded && worked && worked_on_thread && largest != 0 && largest <= most_static_tls ? 0 : 1;
}
