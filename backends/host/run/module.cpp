// SPDX-License-Identifier: Apache-2.0
#include "backends/host/run/module.hpp"

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
#include <system_error>

#include "backends/cache/kernel_cache.hpp"
#include "backends/host/compile/elf_image.hpp"
#include "backends/host/engine/work.hpp"
#include "backends/host/run/kernel.hpp"
#include "backends/host/run/source_lines.hpp"
#include "backends/host/runtime/memory.hpp"
#include "backends/host/schedule/scheduled_memory.hpp"
#include "core/base/file_descriptor.hpp"
#include "kernels/kernel_name.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"

namespace weir::host {
namespace {

/// How many modules were unloaded. Read behind each load: a module may lie where another one was, and is used behind all
/// uses of that one. The loader has a lock for this, which ThreadSanitizer does not see.
std::atomic<std::uint64_t> unloaded{0};

int make_memory_file() noexcept {
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
  const int descriptor = ::memfd_create("weir-kernels", MFD_CLOEXEC | MFD_EXEC);
  return descriptor >= 0 || errno != EINVAL ? descriptor : ::memfd_create("weir-kernels", MFD_CLOEXEC);  // Linux before 6.3
}

// A path of the open file that no other call uses. The loader takes an object with a known name for a loaded one, and
// numbers of descriptors are reused. So the name encodes a serial number in components that mean nothing.
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

void* open_as_file(std::span<const std::byte> image, const TemporaryFolder& folder) {
  const std::string path = folder.path() + "/module.so";
  const detail::FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700));
  if (!file || !file.write(image.data(), image.size()))
    throw std::system_error(errno, std::generic_category(), "writing " + path);
  return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

// The features that the code needs and the processor lacks.
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
    throw BadImage(other_revision ? "another release of Weir made it; compile its source again"
                                  : "it is a shared object, and not one that Device::compile made");
  }
  if (const auto* const features = image.find(features_symbol)) {
    const std::string missing = missing_features(image.string(*features));
    if (!missing.empty()) {
      throw BadImage("it was compiled for a processor with" + missing + ", which this one lacks; compile its source here");
    }
  }
}

std::string list(std::vector<std::string_view> names) {
  constexpr std::size_t most = 20;
  std::sort(names.begin(), names.end());
  std::string text;
  std::size_t count = 0;
  for (const std::string_view name : names) {
    if (count++ == most) return text + ", …";
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

}  // namespace

const std::string& cpu_features() {
  // Never destroyed: modules may be loaded in the destructors of static objects.
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

ModulePtr load_image(Device& device, std::span<const std::byte> bytes, std::optional<TemporaryFolder> folder) {
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
    if (variable.name.starts_with("weir_host_") || variable.name.starts_with("_ZN9weir_host")) continue;  // the prelude's
    auto* const address = reinterpret_cast<std::byte*>(map->l_addr + variable.address);
    variables.push_back({variable.name, Span<std::byte>(address, variable.size)});
  }
  (void)unloaded.load(std::memory_order_acquire);
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
      check_image(ElfImage(bytes));  // says best what is wrong with what is no image at all
      check_seal(bytes);
    }
    return load_image(device, bytes, std::nullopt);
  } catch (const BadImage& bad) {
    throw Error(Errc::invalid_image, "Device::load_module", device.describe(),
                fmt::format("the image of {} bytes: {}", size, bad.what()));
  } catch (const std::system_error& failure) {
    throw Error(Errc::backend_failure, "Device::load_module", device.describe(), failure.what());
  } catch (const std::runtime_error& refusal) {
    throw Error(Errc::invalid_image, "Device::load_module", device.describe(),
                fmt::format("the loader does not take the image: {}", refusal.what()));
  }
}

int rank_image(const Device& device, std::span<const std::byte> bytes) {
  // The threads of a block, and of a warp, are compiled in.
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

HostModule::HostModule(Device& device, void* handle, const ModuleRecord& record, std::vector<Variable> variables,
                       std::span<const std::byte> image, std::span<const std::byte> code,
                       std::optional<TemporaryFolder> file)
    : ModuleImpl(device, handle),
      record_(record),
      variables_(std::move(variables)),
      image_(image.begin(), image.end()),
      code_(code),
      file_(std::move(file)) {
  for (const Variable& variable : variables_)
    watch_memory(variable.memory.data(), variable.memory.size_bytes(), Watch::registered);
}

HostModule::~HostModule() {
  for (const Variable& variable : variables_) unwatch_memory(variable.memory.data());
  unloaded.fetch_add(1, std::memory_order_release);
  ::dlclose(native_handle());
}

std::string HostModule::place_of(const void* instruction) const {
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(instruction) - code_.data());
  const std::string line = source_line(image_, offset);
  return !line.empty() ? line : fmt::format("module + 0x{:x} (CompileOptions::debug tells the line)", offset);
}

KernelPtr HostModule::do_kernel(std::string_view name) {
  std::vector<std::string_view> names;
  const std::string wanted = kernels::normalized_name(name);
  for (const KernelRecord* const record : kernels()) {
    if (kernels::normalized_name(record->name) == wanted) {
      auto kernel = make_ptr<HostKernel>(Ptr<HostModule>(this), std::string(name), *record);
      if (reference_)
        kernel->set_reference(Ptr<const HostKernel>(static_cast<const HostKernel*>(reference_->untyped_kernel(name).get())));
      return kernel;
    }
    names.emplace_back(record->name);
  }
  throw Error(
      Errc::kernel_not_found, "Module::kernel", device().describe(),
      fmt::format("there is no kernel '{}'; the module has {}; a kernel is a __global__ function, or an instance of a "
                  "template that the source instantiates or CompileOptions::kernels names (KERNELS in "
                  "weir_add_kernels)",
                  name, names.empty() ? "no kernels at all" : list(names)));
}

Span<std::byte> HostModule::do_global(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Variable& variable : variables_) {
    if (variable.name == name) return variable.memory;
    names.emplace_back(variable.name);
  }
  throw Error(Errc::kernel_not_found, "Module::global", device().describe(),
              names.empty() ? fmt::format("there is no variable '{}': the module has none; a variable is __device__ or "
                                          "__constant__, and neither static nor const",
                                          name)
                            : fmt::format("there is no variable '{}'; the module has {}", name, list(names)));
}

}  // namespace weir::host
