// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <unordered_map>
#include <vector>

#include "cudart/state.hpp"

/// Kernels and variables of programs. The code that Clang adds to a program registers them before the constructors of static
/// objects run, so registration only fills tables. A module is loaded at the first use of one of its kernels or variables.
namespace weir::cudart {

namespace {

// The device code of one object file: what Clang's code passes, and its modules by device.
struct Binary {
  const std::byte* bundle = nullptr;
  bool has_managed = false;
  std::vector<ModulePtr> modules;
  std::string image;            // of a library: what it was loaded from
  std::set<std::string> names;  // of a library; their addresses stand for its kernels and variables
};

struct Function {
  Binary* binary;
  const char* name;                                   // mangled
  std::vector<std::shared_ptr<LoadedKernel>> loaded;  // by device
};

struct Variable {
  Binary* binary;
  const char* name;
  std::vector<Span<std::byte>> memory;  // by device
  bool managed = false;
};

struct Program {
  std::shared_mutex mutex;
  std::unordered_map<const void*, Function> functions;
  std::unordered_map<const void*, Variable> variables;
  // Work may still run when a program ends or closes a library, so modules and kernels stay loaded.
  std::vector<Binary*> binaries;
  std::vector<std::shared_ptr<LoadedKernel>> ended;
  std::map<std::string, Source> sources;  // by the texts that stand for them
};

Program& program() {
  static auto* const all = new Program;
  return *all;
}

// The element of a device, which a list is made long enough for.
template <class T>
T& of_device(std::vector<T>& list, const Device& device) {
  const auto ordinal = static_cast<std::size_t>(device.ordinal());
  if (list.size() <= ordinal) list.resize(ordinal + 1);
  return list[ordinal];
}

// All bytes of a bundle; none if it is something else.
std::span<const std::byte> bundle_at(const std::byte* code) {
  constexpr char magic[] = "\x89WEIRKB\n";
  if (code == nullptr || std::strncmp(reinterpret_cast<const char*>(code), magic, sizeof magic - 1) != 0) return {};
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, code + 16, sizeof bytes);
  return {code, static_cast<std::size_t>(bytes)};
}

// The caller holds the program's mutex.
Module& module_of(Binary& binary, Device& device) {
  ModulePtr& module = of_device(binary.modules, device);
  if (module) return *module;
  if (binary.has_managed && std::ranges::any_of(binary.modules, [](const ModulePtr& other) { return other != nullptr; }))
    throw Error(Errc::unsupported, "loading", "__managed__ variables", "another device has them; use that one");
  const std::span<const std::byte> bundle = bundle_at(binary.bundle);
  if (!bundle.empty()) {
    module = device.load(KernelBundle(bundle));
  } else if (const auto source = program().sources.find(binary.image); source != program().sources.end()) {
    module = device.compile(source->second.text, source->second.options);
  } else {
    check(binary.image.find(".version") != std::string::npos, cudaErrorInvalidKernelImage);
    module = device.load_module({binary.bundle, binary.image.size() + 1});  // PTX
  }
  return *module;
}

// The caller holds the program's mutex.
Binary& library_of(cudaLibrary_t handle) {
  auto* const binary = reinterpret_cast<Binary*>(handle);
  check(std::ranges::find(program().binaries, binary) != program().binaries.end(), cudaErrorInvalidResourceHandle);
  return *binary;
}

// Enters a library's kernel or variable, which is found as those of programs are: by an address.
template <class T>
const std::string* add_name(std::unordered_map<const void*, T>& table, cudaLibrary_t handle, const char* name) {
  check(name != nullptr);
  const std::lock_guard lock(program().mutex);
  Binary& library = library_of(handle);
  const std::string* const key = &*library.names.insert(name).first;
  table.try_emplace(key, T{&library, key->c_str(), {}});
  return key;
}

// Forgets the kernels and variables of a binary. The caller holds the program's mutex.
void forget(const Binary* binary) {
  const auto belongs = [&](const auto& entry) { return entry.second.binary == binary; };
  std::erase_if(program().functions, belongs);
  std::erase_if(program().variables, belongs);
}

void launch(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes, cudaStream_t handle,
            LaunchConfig attributes) {
  const StreamPtr stream = stream_of(handle);
  DeviceState& device = current();
  check(stream->device() == *device.device, cudaErrorInvalidResourceHandle);
  const std::shared_ptr<LoadedKernel> shared = kernel_of(function, device);
  const LoadedKernel& loaded = *shared;
  LaunchConfig config = launch_config(loaded, device, grid, block, shared_bytes);
  config.cooperative = attributes.cooperative;
  config.programmatic_stream_serialization = attributes.programmatic_stream_serialization;
  config.cluster = attributes.cluster;
  config.priority = attributes.priority;
  if (config.cooperative) {
    // On the CPU each block gets a thread, so that programs may launch as many blocks as on a GPU. A program that has asked
    // for the occupancy may rely on it.
    const auto active = std::uint64_t(loaded.kernel->max_active_blocks(block.x * block.y * block.z, shared_bytes));
    const bool any = runtime().is_host && !loaded.knows_occupancy;
    const std::uint64_t most = any ? 1024 : active * std::uint64_t(device.properties.multiProcessorCount);
    check(std::uint64_t{grid.x} * grid.y * grid.z <= most, cudaErrorCooperativeLaunchTooLarge);
  }
  const std::span<const Parameter> parameters = loaded.kernel->parameters();
  check(parameters.empty() || arguments != nullptr);
  stream->launch_raw(loaded.kernel, config, {arguments, parameters.size()}, parameters);
}

LaunchConfig attributes_of(const cudaLaunchConfig_t& config) {
  LaunchConfig result;
  for (const cudaLaunchAttribute& attribute : std::span(config.attrs, config.attrs != nullptr ? config.numAttrs : 0)) {
    const cudaLaunchAttributeValue& value = attribute.val;
    switch (attribute.id) {
      case cudaLaunchAttributeCooperative: result.cooperative = value.cooperative != 0; break;
      case cudaLaunchAttributeClusterDimension:
        result.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
        break;
      case cudaLaunchAttributeProgrammaticStreamSerialization:
        result.programmatic_stream_serialization = value.programmaticStreamSerializationAllowed != 0;
        break;
      case cudaLaunchAttributePriority: result.priority = value.priority; break;
      case cudaLaunchAttributeIgnore:
      case cudaLaunchAttributeAccessPolicyWindow:
      case cudaLaunchAttributeClusterSchedulingPolicyPreference:
      case cudaLaunchAttributeMemSyncDomainMap:
      case cudaLaunchAttributeMemSyncDomain:
      case cudaLaunchAttributePreferredSharedMemoryCarveout: break;  // hints
      default: throw Failure{cudaErrorNotSupported};
    }
  }
  return result;
}

// The dynamic shared memory that a launch may request.
std::size_t most_shared(const LoadedKernel& loaded, const DeviceState& device) {
  const std::size_t fixed = loaded.properties.static_shared_memory_bytes;
  const std::size_t standard = device.properties.sharedMemPerBlock;
  return std::max(loaded.most_shared, standard > fixed ? standard - fixed : 0);
}

}  // namespace

