// SPDX-License-Identifier: Apache-2.0
#include <glob.h>
#include <string.h>

#include <algorithm>
#include <bitset>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "backends/gpu/driver_calls.hpp"
#include "backends/hip/api.hpp"
#include "backends/hip/api_private.hpp"
#include "backends/hip/device_node.hpp"
#include "core/base/library.hpp"
#include "weir/error.hpp"
#include "weir/feature.hpp"
#include "weir/plugin/feature_list.hpp"
#include "weir/plugin/support.hpp"

/// Finds and opens the HIP runtime, and fills the function table.
namespace weir::hip {
namespace {

constexpr const char* operation = "opening the HIP runtime";
constexpr const char* variable = "WEIR_HIP_RUNTIME";

// In order of version number: 10 comes after 7. The name without a number is a link that development packages install. It
// comes last; other implementations of HIP may have only that name.
std::vector<std::string> sonames() {
  return {"libamdhip64.so.10", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};
}

void add_folder(std::vector<std::string>& names, const std::string& folder) {
  for (const std::string& soname : sonames()) names.push_back(folder + "/" + soname);
}

void add_rocm_folders(std::vector<std::string>& names) {
  for (const char* const root : {"HIP_PATH", "ROCM_PATH"}) {
    if (const auto folder = support::environment(root); folder && folder->starts_with('/'))
      add_folder(names, *folder + "/lib");
  }
  add_folder(names, "/opt/rocm/lib");
  ::glob_t found{};
  if (::glob("/opt/rocm-[0-9]*", GLOB_ONLYDIR, nullptr, &found) == 0) {
    std::vector<std::string> folders(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    std::sort(folders.begin(), folders.end(),
              [](const std::string& a, const std::string& b) { return ::strverscmp(a.c_str(), b.c_str()) > 0; });
    for (const std::string& folder : folders) add_folder(names, folder + "/lib");
  }
  ::globfree(&found);
}

std::vector<std::string> candidates(const std::optional<std::string>& chosen) {
  if (chosen) return {*chosen};
  std::vector<std::string> names;
  // Two copies of the runtime in one process break each other, even if they have the same version. So use one that is
  // already loaded.
  if (std::string loaded = detail::loaded_library("libamdhip64.so"); !loaded.empty()) names.push_back(std::move(loaded));
  const std::vector<std::string> by_soname = sonames();
  names.insert(names.end(), by_soname.begin(), by_soname.end());
  add_rocm_folders(names);
  return names;
}

// Opens the runtime's library. Reports each attempt to `context` if that is not null.
detail::Library open_library(PluginContext* context) {
  const std::optional<std::string> chosen = support::environment_path(variable);
  std::vector<LoadAttempt> attempts;
  auto library = detail::Library::open(candidates(chosen), attempts);
  for (const LoadAttempt& attempt : attempts) {
    if (context != nullptr) context->tried(attempt.path, attempt.outcome);
  }
  if (library) return std::move(*library);
  throw Error(Errc::driver_not_found, operation, "",
              "no runtime library was found: " + detail::list_attempts(attempts) + "; " +
                  (chosen ? std::string(variable) + " contains this name; correct or unset the variable"
                          : "install ROCm's HIP runtime (Debian: libamdhip64-7), or set WEIR_HIP_RUNTIME to its file"));
}

int release_of(int version) { return version / 10000000 * 100 + version / 100000 % 100; }

std::string version_text_of(int version) {
  return release_text(release_of(version)) + "." + std::to_string(version % 100000);
}

std::string too_old(const std::string& version) {
  return "it is HIP " + version + "; Weir needs ROCm " + release_text(oldest_release) + " or later: update ROCm";
}

// Whether the code means that no device exists or that none is accessible.
bool means_no_device(hipError_t result) {
  return result == hipErrorNoDevice || result == hipErrorInvalidDevice || result == hipErrorNotInitialized ||
         result == hipErrorInsufficientDriver;
}

template <auto Field, class Result, class... Arguments>
void show(Function<Result (*)(Arguments...)>& function) {
  // Leaves out functions that do not return an error code, such as hipGetErrorName.
  if constexpr (std::is_same_v<Result, hipError_t>) {
    using Pointer = Result (*)(Arguments...);
    const auto driver = reinterpret_cast<Pointer>(function.address);
    function.address =
        reinterpret_cast<void*>(gpu::ShownFunction<Field, Pointer>::show(Api::backend_name, function.name, driver));
  }
}

// If a tool watches the runtime, replaces the table's entries by functions that report each call.
void show_to_tools(Symbols& table) {
  static constexpr const char* functions[] = {
#define WEIR_HIP_NAME(field, function, ...) #function,
      WEIR_HIP_SYMBOLS(WEIR_HIP_NAME) WEIR_HIP_NEWER_SYMBOLS(WEIR_HIP_NAME)
#undef WEIR_HIP_NAME
  };
  const auto error_name = [get = table.GetErrorName](int code) {
    const char* const name = get(static_cast<hipError_t>(code));
    return std::string(name != nullptr ? name : "");
  };
  if (!support::is_driver_watched({Api::backend_name, functions, error_name})) return;
#define WEIR_HIP_SHOW(field, ...) show<&Symbols::field>(table.field);
  WEIR_HIP_SYMBOLS(WEIR_HIP_SHOW)
  WEIR_HIP_NEWER_SYMBOLS(WEIR_HIP_SHOW)
#undef WEIR_HIP_SHOW
}

}  // namespace

std::string Api::version_text() const {
  return version_text_of(version_);
}

const Api& Api::load(PluginContext& context) {
  // The variables are read before the library is opened, so a wrong value is reported even on machines without the runtime.
  const std::bitset<feature_count> enabled = support::environment_features("WEIR_ENABLE_FEATURES");
  const detail::Library library = open_library(&context);
  std::unique_ptr<Api> api(new Api);
  api->library_path_ = library.path();
  last_error = library.find_as<hipError_t (*)()>("hipGetLastError");
  // Exit handlers run in reverse order of registration. The runtime registered its own handler when its library was opened,
  // so this one runs before it.
  std::atexit([] { runtime_is_ending.store(true, std::memory_order_relaxed); });

  std::string missing;
  const auto find = [&](Symbol& symbol) {
    symbol.address = library.find(symbol.name);
    if (symbol.address == nullptr && symbol.since <= oldest_release)
      missing += (missing.empty() ? "" : ", ") + std::string(symbol.name);
  };
  Symbols& table = *api;
#define WEIR_HIP_FIND(field, ...) find(table.field);
  WEIR_HIP_SYMBOLS(WEIR_HIP_FIND)
  WEIR_HIP_NEWER_SYMBOLS(WEIR_HIP_FIND)
#undef WEIR_HIP_FIND

  const hipError_t told = api->RuntimeGetVersion ? api->RuntimeGetVersion(&api->version_) : hipSuccess;
  if (told != hipSuccess) {
    throw Error(Errc::driver_failed, operation, library.path(),
                "the runtime does not report its version: " + std::string(meaning(told).detail), NativeError{told, "", ""});
  }
  api->release_ = release_of(api->version_);
  if (api->RuntimeGetVersion && api->release_ < oldest_release)
    throw Error(Errc::driver_too_old, operation, library.path(), too_old(api->version_text()));
  if (!missing.empty()) {
    throw Error(Errc::driver_too_old, operation, library.path(),
                (api->RuntimeGetVersion ? "it reports that it is HIP " + api->version_text() + ", and lacks "
                                        : std::string("it is not a HIP runtime: it lacks ")) +
                    missing + ", which ROCm has since 6.2 or before; install ROCm's own HIP runtime");
  }
  for (std::size_t i = 0; i < workaround_count; ++i) {
    api->workarounds_[i] = needs(static_cast<Workaround>(i), api->release_);
  }
  api->enabled_ = enabled;
  std::unique_ptr<const Compiler> compiler = Compiler::open(library, api->release_);
  api->compiler_ = compiler.get();

  show_to_tools(table);
  // hipInit's result is ignored, because the query of the device count below reports a more precise error.
  (void)api->Init(0);
  int count = 0;
  const hipError_t result = api->GetDeviceCount(&count);
  if (result != hipSuccess && !means_no_device(result)) {
    throw Error(Errc::driver_failed, operation, library.path(),
                "HIP " + api->version_text() + " does not start: " + std::string(meaning(result).detail),
                gpu::native_error(*api, result));
  }
  if (result != hipSuccess || count <= 0) {
    FeatureTable features;
    api->describe_features(features);
    context.would_have(std::move(features));
    throw Error(Errc::no_device, operation, library.path(),
                "HIP " + api->version_text() + " reports no device; " + why_no_device("/dev/kfd"),
                result != hipSuccess ? gpu::native_error(*api, result) : NativeError{});
  }
  api->device_count_ = count;
  api->helpers_ = new Helpers(count);
  (void)compiler.release();  // neither is ever destroyed: both are used until the process ends
  return *api.release();
}

void compile_image(ImageCompilation& request) {
  const std::string object = "hip " + std::string(request.architecture);
  // Compiling needs the runtime's library but no device. HIPRTC is installed with the runtime or is part of it, and both
  // have the same release.
  static const Compiler& compiler = [&]() -> const Compiler& {
    try {
      const detail::Library library = open_library(nullptr);
      const auto get_version = library.find_as<hipError_t (*)(int*)>("hipRuntimeGetVersion");
      int version = 0;
      if (get_version != nullptr) (void)get_version(&version);
      if (release_of(version) < oldest_release)
        throw Error(Errc::driver_too_old, operation, object, library.path() + ": " + too_old(version_text_of(version)));
      return *Compiler::open(library, release_of(version)).release();  // never destroyed: used until the process ends
    } catch (const Error& error) {
      const bool none = error.errc() == Errc::driver_not_found || error.errc() == Errc::driver_too_old;
      throw Error(none ? Errc::compiler_not_found : error.errc(),
                  "Registry::compile_image", object, "no HIPRTC: " + error.detail());
    }
  }();
  request.image = compiler
                      .compile(std::string(request.architecture), request.source, request.options, "Registry::compile_image",
                               object, request.log)
                      .image_with_names();
}

BackendVersions Api::versions() const {
  BackendVersions versions;
  versions.driver = version_text();
  versions.runtime = version_text();
  versions.library_path = library_path_;
  versions.compiler = compiler_->description();
  return versions;
}

}  // namespace weir::hip
