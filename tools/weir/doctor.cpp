// SPDX-License-Identifier: Apache-2.0
#include "doctor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "layout.hpp"

namespace weir::tool {
namespace {

std::string variable(const Json& report, const char* name) { return text_of(report["environment"], name); }

// Returns the variable in an error text: "reading WEIR_LOG='value': …" → "WEIR_LOG".
std::string variable_in(const std::string& reason) {
  constexpr std::string_view before = "reading ";
  const std::size_t at = reason.find(before);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + before.size();
  return reason.substr(begin, reason.find('=', begin) - begin);
}

// Returns the command that starts a container with a vendor's devices.
std::string container_command(const Machine& m, bool amd) {
  if (m.container == "kubernetes") {
    return fmt::format("resources: {{limits: {{{}: 1}}}}   # in the pod's description",
                       amd ? "amd.com/gpu" : "nvidia.com/gpu");
  }
  const char* const program = m.container == "podman" ? "podman" : "docker";
  if (amd)  // podman and docker name the device files of AMD in the same way
    return fmt::format("{} run --device /dev/kfd --device /dev/dri --group-add video --group-add render …", program);
  return m.container == "podman" ? "podman run --device nvidia.com/gpu=all …" : "docker run --gpus all …";
}

// Reports that this process may not open a device node as the cause.
void blame(const Node& node, const Machine& m, Diagnosis& d) {
  d.cause = fmt::format("{} cannot be opened: {}", node.path, node.error);
  if (!m.container.empty()) {
    d.cause += "; the container was started without this device, or without its group";
    d.commands.push_back(container_command(m, node.path == "/dev/kfd"));
  } else if (node.group_may && node.group != "root") {
    d.cause += fmt::format("; members of the group '{}' can open it", node.group);
    d.commands.push_back(fmt::format("sudo usermod -aG {} \"$USER\"   # then log in again", node.group));
  } else {
    d.commands.push_back(
        fmt::format("ls -l {}   # shows its owner; to allow all users: sudo chmod a+rw {}", node.path, node.path));
  }
}

const Node* blocked(const std::vector<Node>& nodes) {
  const auto at = std::find_if(nodes.begin(), nodes.end(), [](const Node& n) { return n.exists && !n.error.empty(); });
  return at != nodes.end() ? &*at : nullptr;
}

const Node* missing(const std::vector<Node>& nodes) {
  const auto at = std::find_if(nodes.begin(), nodes.end(), [](const Node& n) { return !n.exists; });
  return at != nodes.end() ? &*at : nullptr;
}

// Reports a driver's variable that hides the devices as the cause. Returns false if none is set.
bool blame_hiding(std::initializer_list<const char*> names, const Machine& m, Diagnosis& d) {
  for (const char* const name : names) {
    const auto found = m.hiding.find(name);
    if (found == m.hiding.end() || found->second == "all") continue;
    d.cause = fmt::format("{}='{}' hides the devices, or lists devices that do not exist", name, found->second);
    d.commands.push_back(fmt::format("unset {}", name));
    return true;
  }
  return false;
}

// Reports a variable for a driver's file as the cause. Returns false if it is not set.
bool blame_variable(const std::string& name, const Json& report, Diagnosis& d) {
  if (variable(report, name.c_str()).empty()) return false;
  d.cause = name + " is set to a file that cannot be opened; no other file is tried";
  d.commands.push_back("unset " + name);
  return true;
}

void without_hardware(bool amd, const Machine& m, Diagnosis& d) {
  const char* const vendor = amd ? "AMD" : "NVIDIA";
  if (m.container.empty()) {
    d.cause = fmt::format("this machine has no visible device of {}; nothing needs to be fixed", vendor);
  } else {
    d.cause = fmt::format("this container has no visible device of {}; if the machine has one, start the container with it",
                          vendor);
    d.commands.push_back(container_command(m, amd));
  }
}

// --- CUDA -------------------------------------------------------------------------------------------------------------

void find_nvidia(const Machine& m, Diagnosis& d) {
  if (!m.nvidia_devices.empty()) {
    d.found.push_back(fmt::format("NVIDIA devices on the PCI bus: {}", fmt::join(m.nvidia_devices, ", ")));
  }
  if (!m.nvidia_module.empty()) d.found.push_back(fmt::format("NVIDIA's kernel module, version {}", m.nvidia_module));
  for (const Node& node : m.nvidia_nodes) {
    if (!node.exists && d.expected) d.found.push_back(node.path + " is missing");
    if (node.exists) d.found.push_back(node.path + (node.error.empty() ? "" : ", which cannot be opened: " + node.error));
  }
}

// Diagnoses a driver that is installed, in the kernel or as a library, but finds no device or does not start.
void nvidia_driver_fails(const Machine& m, Diagnosis& d, const std::string& reason) {
  if (reason.find("error 803") != std::string::npos) {
    d.cause = "the driver's library and its kernel module have different versions, as after an update without a reboot";
    d.commands.push_back(m.container.empty() ? "sudo reboot" : container_command(m, false) + "   # anew");
  } else if (reason.find("error 802") != std::string::npos) {
    d.cause = "the devices are connected by NVSwitches, but the fabric manager is not running";
    d.commands.push_back("sudo systemctl start nvidia-fabricmanager");
  } else if (blame_hiding({"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}, m, d)) {
  } else if (const Node* const node = blocked(m.nvidia_nodes)) {
    blame(*node, m, d);
  } else if (m.nvidia_devices.empty() && m.nvidia_module.empty()) {
    without_hardware(false, m, d);
  } else if (m.nvidia_module.empty() && m.container.empty()) {
    d.cause = "NVIDIA's kernel module is not loaded";
    d.commands = {"sudo modprobe nvidia", "sudo dmesg | grep -i -e nvidia -e nouveau   # if it cannot be loaded"};
  } else if (const Node* const absent = missing(m.nvidia_nodes)) {
    d.cause = fmt::format("{} is missing", absent->path);
    d.commands.push_back(m.container.empty() ? "sudo nvidia-modprobe -c 0 -u" : container_command(m, false));
  } else {
    d.commands = {"nvidia-smi", "sudo dmesg | grep -i nvrm"};
  }
}

void diagnose_cuda(const Json& report, const Json& backend, const Machine& m, Diagnosis& d) {
  d.expected |= !m.nvidia_devices.empty() || !m.nvidia_module.empty();
  find_nvidia(m, d);
  const std::string reason = text_of(backend, "reason");
  if (d.state == "plugin_not_found") {
    if (!d.expected) return without_hardware(false, m, d);
    d.commands.push_back(
        "cmake -B build -DWEIR_BACKEND_CUDA=ON -DWEIR_CUDA_INCLUDE_DIR=/usr/local/cuda/include && cmake --build build");
  } else if (d.state == "driver_not_found") {
    if (blame_variable("WEIR_CUDA_DRIVER", report, d)) {
    } else if (m.nvidia_devices.empty() && m.nvidia_module.empty()) {
      without_hardware(false, m, d);
    } else if (!m.container.empty()) {
      d.cause = "the container was started without the driver's library";
      d.commands.push_back(container_command(m, false));
    } else if (!m.nvidia_module.empty()) {
      d.cause = "the driver's kernel module is loaded, but its library libcuda.so.1 is missing";
      if (m.is_debian)
        d.commands.push_back("sudo apt install libcuda1   # Ubuntu: libnvidia-compute-" +
                             m.nvidia_module.substr(0, m.nvidia_module.find('.')));
      d.commands.push_back("ldconfig -p | grep libcuda   # where it may be; set WEIR_CUDA_DRIVER to its absolute path");
    } else {
      d.cause = "NVIDIA's driver is not installed";
      d.commands.push_back(m.is_debian ? "sudo apt install nvidia-driver   # Ubuntu: sudo ubuntu-drivers install"
                                       : "see https://www.nvidia.com/drivers");
    }
  } else if (d.state == "driver_too_old") {
    if (!variable(report, "WEIR_CUDA_DRIVER").empty()) {
      d.commands.push_back("unset WEIR_CUDA_DRIVER   # or update that driver");
    } else if (!m.container.empty()) {
      d.commands.push_back("# update NVIDIA's driver outside of the container");
    } else {
      d.commands.push_back(m.is_debian
                               ? "sudo apt update && sudo apt install nvidia-driver   # Ubuntu: sudo ubuntu-drivers install"
                               : "see https://www.nvidia.com/drivers");
    }
  } else if (d.state == "no_device" || d.state == "driver_failed") {
    nvidia_driver_fails(m, d, reason);
  }
}

// --- HIP --------------------------------------------------------------------------------------------------------------

void diagnose_hip(const Json& report, const Json&, const Machine& m, Diagnosis& d) {
  d.expected |= !m.amd_devices.empty() || m.kfd.exists;
  if (!m.amd_devices.empty()) {
    d.found.push_back(fmt::format("AMD devices on the PCI bus: {}", fmt::join(m.amd_devices, ", ")));
  }
  if (m.amdgpu_module) d.found.push_back("AMD's kernel module amdgpu");
  if (m.kfd.exists) d.found.push_back(m.kfd.path + (m.kfd.error.empty() ? "" : ", which cannot be opened: " + m.kfd.error));
  if (!m.kfd.exists) d.found.push_back("/dev/kfd is missing");
  const bool hardware = !m.amd_devices.empty() || m.kfd.exists;
  if (d.state == "plugin_not_found") {
    if (!d.expected) return without_hardware(true, m, d);
    d.commands.push_back(
        "cmake -B build -DWEIR_BACKEND_HIP=ON -DWEIR_HIP_INCLUDE_DIR=/opt/rocm/include && cmake --build build");
  } else if (d.state == "driver_not_found") {
    if (blame_variable("WEIR_HIP_RUNTIME", report, d)) {
    } else if (!hardware) {
      without_hardware(true, m, d);
    } else {
      d.cause = "the HIP runtime libamdhip64 is not installed";
      if (m.is_debian) d.commands.push_back("sudo apt install '~n^libamdhip64-[0-9]+$'   # or ROCm's hip-runtime-amd");
      d.commands.push_back(
          "ls -d /opt/rocm*/lib/libamdhip64.so*   # where it may be; set WEIR_HIP_RUNTIME to its absolute path");
    }
  } else if (d.state == "driver_too_old") {
    d.commands.push_back(!variable(report, "WEIR_HIP_RUNTIME").empty() ? "unset WEIR_HIP_RUNTIME   # or update that runtime"
                                                                       : "see https://rocm.docs.amd.com for a newer ROCm");
  } else if (d.state == "no_device" || d.state == "driver_failed") {
    if (!hardware) {
      without_hardware(true, m, d);
    } else if (!m.kfd.exists && !m.container.empty()) {
      d.cause = "the container was started without /dev/kfd";
      d.commands.push_back(container_command(m, true));
    } else if (!m.kfd.exists) {
      d.cause = m.amdgpu_module
                    ? "amdgpu is loaded but has created no /dev/kfd: it does not support computing on this device"
                    : "AMD's kernel module amdgpu is not loaded";
      d.commands.push_back(m.amdgpu_module ? "sudo dmesg | grep -i -e kfd -e amdgpu" : "sudo modprobe amdgpu");
    } else if (!m.kfd.error.empty()) {
      blame(m.kfd, m, d);
    } else if (!blame_hiding({"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"},
                             m, d)) {
      d.commands = {"rocminfo", "sudo dmesg | grep -i -e kfd -e amdgpu"};
    }
  }
}

// --- Any backend ------------------------------------------------------------------------------------------------------

// Diagnoses slow kernels on the CPU: whether the compiler has a work-group pass.
void diagnose_kernels(const Json& report, const Json& backend, const Machine& m, Diagnosis& d) {
  const std::string compiler = text_of(backend.value("versions", Json::object()), "compiler");  // "VERSION, PATH[, PASS]"
  const std::string version = compiler.substr(0, compiler.find(", /"));
  const bool has_pass = compiler.find("/weir_workgroup-") != std::string::npos;
  d.found.push_back(fmt::format("kernels are compiled by {}{}", version, has_pass ? " and the work-group pass" : ""));
  if (version.find("clang") == std::string::npos) {
    d.found.push_back(
        "with this compiler, casts of floating-point numbers to integers do not saturate as on a GPU; with Clang they do");
  }
  if (has_pass && variable(report, "WEIR_HOST_TIER") != "fibers") return;
  d.found.push_back("threads that wait at a barrier run on fibers, up to 300 times slower than with the work-group pass");
  const auto releases = backend.value("plugin", Json::object()).value("workgroup", std::vector<int>());
  if (has_pass) {
    d.found.back() += ", which WEIR_HOST_TIER=fibers disables";
    d.commands.push_back("unset WEIR_HOST_TIER");
  } else if (releases.empty()) {
    d.found.back() += "; this Weir was built without one";
    d.commands.push_back(fmt::format("{}cmake -B build && cmake --build build   # builds Weir again, with LLVM's headers",
                                     m.is_debian ? "sudo apt install clang-19 llvm-19-dev && " : ""));
  } else {
    d.found.back() += fmt::format("; there are passes for Clang {}, but not for this compiler", fmt::join(releases, ", "));
    if (m.is_debian) d.commands.push_back(fmt::format("sudo apt install clang-{}", releases.front()));
    if (!variable(report, "WEIR_HOST_CXX").empty()) {
      d.commands.push_back(fmt::format("unset WEIR_HOST_CXX   # or set it to a Clang {}", releases.front()));
    }
  }
}

// Diagnoses a usable backend: causes why kernels do not compile, are slow, or behave differently from a GPU.
void diagnose_usable(const Json& report, const Json& backend, const Machine& m, Diagnosis& d) {
  const Json& device = backend["devices"][0];
  d.found.push_back(fmt::format("{} device{}, the first of them {}", backend["devices"].size(),
                                backend["devices"].size() == 1 ? "" : "s", text_of(device["properties"], "name")));
  const Json& compilation = device["features"]["runtime_compilation"];
  if (text_of(compilation, "support") == "absent") {
    d.found.push_back("kernels cannot be compiled: " + text_of(compilation, "reason"));
  } else if (d.backend == "host") {
    diagnose_kernels(report, backend, m, d);
  }
}

void diagnose_plugin(const Json& report, const Json& backend, Diagnosis& d) {
  const std::string folders = variable(report, "WEIR_PLUGIN_PATH");
  if (!folders.empty()) {
    d.found.push_back("WEIR_PLUGIN_PATH=" + folders + ", which is searched first");
    d.commands.push_back("unset WEIR_PLUGIN_PATH   # if this is not the intended plugin");
  }
  d.commands.push_back(
      fmt::format("weir info --backend {}   # shows how the plugin was built; rebuild it with the headers of {}",
                  text_of(backend, "name"), text_of(report, "library")));
}

}  // namespace

Diagnosis diagnose(const Json& report, const Json& backend, const Machine& machine) {
  Diagnosis d;
  d.backend = text_of(backend, "name");
  d.state = text_of(backend, "state");
  d.usable = d.state == "usable";
  // In these states parts of the backend are installed. In other states, the backend is expected only if WEIR_BACKEND
  // contains it alone.
  d.expected = d.usable || d.state == "plugin_incompatible" || d.state == "driver_too_old" || d.state == "driver_failed" ||
               d.state == "bad_variable" || variable(report, "WEIR_BACKEND") == d.backend;
  if (d.usable) {
    diagnose_usable(report, backend, machine, d);
    return d;
  }
  for (const Json& attempt : backend["attempts"]) d.searched.push_back(attempt_text(attempt));
  if (d.backend == "cuda") diagnose_cuda(report, backend, machine, d);
  if (d.backend == "hip") diagnose_hip(report, backend, machine, d);
  const std::string reason = text_of(backend, "reason");
  if (d.backend == "host" && d.state == "plugin_not_found") {
    d.commands.push_back("cmake -B build -DWEIR_BACKEND_HOST=ON && cmake --build build");
  } else if (d.state == "bad_variable") {
    if (const std::string name = variable_in(reason); !name.empty()) d.commands.push_back("unset " + name);
  } else if (d.state == "plugin_incompatible") {
    diagnose_plugin(report, backend, d);
  }
  d.cause = d.cause.empty() ? reason : d.cause;
  return d;
}

const Diagnosis* best(const std::vector<Diagnosis>& all, const Json& report) {
  std::vector<std::string> order;
  if (const std::string list = variable(report, "WEIR_BACKEND"); list.empty() || list == "auto") {
    for (const Diagnosis& d : all) order.push_back(d.backend);  // the order of WEIR_BACKEND=auto
  } else {
    std::istringstream names(list);
    for (std::string name; std::getline(names, name, ',');) order.push_back(name);
  }
  for (const std::string& name : order) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Diagnosis& d) { return d.backend == name && d.expected; });
    if (found != all.end()) return &*found;
  }
  return nullptr;
}