std::shared_ptr<LoadedKernel> kernel_of(const void* stub, DeviceState& state) {
  Program& all = program();
  const auto ordinal = static_cast<std::size_t>(state.device->ordinal());
  {
    const std::shared_lock lock(all.mutex);
    const auto found = all.functions.find(stub);
    check(found != all.functions.end(), cudaErrorInvalidDeviceFunction);
    if (ordinal < found->second.loaded.size() && found->second.loaded[ordinal]) return found->second.loaded[ordinal];
  }
  const std::lock_guard lock(all.mutex);
  const auto found = all.functions.find(stub);
  check(found != all.functions.end(), cudaErrorInvalidDeviceFunction);
  std::shared_ptr<LoadedKernel>& loaded = of_device(found->second.loaded, *state.device);
  if (!loaded) {
    KernelPtr kernel = module_of(*found->second.binary, *state.device).untyped_kernel(found->second.name);
    // A stub passes addresses only.
    check(kernel->has_parameter_sizes(), cudaErrorNotSupported);
    const KernelProperties properties = kernel->properties();
    loaded = std::make_shared<LoadedKernel>(LoadedKernel{std::move(kernel), properties});
  }
  return loaded;
}

LaunchConfig launch_config(const LoadedKernel& loaded, const DeviceState& device, dim3 grid, dim3 block,
                           std::size_t shared_bytes) {
  const cudaDeviceProp& p = device.properties;
  const auto fits = [](const dim3& d, const int(&most)[3]) {
    return d.x != 0 && d.y != 0 && d.z != 0 && d.x <= static_cast<unsigned>(most[0]) &&
           d.y <= static_cast<unsigned>(most[1]) && d.z <= static_cast<unsigned>(most[2]);
  };
  check(fits(grid, p.maxGridSize) && fits(block, p.maxThreadsDim), cudaErrorInvalidConfiguration);
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  check(threads <= static_cast<std::uint64_t>(p.maxThreadsPerBlock), cudaErrorInvalidConfiguration);
  const std::uint32_t most = loaded.properties.max_threads_per_block;
  check(most == 0 || threads <= most, cudaErrorLaunchOutOfResources);
  check(shared_bytes <= most_shared(loaded, device));
  return {.grid = {grid.x, grid.y, grid.z},
          .block = {block.x, block.y, block.z},
          .shared_memory_bytes = static_cast<std::uint32_t>(shared_bytes)};
}

