// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <memory>

#include "backends/cuda/api.hpp"
#include "backends/gpu/driver_calls.hpp"
#include "core/base/library.hpp"
#include "weir/plugin/support.hpp"

/// Finds and opens CUDA's driver, and fills the function table.
namespace weir::cuda {
namespace {

constexpr const char* operation = "opening the CUDA driver";
constexpr const char* variable = "WEIR_CUDA_DRIVER";
constexpr int oldest_version = 12000;

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::vector<std::string> names(const std::optional<std::string>& chosen) {
  if (chosen) return {*chosen};
  // The name with a version, because libcuda.so is for development and often a stub. The second name is the driver that
  // Windows provides for WSL; some loaders do not search its folder.
  return {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
}

detail::Library open_library(PluginContext& context) {
  const std::optional<std::string> chosen = support::environment_path(variable);
  std::vector<LoadAttempt> attempts;
  auto library = detail::Library::open(names(chosen), attempts);
  for (const LoadAttempt& attempt : attempts) context.tried(attempt.path, attempt.outcome);
  if (library) return std::move(*library);
  const std::string remedy =
      chosen ? std::string(variable) + " contains this name; correct or unset the variable"
      : ::access("/proc/driver/nvidia/version", F_OK) == 0
          ? "NVIDIA's kernel driver is loaded, but its library is not visible: start a container with GPU access; otherwise "
            "install the driver's user-space libraries, or set WEIR_CUDA_DRIVER to the file"
          : "install NVIDIA's driver (which contains libcuda.so.1), or set WEIR_CUDA_DRIVER to the file";
  throw Error(Errc::driver_not_found, operation, "",
              "no driver library was found: " + detail::list_attempts(attempts) + "; " + remedy);
}

// The functions that are needed before the table is filled.
struct Entry {
  PFN_cuInit_v2000 init = nullptr;
  PFN_cuDriverGetVersion_v2020 version = nullptr;
  PFN_cuGetProcAddress_v12000 address = nullptr;
};

[[noreturn]] void throw_too_old(const detail::Library& library, int version, const std::string& what) {
  throw Error(Errc::driver_too_old, operation, library.path(),
              what + (version != 0 ? " (the driver is for CUDA " + version_text(version) + ")" : "") +
                  "; Weir needs a driver for CUDA " + version_text(oldest_version) + " or later: update NVIDIA's driver");
}

std::string result_text(CUresult result) { return "error " + std::to_string(static_cast<int>(result)); }

// If a tool watches the driver, replaces the table's entries by functions that report each call.
void show_to_tools(Symbols& table, Entry& entry) {
  static constexpr const char* functions[] = {
      "cuInit",
#define WEIR_CUDA_NAME(field, function, ...) #function,
      WEIR_CUDA_SYMBOLS(WEIR_CUDA_NAME) WEIR_CUDA_NEWER_SYMBOLS(WEIR_CUDA_NAME)
#undef WEIR_CUDA_NAME
  };
  // Copies the pointer before the table changes, because looking up an error's name for a tool is not a call of the program.
  const auto error_name = [get = table.GetErrorName](int code) {
    const char* name = nullptr;
    return get(static_cast<CUresult>(code), &name) == CUDA_SUCCESS && name != nullptr ? std::string(name) : std::string();
  };
  if (!support::is_driver_watched({Api::backend_name, functions, error_name})) return;
  entry.init = gpu::ShownFunction<&Entry::init, PFN_cuInit_v2000>::show(Api::backend_name, "cuInit", entry.init);
#define WEIR_CUDA_SHOW(field, function, ...) \
  table.field =                              \
      gpu::ShownFunction<&Symbols::field, decltype(Symbols::field)>::show(Api::backend_name, #function, table.field);
  WEIR_CUDA_SYMBOLS(WEIR_CUDA_SHOW)
  WEIR_CUDA_NEWER_SYMBOLS(WEIR_CUDA_SHOW)
#undef WEIR_CUDA_SHOW
}

}  // namespace

const Api& Api::load(PluginContext& context) {
  const detail::Library library = open_library(context);
  Entry entry;
  entry.init = library.find_as<PFN_cuInit_v2000>("cuInit");
  entry.version = library.find_as<PFN_cuDriverGetVersion_v2020>("cuDriverGetVersion");
  entry.address = library.find_as<PFN_cuGetProcAddress_v12000>("cuGetProcAddress_v2");
  int version = 0;
  if (entry.version != nullptr) entry.version(&version);
  for (const auto& [found, name] : {std::pair{entry.init != nullptr, "cuInit"},
                                    {entry.version != nullptr, "cuDriverGetVersion"},
                                    {entry.address != nullptr, "cuGetProcAddress_v2"}}) {
    if (!found) throw_too_old(library, version, std::string("the library lacks ") + name);
  }

  std::unique_ptr<Api> api(new Api);
  api->driver_version_ = version;
  api->library_path_ = library.path();

  std::string missing;
  const auto find = [&](const char* name, int signature, bool required, auto& pointer) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult status{};
    // Requests the variants in which the null stream is the legacy default stream. A per-thread default stream has its own
    // handle, as in HIP.
    const CUresult result = entry.address(name, &address, signature, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status);
    if (result == CUDA_SUCCESS && status == CU_GET_PROC_ADDRESS_SUCCESS) {
      pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(address);
    }
    if (pointer == nullptr && required)
      missing += (missing.empty() ? "" : ", ") + (name + (" of " + version_text(signature)));
  };
  constexpr bool required = true, optional = false;
#define WEIR_CUDA_FIND(field, function, pinned, need) find(#function, pinned, need, api->field);
  WEIR_CUDA_SYMBOLS(WEIR_CUDA_FIND)
#undef WEIR_CUDA_FIND
#define WEIR_CUDA_FIND(field, function, pinned, parameters) find(#function, pinned, optional, api->field);
  WEIR_CUDA_NEWER_SYMBOLS(WEIR_CUDA_FIND)
#undef WEIR_CUDA_FIND
  if (!missing.empty()) throw_too_old(library, version, "the driver lacks " + missing);

  show_to_tools(*api, entry);
  CUresult result = entry.init(0);
  if (result == CUDA_SUCCESS) result = api->DeviceGetCount(&api->device_count_);
  if (result == CUDA_ERROR_NO_DEVICE || (result == CUDA_SUCCESS && api->device_count_ == 0)) {
    throw Error(Errc::no_device, operation, library.path(),
                support::environment("CUDA_VISIBLE_DEVICES")
                    ? "the driver reports no device; CUDA_VISIBLE_DEVICES is set and may hide all devices"
                    : "the driver reports no device; check whether nvidia-smi lists one, and whether this process can open "
                      "/dev/nvidia*",
                result != CUDA_SUCCESS ? gpu::native_error(*api, result) : NativeError{});
  }
  if (result != CUDA_SUCCESS) {
    throw Error(Errc::driver_failed, operation, library.path(),
                "the driver does not start (" + result_text(result) + "): " + std::string(meaning(result).detail),
                gpu::native_error(*api, result));
  }
  return *api.release();  // never destroyed: used until the process ends
}

BackendVersions Api::versions() const {
  BackendVersions versions;
  versions.driver = version_text(driver_version_);
  versions.library_path = library_path_;
  versions.compiler = describe_compiler();
  return versions;
}

}  // namespace weir::cuda
