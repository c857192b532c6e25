// SPDX-License-Identifier: Apache-2.0
#include "tools/model/process_memory.hpp"

#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace weir::model {
namespace {

bool is_on_this_stack(std::uintptr_t address) noexcept {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return false;
  void* begin = nullptr;
  std::size_t bytes = 0;
  const bool known = ::pthread_attr_getstack(&attributes, &begin, &bytes) == 0;
  ::pthread_attr_destroy(&attributes);
  return known && address - reinterpret_cast<std::uintptr_t>(begin) < bytes;
}

/// Returns the name in /proc/self/maps of the mapping at the address: "[heap]", a path, or "".
std::string mapping_of(std::uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string rights, offset, device, node, name;
    words >> std::hex >> begin >> dash >> end >> rights >> offset >> device >> node;
    if (address < begin || address >= end) continue;
    std::getline(words >> std::ws, name);
    return name;
  }
  return "";
}

}  // namespace

bool is_readable(const void* address) noexcept {
  char byte = 0;
  const iovec here{&byte, 1}, there{const_cast<void*>(address), 1};
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == 1;
}

bool is_own_memory(const void* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (is_on_this_stack(number)) return true;
  const std::string name = mapping_of(number);
  return name == "[heap]" || name == "[stack]" || (name.starts_with('/') && !name.starts_with("/dev/"));
}

}  // namespace weir::model