std::string add_source(Source source) {
  const std::lock_guard lock(program().mutex);
  std::map<std::string, Source>& all = program().sources;
  // The text has a hash of the source, so that a program may store it, and load it once it has compiled the source again.
  std::string every = source.text + '\0' + source.options.name + (source.options.fast_math ? '1' : '0') +
                      std::to_string(source.options.cxx_standard);
  for (const auto* const pairs : {&source.options.headers, &source.options.defines}) {
    for (const auto& [name, text] : *pairs) every.append(1, '\0').append(name).append(1, '\0').append(text);
  }
  for (const std::string& folder : source.options.include_directories) every.append(1, '\0').append(folder);
  const std::string key =
      "// compiled by Weir: " + std::to_string(std::hash<std::string>()(every)) + " " + std::to_string(every.size());
  return all.emplace(key, std::move(source)).first->first;
}

Span<std::byte> symbol(const void* variable) {
  Program& all = program();
  const std::lock_guard lock(all.mutex);
  const auto found = all.variables.find(variable);
  check(found != all.variables.end(), cudaErrorInvalidSymbol);
  Variable& entry = found->second;
  Device* device = current().device;
  for (const ModulePtr& module : entry.binary->modules) {
    if (entry.managed && module) device = &module->device();  // the only one that has it
  }
  Span<std::byte>& range = of_device(entry.memory, *device);
  if (range.data() == nullptr) {
    range = module_of(*entry.binary, *device).global(entry.name);
    const BlockKind kind = entry.managed ? BlockKind::managed : BlockKind::symbol;
    memory().add(range.data(), {range.size(), kind, device, cudaMemAttachGlobal, {}, {}});
    // Host code names a managed variable by its address.
    if (entry.managed) all.variables.insert_or_assign(range.data(), entry);
  }
  return range;
}

void unload(const Device& device) {
  Program& all = program();
  const std::lock_guard lock(all.mutex);
  for (auto& [stub, function] : all.functions) of_device(function.loaded, device).reset();
  for (auto& [host, variable] : all.variables) of_device(variable.memory, device) = {};
  for (Binary* const binary : all.binaries) of_device(binary->modules, device).reset();
}

