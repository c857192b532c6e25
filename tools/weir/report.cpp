// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "core/base/near_match.hpp"
#include "weir/plugin/plugin.hpp"
#include "weir/plugin/support.hpp"
#include "weir/weir.hpp"

namespace weir::tool {
namespace {

constexpr std::string_view variables[] = {
    "WEIR_BACKEND",      "WEIR_DEVICE",       "WEIR_ENABLE_FEATURES", "WEIR_PLUGIN_PATH",    "WEIR_DISABLE_FEATURES",
    "WEIR_LOG",          "WEIR_CUDA_DRIVER",  "WEIR_NVRTC",           "WEIR_HIP_RUNTIME",    "WEIR_HIPRTC",
    "WEIR_HOST_CXX",     "WEIR_HOST_DEVICES", "WEIR_HOST_THREADS",    "WEIR_HOST_WARP_SIZE", "WEIR_HOST_TIER",
    "WEIR_HOST_SIGNALS", "WEIR_CACHE_DIR",    "WEIR_HOST_SANITIZE",   "WEIR_TOOLS",          "WEIR_RACE",
    "WEIR_TIMELINE",     "WEIR_SCHEDULE",     "WEIR_FAULTS",          "WEIR_NCCL",           "WEIR_RCCL",
    "WEIR_MPI",          "WEIR_GLOO",         "WEIR_JOURNAL",         "WEIR_VALIDATE",       "WEIR_STUCK",
    "WEIR_RECORD_FILE",  "WEIR_RECORD_LIMIT", "WEIR_STORE_TOKEN",     "WEIR_COMM_CHECK",     "WEIR_FLIGHT_RECORD"};

// The variables that contain the path of one file or folder. Weir reads some of them only on demand, but this report checks
// them all.
constexpr const char* paths[] = {"WEIR_CUDA_DRIVER", "WEIR_NVRTC",     "WEIR_HIP_RUNTIME",  "WEIR_HIPRTC",
                                 "WEIR_HOST_CXX",    "WEIR_CACHE_DIR", "WEIR_NCCL",         "WEIR_RCCL",
                                 "WEIR_MPI",         "WEIR_GLOO",      "WEIR_FLIGHT_RECORD"};

// Adds Weir's variables that are set, and unknown variables with Weir's prefix, because a mistyped name has no effect.
void add_environment(Json& report) {
  Json& set = report["environment"] = Json::object();
  Json& unread = report["unknown_variables"] = Json::array();
  std::vector<std::string_view> names;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("WEIR_")) names.push_back(text);
  }
  std::sort(names.begin(), names.end());
  for (const std::string_view text : names) {
    const std::string name(text.substr(0, text.find('=')));
    if (std::find(std::begin(variables), std::end(variables), name) != std::end(variables)) {
      // Reports are sent to others, so the secret is left out.
      set[name] = name == "WEIR_STORE_TOKEN" ? "(not shown)" : text.substr(std::min(text.size(), name.size() + 1));
    } else {
      unread.push_back({{"name", name}, {"nearest", detail::nearest_name(name, variables)}});
    }
  }
  Json& bad = report["bad_variables"] = Json::array();
  for (const char* const name : paths) {
    try {
      (void)support::environment_path(name);
    } catch (const Error& error) {
      bad.push_back({{"name", name}, {"error", error.what()}});
    }
  }
}

std::string library_path() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&weir::version), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code ignored;
  const std::filesystem::path real = std::filesystem::canonical(info.dli_fname, ignored);
  return real.empty() ? info.dli_fname : real.string();
}

Json dimensions(const Dim3& d) { return {d.x, d.y, d.z}; }

Json properties_of(const Device& device) {
  const DeviceProperties& p = device.properties();
  return {{"name", p.name},
          {"architecture", p.architecture},
          {"uuid", p.uuid},
          {"pci_bus_id", p.pci_bus_id},
          {"total_memory", p.total_memory},
          {"compute_capability_major", p.compute_capability_major},
          {"compute_capability_minor", p.compute_capability_minor},
          {"multiprocessor_count", p.multiprocessor_count},
          {"warp_size", p.warp_size},
          {"max_threads_per_block", p.max_threads_per_block},
          {"max_threads_per_multiprocessor", p.max_threads_per_multiprocessor},
          {"max_block", dimensions(p.max_block)},
          {"max_grid", dimensions(p.max_grid)},
          {"shared_memory_per_block", p.shared_memory_per_block},
          {"shared_memory_per_block_optin", p.shared_memory_per_block_optin},
          {"shared_memory_per_multiprocessor", p.shared_memory_per_multiprocessor},
          {"registers_per_block", p.registers_per_block},
          {"l2_cache_size", p.l2_cache_size},
          {"clock_rate_khz", p.clock_rate_khz},
          {"memory_clock_rate_khz", p.memory_clock_rate_khz},
          {"memory_bus_width_bits", p.memory_bus_width_bits},
          {"async_engine_count", p.async_engine_count},
          {"integrated", p.integrated},
          {"ecc_enabled", p.ecc_enabled},
          {"unified_addressing", p.unified_addressing}};
}