bool is_healthy(const std::vector<Diagnosis>& all, const Json& report) {
  const Diagnosis* const wanted = best(all, report);
  return wanted != nullptr && wanted->usable && report["default"].contains("device") && bad_variables(report).empty();
}

std::string format_diagnoses(const std::vector<Diagnosis>& all, const Json& report, const Machine& machine, int width,
                             bool colour) {
  constexpr int column = 12;
  std::string out;
  const auto field = [&](int indent, std::string_view label, const std::string& text) {
    append_field(out, indent, label, column, text, width);
  };
  const auto fields = [&](const char* label, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) field(2, std::exchange(label, ""), text);
  };
  // A command is one line, however long, so that it can be copied.
  const auto commands = [&](const std::vector<std::string>& texts) {
    const char* label = "try";
    for (const std::string& text : texts) append_field(out, 2, std::exchange(label, ""), column, text, 1 << 16);
  };
  field(0, "weir " + text_of(report, "version"), "");
  field(0, "machine",
        (machine.system.empty() ? "unknown system" : machine.system) +
            (machine.container.empty() ? "" : ", in a container (" + machine.container + ")"));
  const Diagnosis* const wanted = best(all, report);
  field(0, "best",
        wanted == nullptr ? "none of the backends in WEIR_BACKEND is usable here"
        : wanted->usable  ? wanted->backend + ", which is usable"
                          : wanted->backend + ", which should be usable here but is not");
  for (const Json& bad : report["bad_variables"]) {
    field(0, "variable", text_of(bad, "error"));
    commands({"unset " + text_of(bad, "name")});
  }
  for (const Json& unread : report["unknown_variables"]) {
    const std::string name = text_of(unread, "name"), nearest = text_of(unread, "nearest");
    field(0, "variable",
          fmt::format("no code reads {}{}", name, nearest.empty() ? "" : "; " + nearest + " is probably intended"));
    commands({nearest.empty() ? "unset " + name : fmt::format("export {}=\"${}\"; unset {}", nearest, name, name)});
  }
  for (const std::string& folder : machine.missing_folders) {
    field(0, "variable", fmt::format("WEIR_PLUGIN_PATH contains {}, which does not exist", folder));
  }
  if (report["default"].contains("error") && (wanted == nullptr || wanted->usable)) {
    field(0, "default", text_of(report["default"], "error"));
    if (wanted == nullptr) commands({"unset WEIR_BACKEND   # or set it to a usable backend"});
  }
  for (const Diagnosis& d : all) {
    std::string state = d.state;
    std::replace(state.begin(), state.end(), '_', ' ');
    out += '\n';
    append_state(out, d.backend, column, state, d.usable, colour);
    fields("searched", d.searched);
    fields("found", d.found);
    if (!d.cause.empty()) field(2, "cause", d.cause);
    commands(d.commands);
  }
  return out;
}

}  // namespace weir::tool