#pragma GCC visibility push(default)
extern "C" {

// --- Calls of Clang's code

// `wrapper`: a magic number and a version of 4 bytes each, and the address of the bundle.
void** __cudaRegisterFatBinary(void* wrapper) {
  auto* const binary = new Binary;
  std::memcpy(&binary->bundle, static_cast<std::byte*>(wrapper) + 8, sizeof binary->bundle);
  const std::lock_guard lock(program().mutex);
  program().binaries.push_back(binary);
  return reinterpret_cast<void**>(binary);
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  Program& all = program();
  const auto* const binary = reinterpret_cast<Binary*>(handle);
  const std::lock_guard lock(all.mutex);
  for (auto& [stub, function] : all.functions) {
    if (function.binary == binary) std::ranges::move(function.loaded, std::back_inserter(all.ended));
  }
  forget(binary);
}

void __cudaRegisterFunction(void** handle, const char* stub, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  const std::lock_guard lock(program().mutex);
  program().functions.insert_or_assign(stub, Function{reinterpret_cast<Binary*>(handle), name, {}});
}

// `managed`: the plugin for Clang sets it (kernels/workgroup/managed.cpp).
void __cudaRegisterVar(void** handle, char* variable, char*, const char* name, int, size_t, int, int managed) {
  auto* const binary = reinterpret_cast<Binary*>(handle);
  const std::lock_guard lock(program().mutex);
  binary->has_managed |= managed != 0;
  program().variables.insert_or_assign(variable, Variable{binary, name, {}, managed != 0});
}

// The plugin makes host code call this for each use of a managed variable.
void* __weir_managed(const void* variable) {
  void* address = nullptr;
  const cudaError_t error = call(__func__, [&] { address = symbol(variable).data(); });
  if (error == cudaSuccess) return address;
  std::fprintf(stderr, "weir: cannot use a __managed__ variable: %s; WEIR_LOG=info tells why\n", cudaGetErrorString(error));
  std::abort();
}

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t sharedBytes, void* stream) {
  Thread& thread = this_thread();
  if (thread.pushed == thread.configurations.size()) return ended(cudaErrorInvalidConfiguration);
  thread.configurations[thread.pushed++] = {grid, block, sharedBytes, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* sharedBytes, void* stream) {
  Thread& thread = this_thread();
  if (thread.pushed == 0) return ended(cudaErrorMissingConfiguration);
  const CallConfiguration& top = thread.configurations[--thread.pushed];
  *grid = top.grid;
  *block = top.block;
  *sharedBytes = top.shared_bytes;
  *static_cast<void**>(stream) = top.stream;
  return cudaSuccess;
}

}  // extern "C"
#pragma GCC visibility pop

namespace calls {

// --- Launches

void cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t sharedBytes,
                      cudaStream_t stream) {
  launch(function, grid, block, arguments, sharedBytes, stream, {});
}

void cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t sharedBytes,
                                 cudaStream_t stream) {
  launch(function, grid, block, arguments, sharedBytes, stream, {.cooperative = true});
}

void cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  check(config != nullptr);
  launch(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream,
         attributes_of(*config));
}

// --- Libraries

void cudaLibraryLoadData(cudaLibrary_t* library, const void* code, const void*, const void*, unsigned int, const void*,
                         const void*, unsigned int) {
  check(library != nullptr && code != nullptr);
  const auto* const text = static_cast<const char*>(code);
  const std::size_t bundle_bytes = bundle_at(static_cast<const std::byte*>(code)).size();
  auto binary = std::make_unique<Binary>();
  binary->image.assign(text, bundle_bytes != 0 ? bundle_bytes : std::strlen(text));
  binary->bundle = reinterpret_cast<const std::byte*>(binary->image.c_str());
  const std::lock_guard lock(program().mutex);
  module_of(*binary, *current().device);
  program().binaries.push_back(binary.get());
  *library = reinterpret_cast<cudaLibrary_t>(binary.release());
}

