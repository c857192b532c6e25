// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "functions.hpp"
#include "kernel_abi.hpp"

/// Modules and launches. A module is a shared object that nvrtc.cpp has made for the CPU.
namespace cpu_cuda {
namespace {

struct Module {
  void* library = nullptr;
  int device = 0;
};
struct Function {
  const KernelDescription* description = nullptr;
  Module* module = nullptr;
};
Function* function_of(CUfunction function) { return reinterpret_cast<Function*>(function); }

std::size_t size_of_image(const void* image) {
  const auto* const header = static_cast<const Elf64_Ehdr*>(image);
  return header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize;
}

}  // namespace

std::unique_ptr<Node> kernel_node(const CUDA_KERNEL_NODE_PARAMS& parameters) {
  const KernelDescription& kernel = *function_of(parameters.func)->description;
  auto node = make_node(CU_GRAPH_NODE_TYPE_KERNEL);
  node->kernel = parameters;
  node->kernel.kernelParams = nullptr;
  std::vector<std::vector<char>> arguments(kernel.parameter_count);
  for (unsigned i = 0; i < kernel.parameter_count; ++i) {
    const auto* const from = static_cast<const char*>(parameters.kernelParams[i]);
    arguments[i].assign(from, from + kernel.parameter_sizes[i]);
  }
  const LaunchShape shape{{parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ},
                          {parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ},
                          parameters.sharedMemBytes};
  node->run = [arguments, shape, &kernel] {
    std::vector<void*> pointers;
    for (const auto& argument : arguments) pointers.push_back(const_cast<char*>(argument.data()));
    kernel.launch(shape, pointers.data());
  };
  return node;
}

CUresult ModuleLoadData(CUmodule* module, const void* image) {
  {
    Lock lock(machine());
    if (const CUresult result = forbidden_by_capture(lock); result != CUDA_SUCCESS) return result;
  }
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return CUDA_ERROR_INVALID_IMAGE;
  const auto* const header = static_cast<const Elf64_Ehdr*>(image);
  if (header->e_machine != EM_X86_64 || header->e_type != ET_DYN) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  // A name of its own: the loader takes a name that it has seen for the library of then.
  char path[] = "/tmp/cpu-cuda-module-XXXXXX";
  const int file = ::mkostemp(path, O_CLOEXEC);
  const std::size_t size = size_of_image(image);
  if (file < 0 || ::write(file, image, size) != static_cast<ssize_t>(size)) return CUDA_ERROR_OPERATING_SYSTEM;
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ::unlink(path);
  if (library == nullptr) std::fprintf(stderr, "CPU CUDA: %s\n", ::dlerror());
  ::close(file);
  if (library == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  return give(module, reinterpret_cast<CUmodule>(new Module{library, current_device()}));
}
CUresult ModuleUnload(CUmodule handle) {
  auto* const module = reinterpret_cast<Module*>(handle);
  Lock lock(machine());
  if (const CUresult result = forbidden_by_capture(lock); result != CUDA_SUCCESS) return result;
  for (const auto& stream : streams_of(module->device)) stream->last().wait(lock);
  ::dlclose(module->library);
  delete module;
  return CUDA_SUCCESS;
}
CUresult ModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  auto* const module = reinterpret_cast<Module*>(handle);
  const auto find = [&](const std::string& symbol) -> const void* { return ::dlsym(module->library, symbol.c_str()); };
  const auto* description = static_cast<const KernelDescription*>(find(std::string("cpu_cuda_kernel_") + name));
  const void* const kernel = find(name);
  for (int i = 0; description == nullptr && kernel != nullptr; ++i) {
    const auto* const instance = static_cast<const KernelInstance*>(find("cpu_cuda_instance_" + std::to_string(i)));
    if (instance == nullptr) break;
    if (instance->function == kernel) description = &instance->description;
  }
  if (description == nullptr) return CUDA_ERROR_NOT_FOUND;
  return give(function, reinterpret_cast<CUfunction>(new Function{description, module}));
}
CUresult ModuleGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUmodule handle, const char* name) {
  void* const found = ::dlsym(reinterpret_cast<Module*>(handle)->library, name);
  if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
  Dl_info info{};
  const ElfW(Sym)* symbol = nullptr;
  ::dladdr1(found, &info, const_cast<void**>(reinterpret_cast<const void**>(&symbol)), RTLD_DL_SYMENT);
  if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(found);
  if (bytes != nullptr) *bytes = symbol != nullptr ? symbol->st_size : 0;
  return CUDA_SUCCESS;
}