template <class StateOf>
Json features_by(StateOf&& state_of) {
  Json features = Json::object();
  for (const Feature feature : all_features()) {
    const FeatureState& state = state_of(feature);
    features[std::string(to_string(feature))] = {
        {"support", to_string(state.support)}, {"reason", state.reason}, {"description", description(feature)}};
  }
  return features;
}

// Returns the LLVM releases with a work-group pass, such as weir_workgroup-19.so, in the folder of the host's plugin. The
// newest comes first.
std::vector<int> workgroup_releases(const std::filesystem::path& folder) {
  constexpr std::string_view begin = "weir_workgroup-";
  std::vector<int> releases;
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end; file.increment(error)) {
    const std::string name = file->path().filename().string();
    if (name.starts_with(begin) && name.ends_with(".so")) releases.push_back(std::atoi(name.c_str() + begin.size()));
  }
  std::sort(releases.rbegin(), releases.rend());
  return releases;
}

// Describes a device. If a query fails in the driver, the report contains the error.
Json device_of(Device& device) {
  Json json = {{"name", device.describe()}, {"ordinal", device.ordinal()}, {"properties", properties_of(device)}};
  try {
    const PriorityRange range = device.priority_range();
    json["priority_range"] = {{"least", range.least}, {"greatest", range.greatest}};
  } catch (const Error& error) {
    json["priority_range"] = {{"error", error.what()}};
  }
  try {
    const MemoryInfo memory = device.memory_info();
    json["memory"] = {{"free", memory.free}, {"total", memory.total}};
  } catch (const Error& error) {
    json["memory"] = {{"error", error.what()}};
  }
  json["features"] = features_by([&](Feature f) -> const FeatureState& { return device.feature(f); });
  return json;
}

Json backend_of(const BackendInfo& info) {
  Json json = {{"name", info.name},
               {"state", to_string(info.state)},
               {"reason", info.reason},
               {"plugin", {{"path", info.plugin_path}, {"version", info.plugin_version}}}};
  if (info.name == "host") {
    // If the host backend is no plugin but part of the library, the passes are in the library's plugin folder.
    const auto folder = std::filesystem::path(info.plugin_path.empty() ? library_path() : info.plugin_path).parent_path();
    const auto plugins = folder / WEIR_PLUGIN_FOLDER;
    std::error_code ignored;
    json["plugin"]["workgroup"] = workgroup_releases(std::filesystem::is_directory(plugins, ignored) ? plugins : folder);
  }
  if (info.backend != nullptr) {
    const BackendVersions& v = info.backend->versions();
    json["versions"] = {
        {"driver", v.driver}, {"runtime", v.runtime}, {"library_path", v.library_path}, {"compiler", v.compiler}};
  }
  if (info.features)
    json["features"] = features_by([&](Feature f) -> const FeatureState& { return info.features->state(f); });
  Json& attempts = json["attempts"] = Json::array();
  for (const LoadAttempt& a : info.attempts) attempts.push_back({{"path", a.path}, {"outcome", a.outcome}});
  Json& devices = json["devices"] = Json::array();
  for (int i = 0; info.backend != nullptr && i < info.backend->device_count(); ++i) {
    devices.push_back(device_of(info.backend->device(i)));
  }
  return json;
}

Json default_of() {
  try {
    return {{"device", default_device().describe()}};
  } catch (const Error& error) {
    return {{"code", to_string(error.errc())}, {"error", error.what()}};
  }
}

}  // namespace

Json make_report(const std::vector<std::string>& names) {
  Registry& registry = Registry::instance();
  Json report = {
      {"version", version()}, {"interface_revision", interface_revision}, {"abi", abi()}, {"library", library_path()}};
  add_environment(report);
  if (names.empty()) report["default"] = default_of();
  Json& backends = report["backends"] = Json::array();
  if (names.empty()) {
    for (const BackendInfo& info : registry.probe_all()) backends.push_back(backend_of(info));
  }
  for (const std::string& name : names) backends.push_back(backend_of(registry.probe(name)));
  return report;
}

std::string text_of(const Json& object, const char* key) { return object.value(key, std::string()); }

std::string attempt_text(const Json& attempt) {
  const std::string path = text_of(attempt, "path") + ": ", outcome = text_of(attempt, "outcome");
  return outcome.starts_with(path) ? outcome : path + outcome;  // the loader's message often begins with the file
}

std::vector<std::string> bad_variables(const Json& report) {
  std::vector<std::string> errors;
  const auto add = [&](const Json& told) {
    const auto error = told.get<std::string>();
    if (std::find(errors.begin(), errors.end(), error) == errors.end()) errors.push_back(error);
  };
  for (const Json& variable : report["bad_variables"]) add(variable["error"]);
  for (const Json& backend : report["backends"]) {
    if (backend["state"] == "bad_variable") add(backend["reason"]);
  }
  // If a wrong variable of a backend causes the default to fail, the list already contains that error.
  if (errors.empty() && report.contains("default") && report["default"].value("code", "") == "invalid_environment") {
    add(report["default"]["error"]);
  }
  return errors;
}

bool all_usable(const Json& report, const std::vector<std::string>& names) {
  if (names.empty()) return report["default"].contains("device");
  const Json& backends = report["backends"];
  return std::all_of(backends.begin(), backends.end(), [](const Json& b) { return b["state"] == "usable"; });
}

}  // namespace weir::tool