void cudaLibraryUnload(cudaLibrary_t handle) {
  const std::lock_guard lock(program().mutex);
  Binary& library = library_of(handle);
  for (const ModulePtr& module : library.modules) {
    if (module) module->device().synchronize();
  }
  for (const auto& [key, variable] : program().variables) {
    for (const Span<std::byte>& range : variable.memory) {
      if (variable.binary == &library) memory().take(range.data(), [](const Block&) { return true; });
    }
  }
  forget(&library);
  std::erase(program().binaries, &library);
  delete &library;
}

void cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  check(kernel != nullptr);
  const std::string* const key = add_name(program().functions, library, name);
  kernel_of(key, current());
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<std::string*>(key));
}

void cudaLibraryGetGlobal(void** pointer, size_t* bytes, cudaLibrary_t library, const char* name) {
  const Span<std::byte> range = symbol(add_name(program().variables, library, name));
  if (pointer != nullptr) *pointer = range.data();
  if (bytes != nullptr) *bytes = range.size();
}

// --- Functions and occupancy

void cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  check(attributes != nullptr);
  const std::shared_ptr<LoadedKernel> shared = kernel_of(function, current());
  const LoadedKernel& loaded = *shared;
  const KernelProperties& p = loaded.properties;
  *attributes = {};
  attributes->sharedSizeBytes = p.static_shared_memory_bytes;
  attributes->constSizeBytes = p.constant_memory_bytes;
  attributes->localSizeBytes = p.local_memory_bytes;
  attributes->maxThreadsPerBlock =
      p.max_threads_per_block != 0 ? static_cast<int>(p.max_threads_per_block) : current().properties.maxThreadsPerBlock;
  attributes->numRegs = static_cast<int>(p.registers_per_thread);
  const int version = current().properties.major * 10 + current().properties.minor;
  attributes->ptxVersion = p.ptx_version != 0 ? static_cast<int>(p.ptx_version) : version;
  attributes->binaryVersion = p.binary_version != 0 ? static_cast<int>(p.binary_version) : version;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(most_shared(loaded, current()));
  attributes->preferredShmemCarveout = loaded.carveout;
}

void cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  DeviceState& device = current();
  const std::shared_ptr<LoadedKernel> shared = kernel_of(function, device);
  LoadedKernel& loaded = *shared;
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize: {
      const std::size_t most = device.properties.sharedMemPerBlockOptin;
      const std::size_t fixed = loaded.properties.static_shared_memory_bytes;
      check(value >= 0 && static_cast<std::size_t>(value) + fixed <= most);
      loaded.most_shared = static_cast<std::size_t>(value);
      break;
    }
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      check(value >= cudaSharedmemCarveoutDefault && value <= cudaSharedmemCarveoutMaxShared);
      loaded.carveout = value;
      break;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
    case cudaFuncAttributeClusterSchedulingPolicyPreference: break;
    default: throw Failure{cudaErrorInvalidValue};
  }
}

void cudaFuncSetCacheConfig(const void* function, cudaFuncCache config) {
  check(config >= cudaFuncCachePreferNone && config <= cudaFuncCachePreferEqual);
  kernel_of(function, current());
}

void cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int blockSize, size_t sharedBytes) {
  calls::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, blockSize, sharedBytes,
                                                                cudaOccupancyDefault);
}

void cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int blockSize,
                                                            size_t sharedBytes, unsigned int flags) {
  check(blockSize > 0 && (flags & ~unsigned{cudaOccupancyDisableCachingOverride}) == 0);
  const std::shared_ptr<LoadedKernel> loaded = kernel_of(function, current());
  give(blocks, loaded->kernel->max_active_blocks(static_cast<std::uint32_t>(blockSize), sharedBytes));
  loaded->knows_occupancy = true;
}

}  // namespace calls
}  // namespace weir::cudart
