// SPDX-License-Identifier: Apache-2.0
#include "backends/host/compile/load.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "backends/cache/kernel_cache.hpp"
#include "backends/cache/seal.hpp"
#include "backends/host/compile/compile.hpp"
#include "backends/host/compile/elf_image.hpp"
#include "backends/host/run/kernel.hpp"
#include "backends/host/run/launch_services.hpp"
#include "backends/host/run/module.hpp"
#include "core/base/file_descriptor.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"

namespace weir::host {
namespace {

int make_memory_file() noexcept {
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
  const int descriptor = ::memfd_create("weir-kernels", MFD_CLOEXEC | MFD_EXEC);
  // For Linux before 6.3, which lacks this flag.
  return descriptor >= 0 || errno != EINVAL ? descriptor : ::memfd_create("weir-kernels", MFD_CLOEXEC);
}

// Returns a path of the open file that differs from the paths of all other calls. The loader treats an object as loaded
// already if it knows the path, and descriptor numbers are reused. So the path encodes a serial number in components that
// have no effect.
std::string unique_path(int descriptor) {
  static std::atomic<std::uint32_t> loads{0};
  std::string path = "/proc/self/fd";
  for (std::uint32_t serial = ++loads; serial != 0; serial >>= 1U) path += serial % 2 == 1 ? "/." : "//.";
  return path + "/" + std::to_string(descriptor);
}

void* open_in_memory(std::span<const std::byte> image) {
  const detail::FileDescriptor file(make_memory_file());
  if (!file || !file.write(image.data(), image.size())) return nullptr;
  return ::dlopen(unique_path(file.number()).c_str(), RTLD_NOW | RTLD_LOCAL);
}

void* open_as_file(std::span<const std::byte> image, const detail::TemporaryFolder& folder) {
  const std::string path = folder.path() + "/module.so";
  const detail::FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700));
  if (!file || !file.write(image.data(), image.size()))
    throw std::system_error(errno, std::generic_category(), "writing " + path);
  return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

// Returns the processor features that the code needs and this processor lacks.
std::string missing_features(std::string_view needed) {
  std::string missing;
  if (cpu_features().empty()) return missing;
  const std::string have = " " + cpu_features() + " ";
  std::istringstream words{std::string(needed)};
  for (std::string word; words >> word;) {
    if (have.find(" " + word + " ") == std::string::npos) missing += " " + word;
  }
  return missing;
}

void check_image(const ElfImage& image) {
  if (image.find(module_symbol) == nullptr) {
    const bool other_revision = std::any_of(image.variables().begin(), image.variables().end(), [](const auto& variable) {
      return variable.name.starts_with(module_symbol_stem);
    });
    throw BadImage(other_revision ? "it was made by another release of Weir; compile its source again"
                                  : "it is a shared object that Device::compile did not make");
  }
  if (const auto* const features = image.find(features_symbol)) {
    const std::string missing = missing_features(image.string(*features));
    if (!missing.empty()) {
      throw BadImage("it was compiled for a processor with" + missing +
                     ", which this processor lacks; compile its source on this machine");
    }
  }
}

}  // namespace

const std::string& cpu_features() {
  // Never destroyed, because destructors of static objects may load modules.
  static const auto& features = *new std::string([] {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
      const std::size_t colon = line.find(':');
      return colon == std::string::npos ? std::string() : line.substr(std::min(colon + 2, line.size()));
    }
    return std::string();
  }());
  return features;
}

ModulePtr load_image(Device& device, std::span<const std::byte> bytes, std::optional<detail::TemporaryFolder> folder) {
  const ElfImage image(bytes);
  check_image(image);
  void* handle = folder ? nullptr : open_in_memory(bytes);
  if (handle == nullptr) {
    if (!folder) folder.emplace();
    handle = open_as_file(bytes, *folder);
  }
  if (handle == nullptr) {
    const char* const message = ::dlerror();
    throw std::runtime_error(message != nullptr ? message : "dlopen failed without a message");
  }
  const auto* const record = static_cast<const ModuleRecord*>(::dlsym(handle, module_symbol));
  link_map* map = nullptr;
  if (record == nullptr || record->revision != module_revision || record->record_size != sizeof(KernelRecord) ||
      ::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
    ::dlclose(handle);
    throw BadImage("its record of kernels is damaged");
  }
  std::vector<HostModule::Variable> variables;
  for (const ElfImage::Variable& variable : image.variables()) {
    // Variables of the prelude are not the program's.
    if (variable.name.starts_with("weir_host_") || variable.name.starts_with("_ZN9weir_host")) continue;
    auto* const address = reinterpret_cast<std::byte*>(map->l_addr + variable.address);
    variables.push_back({variable.name, Span<std::byte>(address, variable.size)});
  }
  HostModule::see_unloaded();
  *record->services = &launch_services();
  return make_ptr<HostModule>(device, handle, *record, std::move(variables), bytes,
                              std::span(reinterpret_cast<const std::byte*>(map->l_addr), image.loaded_size()),
                              std::move(folder));
}

ModulePtr load_module(Device& device, const std::byte* image, std::size_t size) {
  std::span<const std::byte> bytes(image, size);
  try {
    if (cache::is_cache_entry(bytes)) {
      cache::CacheKey key;
      std::string flaw;
      bytes = cache::content_of_entry(bytes, key, flaw);
      if (!flaw.empty()) throw BadImage("as an entry of the cache of kernels, it " + flaw);
    } else {
      check_image(ElfImage(bytes));  // reports the error best if the bytes are not an image
      if (const char* const flaw = cache::flaw_of_seal(bytes)) throw BadImage(flaw);
    }
    return load_image(device, bytes, std::nullopt);
  } catch (const BadImage& bad) {
    throw Error(Errc::invalid_image, "Device::load_module", device.describe(),
                fmt::format("the image of {} bytes: {}", size, bad.what()));
  } catch (const std::system_error& failure) {
    throw Error(Errc::backend_failure, "Device::load_module", device.describe(), failure.what());
  } catch (const std::runtime_error& refusal) {
    throw Error(Errc::invalid_image, "Device::load_module", device.describe(),
                fmt::format("the image cannot be loaded: {}", refusal.what()));
  }
}

int rank_image(const Device& device, std::span<const std::byte> bytes) {
  // An image is compiled for this warp size, and for devices on which the threads of a block can wait for each other.
  if (device.properties().warp_size != image_warp_size || !device.supports(Feature::block_cooperation)) return 0;
  try {
    const ElfImage image(bytes);
    check_image(image);
    const auto* const features = image.find(features_symbol);
    if (features == nullptr) return 1;
    const std::string_view words = image.string(*features);
    return 1 + static_cast<int>(std::count(words.begin(), words.end(), ' '));
  } catch (const BadImage&) {
    return 0;
  }
}

}  // namespace weir::host
