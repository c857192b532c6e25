// SPDX-License-Identifier: Apache-2.0
// If preloaded, prints when MPI is finalized, and allows no threads if MPI_WITHOUT_THREADS is set.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

extern "C" {
[[gnu::visibility("default")]] int MPI_Init_thread(int* argc, char*** argv, int wanted, int* provided) {
  const int result =
      reinterpret_cast<decltype(&MPI_Init_thread)>(::dlsym(RTLD_NEXT, "MPI_Init_thread"))(argc, argv, wanted, provided);
  if (std::getenv("MPI_WITHOUT_THREADS") != nullptr) *provided = 0;
  return result;
}
[[gnu::visibility("default")]] int MPI_Finalize() {
  std::printf("MPI_Finalize\n");
  std::fflush(stdout);
  return reinterpret_cast<decltype(&MPI_Finalize)>(::dlsym(RTLD_NEXT, "MPI_Finalize"))();
}
}