CUresult LaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** parameters,
                      void**) {
  const Function& kernel = *function_of(function);
  const unsigned threads = block_x * block_y * block_z;
  if (threads == 0 || grid_x == 0 || grid_y == 0 || grid_z == 0 || threads > 1024 || shared_bytes > 227 << 10)
    return CUDA_ERROR_INVALID_VALUE;
  if (threads > kernel.description->max_threads) return CUDA_ERROR_INVALID_VALUE;
  {
    const Lock lock(machine());
    const auto found = find(stream);
    if (found != nullptr && found->device != kernel.module->device) return CUDA_ERROR_INVALID_HANDLE;
  }
  CUDA_KERNEL_NODE_PARAMS all{};
  all.func = function;
  all.gridDimX = grid_x;
  all.gridDimY = grid_y;
  all.gridDimZ = grid_z;
  all.blockDimX = block_x;
  all.blockDimY = block_y;
  all.blockDimZ = block_z;
  all.sharedMemBytes = shared_bytes;
  all.kernelParams = parameters;
  return submit(stream, kernel_node(all));
}
CUresult LaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                 unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
                                 void** parameters) {
  if (grid_x * grid_y * grid_z > 128) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  return LaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters,
                      nullptr);
}
CUresult OccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads, std::size_t) {
  return give(blocks, std::max(1, 2048 / std::max(1, threads)));
}
CUresult OccupancyMaxPotentialBlockSize(int* blocks, int* threads, CUfunction function, CUoccupancyB2DSize, std::size_t,
                                        int limit) {
  const int most = static_cast<int>(function_of(function)->description->max_threads);
  *threads = limit > 0 ? std::min(limit, most) : most;
  return OccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, *threads, 0);
}
CUresult FuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  const int threads = static_cast<int>(function_of(function)->description->max_threads);
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) return give(value, threads);
  return give(value, attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? 16 : 0);
}
CUresult FuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }

}  // namespace cpu_cuda

// --- What the bridge looks up -------------------------------------------------------------------------------------------

namespace {

/// What each call goes through: none is made once the process ends.
template <auto function>
struct Entry;
template <class... A, CUresult (*function)(A...)>
struct Entry<function> {
  static CUresult call(A... arguments) {
    return cpu_cuda::is_shut_down() ? CUDA_ERROR_DEINITIALIZED : function(arguments...);
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) CUresult cuCtxGetCurrent(CUcontext* context) {
  return cpu_cuda::give(context,
                        cpu_cuda::current_device() < 0 ? nullptr : cpu_cuda::context_of(cpu_cuda::current_device()));
}
extern "C" __attribute__((visibility("default"))) CUresult weir_get_proc_address(
    const char* name, void** address, int, cuuint64_t,
    CUdriverProcAddressQueryResult* status) __asm__("cuGetProcAddress_v2");
extern "C" CUresult weir_get_proc_address(const char* name, void** address, int, cuuint64_t,
                                          CUdriverProcAddressQueryResult* status) {
  static const auto& functions = *new std::map<std::string, void*>{
#define CPU_CUDA_ENTRY(function, version) {"cu" #function, reinterpret_cast<void*>(&Entry<&cpu_cuda::function>::call)},
      BRIDGE_CUDA_SYMBOLS(CPU_CUDA_ENTRY)
#undef CPU_CUDA_ENTRY
  };
  const auto found = functions.find(name);
  *address = found != functions.end() ? found->second : nullptr;
  *status = found != functions.end() ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return found != functions.end() ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
