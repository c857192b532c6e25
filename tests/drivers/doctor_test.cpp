// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/doctor.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/check_says.hpp"
#include "tests/unit/subprocess.hpp"

// Tests the diagnoses of `weir doctor`: for descriptions of machines, and for this machine with stand-ins for drivers and
// plugins.

using weir::test::Environment;
using weir::test::Outcome;
using weir::test::TemporaryFolder;
using weir::tool::Diagnosis;
using weir::tool::Json;
using weir::tool::Machine;
using weir::tool::Node;

namespace {

Json report_of(const std::string& name, const std::string& state, const std::string& reason = "a reason",
               const Json& environment = Json::object()) {
  Json backend = {
      {"name", name}, {"state", state}, {"reason", reason}, {"attempts", {{{"path", "lib"}, {"outcome", "tried"}}}}};
  return {{"version", "0"},
          {"library", "/lib/libweir.so"},
          {"environment", environment},
          {"default", {{"device", "x"}}},
          {"bad_variables", Json::array()},
          {"unknown_variables", Json::array()},
          {"backends", {backend}}};
}

Diagnosis diagnose(const Json& report, const Machine& machine) {
  return weir::tool::diagnose(report, report["backends"][0], machine);
}
Diagnosis cuda(const std::string& state, const Machine& machine, const std::string& reason = "a reason") {
  return diagnose(report_of("cuda", state, reason), machine);
}
Diagnosis hip(const std::string& state, const Machine& machine) { return diagnose(report_of("hip", state), machine); }

Node node(const std::string& path, const std::string& error = {}) {
  return {.path = path, .exists = true, .error = error, .group = "render", .group_may = true};
}
Node no_node(const std::string& path) { return {.path = path, .exists = false, .error = {}, .group = {}}; }

Machine with_nvidia() {
  Machine m;
  m.is_debian = true;
  m.nvidia_devices = {"0000:65:00.0"};
  m.nvidia_module = "535.129.03";
  m.nvidia_nodes = {node("/dev/nvidiactl"), node("/dev/nvidia-uvm"), node("/dev/nvidia0")};
  m.kfd = no_node("/dev/kfd");
  return m;
}
Machine with_amd() {
  Machine m;
  m.is_debian = true;
  m.amd_devices = {"0000:03:00.0"};
  m.amdgpu_module = true;
  m.kfd = node("/dev/kfd");
  return m;
}

bool any(const std::vector<std::string>& texts, std::string_view part) {
  for (const std::string& text : texts) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Outcome doctor(Environment environment) { return weir::test::run(WEIR_TEST_COMMAND, {"doctor"}, environment); }

}  // namespace

#define CHECK_BLAMES(diagnosis, words, command)                                                                            \
  do {                                                                                                                     \
    const Diagnosis d_ = diagnosis;                                                                                        \
    CHECK_MESSAGE(has(d_.cause, words), "the cause is: " << d_.cause);                                                     \
    CHECK_MESSAGE(any(d_.commands, command), "the first command is: " << (d_.commands.empty() ? "none" : d_.commands[0])); \
  } while (false)
// --- Descriptions of machines -----------------------------------------------------------------------------------------

TEST_CASE("doctor: CUDA without a driver library") {
  Machine m = with_nvidia();
  CHECK_BLAMES(cuda("driver_not_found", m), "its library libcuda.so.1 is missing", "libnvidia-compute-535");
  m.container = "docker";
  CHECK_BLAMES(cuda("driver_not_found", m), "container was started without", "docker run --gpus all");
  m.container = "podman";
  CHECK_BLAMES(cuda("driver_not_found", m), "container was started without", "podman run --device nvidia.com/gpu=all");
  m.container = "kubernetes";
  CHECK_BLAMES(cuda("driver_not_found", m), "container was started without", "nvidia.com/gpu: 1");
  m.container.clear();
  m.nvidia_module.clear();
  CHECK_BLAMES(cuda("driver_not_found", m), "driver is not installed", "sudo apt install nvidia-driver");
  CHECK(cuda("driver_not_found", m).expected);
  const Diagnosis nothing = cuda("driver_not_found", Machine());
  CHECK(has(nothing.cause, "nothing needs to be fixed"));
  CHECK(nothing.commands.empty());
  CHECK_FALSE(nothing.expected);
}

TEST_CASE("doctor: CUDA with a driver that shows no device") {
  Machine m = with_nvidia();
  CHECK_BLAMES(cuda("no_device", m), "a reason", "nvidia-smi");
  m.nvidia_nodes[1] = no_node("/dev/nvidia-uvm");
  CHECK_BLAMES(cuda("no_device", m), "/dev/nvidia-uvm is missing", "sudo nvidia-modprobe -c 0 -u");
  m.nvidia_nodes[0] = node("/dev/nvidiactl", "Permission denied");
  CHECK_BLAMES(cuda("no_device", m), "members of the group 'render' can", "sudo usermod -aG render");
  m.nvidia_nodes[0].group_may = false;
  CHECK_BLAMES(cuda("no_device", m), "/dev/nvidiactl cannot be opened: Permission denied", "ls -l /dev/nvidiactl");
  m.container = "docker";
  CHECK_BLAMES(cuda("no_device", m), "container was started without this device", "docker run --gpus all");
  m.hiding["CUDA_VISIBLE_DEVICES"] = "7";
  CHECK_BLAMES(cuda("no_device", m), "CUDA_VISIBLE_DEVICES='7' hides", "unset CUDA_VISIBLE_DEVICES");
  Machine without_module = with_nvidia();
  without_module.nvidia_module.clear();
  CHECK_BLAMES(cuda("no_device", without_module), "kernel module is not loaded", "sudo modprobe nvidia");
}

TEST_CASE("doctor: CUDA with a driver that does not start, or is too old") {
  const Machine m = with_nvidia();
  CHECK_BLAMES(cuda("driver_failed", m, "does not start (error 803): x"), "different versions", "sudo reboot");
  CHECK_BLAMES(cuda("driver_failed", m, "does not start (error 802): x"), "fabric manager",
               "systemctl start nvidia-fabricmanager");
  CHECK_BLAMES(cuda("driver_failed", m, "does not start (error 999): x"), "error 999", "nvidia-smi");
  CHECK_BLAMES(cuda("driver_too_old", m), "a reason", "sudo apt install nvidia-driver");
  CHECK(any(cuda("driver_too_old", m).found, "kernel module, version 535.129.03"));
  CHECK_BLAMES(cuda("plugin_not_found", m), "a reason", "-DWEIR_BACKEND_CUDA=ON");
}

TEST_CASE("doctor: HIP without /dev/kfd, or without the right to open it") {
  Machine m = with_amd();
  CHECK_BLAMES(hip("no_device", m), "a reason", "rocminfo");
  m.hiding["HIP_VISIBLE_DEVICES"] = "9";
  CHECK_BLAMES(hip("no_device", m), "HIP_VISIBLE_DEVICES='9'", "unset HIP_VISIBLE_DEVICES");
  m.kfd.error = "Permission denied";
  CHECK_BLAMES(hip("no_device", m), "members of the group 'render' can", "sudo usermod -aG render \"$USER\"");
  m.kfd = no_node("/dev/kfd");
  CHECK_BLAMES(hip("no_device", m), "does not support computing on this device", "dmesg");
  m.amdgpu_module = false;
  CHECK_BLAMES(hip("no_device", m), "amdgpu is not loaded", "sudo modprobe amdgpu");
  m.container = "docker";
  CHECK_BLAMES(hip("no_device", m), "started without /dev/kfd", "--device /dev/kfd --device /dev/dri");
  CHECK_BLAMES(hip("driver_not_found", with_amd()), "libamdhip64 is not installed", "sudo apt install");
  CHECK(has(hip("no_device", Machine()).cause, "nothing needs to be fixed"));
  Machine empty_container;
  empty_container.container = "docker";
  CHECK_BLAMES(hip("no_device", empty_container), "if the machine has one", "--device /dev/kfd");
}

TEST_CASE("doctor: the best backend is the first that the machine seems meant to have") {
  const auto best_of = [](const std::string& cuda_state, const Machine& machine, const std::string& choice) {
    Json report =
        report_of("cuda", cuda_state, "a reason", choice.empty() ? Json::object() : Json{{"WEIR_BACKEND", choice}});
    Json host = report["backends"][0];
    host["name"] = "host";
    host["state"] = "usable";
    host["devices"] = {
        {{"properties", {{"name", "a CPU"}}}, {"features", {{"runtime_compilation", {{"support", "native"}}}}}}};
    report["backends"].push_back(host);
    std::vector<Diagnosis> all;
    for (const Json& backend : report["backends"]) all.push_back(weir::tool::diagnose(report, backend, machine));
    const Diagnosis* const best = weir::tool::best(all, report);
    return (best != nullptr ? best->backend : "none") + (weir::tool::is_healthy(all, report) ? " healthy" : " ill");
  };
  CHECK(best_of("driver_not_found", Machine(), "") == "host healthy");
  CHECK(best_of("no_device", Machine(), "auto") == "host healthy");
  CHECK(best_of("driver_not_found", with_nvidia(), "") == "cuda ill");
  CHECK(best_of("driver_too_old", Machine(), "") == "cuda ill");
  CHECK(best_of("driver_not_found", with_nvidia(), "host") == "host healthy");
  CHECK(best_of("driver_not_found", with_nvidia(), "host,cuda") == "host healthy");
  CHECK(best_of("driver_not_found", Machine(), "cuda") == "cuda ill");
  CHECK(best_of("driver_not_found", Machine(), "cuda,host") == "host healthy");
}

TEST_CASE("doctor: what a machine shows is read from its files") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& path, const std::string& text) {
    const std::string file = folder.path() + path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text << '\n';
  };
  const auto pci = [&](const std::string& address, const std::string& vendor, const std::string& kind) {
    write("/sys/bus/pci/devices/" + address + "/vendor", vendor);
    write("/sys/bus/pci/devices/" + address + "/class", kind);
  };
  const Machine empty = weir::tool::look_at_machine(folder.path());
  CHECK(empty.nvidia_devices.empty());
  CHECK(empty.nvidia_module.empty());
  CHECK_FALSE(empty.kfd.exists);
  CHECK_FALSE(empty.nvidia_nodes[0].exists);

  pci("0000:65:00.0", "0x10de", "0x030200");
  pci("0000:65:00.1", "0x10de", "0x040300");  // its sound
  pci("0000:03:00.0", "0x1002", "0x120000");
  write("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19");
  write("/etc/os-release", "PRETTY_NAME=\"Ubuntu 24.04\"\nID=ubuntu\nID_LIKE=debian");
  write("/sys/module/amdgpu/refcnt", "0");
  write("/run/.containerenv", "");
  for (const char* const name : {"nvidiactl", "nvidia0", "nvidia11", "nvidia-caps", "kfd"})
    write(std::string("/dev/") + name, "");
  const Machine m = weir::tool::look_at_machine(folder.path());
  CHECK(m.nvidia_devices == std::vector<std::string>{"0000:65:00.0"});
  CHECK(m.amd_devices == std::vector<std::string>{"0000:03:00.0"});
  CHECK(m.nvidia_module == "535.129.03");
  CHECK(m.system == "Ubuntu 24.04");
  CHECK(m.is_debian);
  CHECK(m.amdgpu_module);
  CHECK_FALSE(m.container.empty());
  CHECK(m.kfd.exists);
  CHECK(m.kfd.error.empty());
  REQUIRE(m.nvidia_nodes.size() == 4);
  CHECK_FALSE(m.nvidia_nodes[1].exists);  // /dev/nvidia-uvm
  CHECK(m.nvidia_nodes[3].path == "/dev/nvidia11");
}

// --- This machine -----------------------------------------------------------------------------------------------------

TEST_CASE("doctor: a plugin that is none, with the variable that puts it first") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/libweir_cuda.so") << std::string(200, 'x');
  const Outcome o = doctor({{"WEIR_PLUGIN_PATH", folder.path()}});
  CHECK(o.status == 1);
  CHECK_SAYS(o, "best        cuda, which should be usable here but is not");
  CHECK_SAYS(o, "cuda        plugin incompatible");
  CHECK_SAYS(o, "WEIR_PLUGIN_PATH=" + folder.path());
  CHECK_SAYS(o, "try       unset WEIR_PLUGIN_PATH");
}

TEST_CASE("doctor: mistyped variables") {
  const Outcome unread = doctor({{"WEIR_BAKCEND", "host"}});
  CHECK_SAYS(unread, "no code reads WEIR_BAKCEND; WEIR_BACKEND is probably intended");
  CHECK_SAYS(unread, "try       export WEIR_BACKEND=\"$WEIR_BAKCEND\"; unset WEIR_BAKCEND");
  const Outcome relative = doctor({{"WEIR_CACHE_DIR", "cache"}});
  CHECK(relative.status == 1);
  CHECK_SAYS(relative, "variable    reading WEIR_CACHE_DIR='cache': it is not an absolute path");
  CHECK_SAYS(relative, "try       unset WEIR_CACHE_DIR");
  CHECK(doctor({{"WEIR_BACKEND", "cuda,,host"}}).status == 2);
  const Outcome folder = doctor({{"WEIR_PLUGIN_PATH", std::string(WEIR_TEST_PLUGINS) + ":/nonexistent"}});
  CHECK_SAYS(folder, "variable    WEIR_PLUGIN_PATH contains /nonexistent, which does not exist");
  const Outcome unknown = doctor({{"WEIR_BACKEND", "hots"}});
  CHECK(unknown.status == 1);
  CHECK_SAYS(unknown, "best        none of the backends in WEIR_BACKEND is usable here");
  CHECK_SAYS(unknown, "'host'?)");  // the line may break within the words before it
  CHECK_SAYS(unknown, "try       unset WEIR_BACKEND");
#if WEIR_TEST_HAS_HOST
  const Outcome number = doctor({{"WEIR_HOST_THREADS", "0"}, {"WEIR_BACKEND", "host"}});
  CHECK(number.status == 1);
  CHECK_SAYS(number, "host        bad variable");
  CHECK_SAYS(number, "try       unset WEIR_HOST_THREADS");
  const Outcome healthy = doctor({{"WEIR_BACKEND", "host"}});
  CHECK(healthy.status == 0);
  CHECK_SAYS(healthy, "best        host, which is usable");
#endif
}

// --- Kernels on the CPU -------------------------------------------------------------------------------------------------

namespace {

// Of a host backend with that compiler, and passes for those releases of Clang.
Diagnosis host_with(const std::string& compiler, const std::vector<int>& releases, const Json& environment = Json::object(),
                    const std::string& compilation = "native") {
  Json report = report_of("host", "usable", "", environment);
  Json& host = report["backends"][0];
  host["versions"] = {{"compiler", compiler}};
  host["plugin"] = {{"workgroup", releases}};
  host["devices"] = {{{"properties", {{"name", "a CPU"}}},
                      {"features", {{"runtime_compilation", {{"support", compilation}, {"reason", "no compiler"}}}}}}};
  Machine debian;
  debian.is_debian = true;
  return diagnose(report, debian);
}
const std::string gcc = "c++ (Debian 12.2.0-14+deb12u1) 12.2.0", clang = "Debian clang version 19.1.7 (3~deb12u1)";
const std::string gcc_there = gcc + ", /usr/bin/c++", clang_there = clang + ", /usr/bin/clang++-19";

}  // namespace

TEST_CASE("doctor: casts that do not saturate in kernels on the CPU are named where GCC compiles these") {
  const std::string says = "do not saturate";
  CHECK(any(host_with(gcc_there, {}).found, "compiled by " + gcc));
  CHECK(any(host_with(gcc_there, {}).found, says));
  CHECK_FALSE(any(host_with("Debian clang version 14.0.6, /usr/bin/c++", {}).found, says));
  CHECK_FALSE(any(host_with("there is no compiler", {}, {}, "absent").found, says));
}

TEST_CASE("doctor: whether kernels on the CPU have the work-group pass; what its lack costs, and what to install") {
  const std::string says = "run on fibers, up to 300 times slower";
  const Diagnosis good = host_with(clang_there + ", /usr/lib/weir-0.1/weir_workgroup-19.so", {19});
  CHECK(any(good.found, "compiled by " + clang + " and the work-group pass"));
  CHECK_FALSE(any(good.found, says));
  CHECK(good.commands.empty());

  const Diagnosis absent = host_with(gcc_there, {19, 16});
  CHECK(any(absent.found, says));
  CHECK(any(absent.found, "passes for Clang 19, 16, but not for this compiler"));
  REQUIRE(absent.commands.size() == 1);
  CHECK(absent.commands[0] == "sudo apt install clang-19");

  const Diagnosis other = host_with(clang_there, {16}, {{"WEIR_HOST_CXX", "/usr/bin/clang++-19"}});
  CHECK(any(other.found, says));
  CHECK(any(other.commands, "apt install clang-16"));
  CHECK(any(other.commands, "unset WEIR_HOST_CXX"));

  const Diagnosis unbuilt = host_with(clang_there, {});
  CHECK(any(unbuilt.found, says));
  CHECK(any(unbuilt.found, "this Weir was built without one"));
  CHECK(any(unbuilt.commands, "llvm-19-dev"));

  const Diagnosis off = host_with(clang_there + ", /usr/lib/weir_workgroup-19.so", {19}, {{"WEIR_HOST_TIER", "fibers"}});
  CHECK(any(off.found, says));
  CHECK(any(off.commands, "unset WEIR_HOST_TIER"));
}

TEST_CASE("doctor: what is usable on this very machine, with its first device: a GPU where there is one") {
  const Json report = Json::parse(weir::test::run(WEIR_TEST_COMMAND, {"info", "--json"}).output);
  const Outcome o = doctor({});
  int usable = 0;
  for (const Json& backend : report["backends"]) {
    if (backend["state"] != "usable") continue;
    const auto name = backend["name"].get<std::string>();
    CHECK_SAYS(o, "\n" + name + std::string(12 - name.size(), ' ') + "usable\n");
    CHECK_SAYS(o, ", the first of them " + backend["devices"][0]["properties"]["name"].get<std::string>());
    if (usable++ == 0 && o.status == 0) CHECK_SAYS(o, "best        " + name + ", which is usable");
  }
  CHECK((o.status == 0 || o.status == 1));
  CHECK((usable > 0 || o.status == 1));
}

#ifdef WEIR_TEST_FAKE_CUDA
TEST_CASE("doctor: no driver, where a variable names it") {
  const Outcome o = doctor({{"WEIR_CUDA_DRIVER", "/nonexistent/libcuda.so.1"}, {"WEIR_BACKEND", "cuda"}});
  CHECK(o.status == 1);
  CHECK_SAYS(o, "cuda        driver not found");
  CHECK_SAYS(o, "/nonexistent/libcuda.so.1: cannot open shared object file");
  CHECK_SAYS(o, "cause     WEIR_CUDA_DRIVER is set to a file that cannot be opened");
  CHECK_SAYS(o, "try       unset WEIR_CUDA_DRIVER");
}

TEST_CASE("doctor: a driver without a device") {
  const Outcome o = doctor({{"WEIR_CUDA_DRIVER", WEIR_TEST_FAKE_CUDA},
                            {"WEIR_TEST_DRIVER", "devices=0"},
                            {"CUDA_VISIBLE_DEVICES", ""},
                            {"WEIR_BACKEND", "cuda"}});
  CHECK(o.status == 1);
  CHECK_SAYS(o, "cuda        no device");
  CHECK_SAYS(o, "cause     CUDA_VISIBLE_DEVICES='' hides the devices");
  CHECK_SAYS(o, "try       unset CUDA_VISIBLE_DEVICES");
}

TEST_CASE("doctor: a driver that is too old") {
  const Outcome o = doctor({{"WEIR_CUDA_DRIVER", WEIR_TEST_OLD_CUDA}, {"WEIR_TEST_DRIVER", "version=11080"}});
  CHECK(o.status == 1);
  CHECK_SAYS(o, "best        cuda, which should be usable here but is not");
  CHECK_SAYS(o, "cuda        driver too old");
  CHECK_SAYS(o, "the driver is for CUDA 11.8");
  CHECK_SAYS(o, "try       unset WEIR_CUDA_DRIVER");
}

TEST_CASE("doctor: a driver that works, and what it lacks all the same") {
  const Outcome o = doctor({{"WEIR_CUDA_DRIVER", WEIR_TEST_FAKE_CUDA}, {"WEIR_NVRTC", "/nonexistent/libnvrtc.so"}});
  CHECK(o.status == 0);
  CHECK_SAYS(o, "best        cuda, which is usable");
  CHECK_SAYS(o, "found     1 device, the first of them Stand-in");
  CHECK_SAYS(o, "kernels cannot be compiled: no NVRTC");
}
#endif

#if defined(WEIR_TEST_FAKE_CUDA) && defined(WEIR_TEST_FAKE_HIP)
TEST_CASE("info: a variable of a vendor's backend that does not parse is no driver's failure") {
  const std::pair<std::string, Environment> cases[] = {
      {"cuda", {{"WEIR_CUDA_DRIVER", "libcuda.so"}}},
      {"hip", {{"WEIR_ENABLE_FEATURES", "yes"}, {"WEIR_HIP_RUNTIME", WEIR_TEST_FAKE_HIP}}},
      {"hip", {{"WEIR_ENABLE_FEATURES", "yes"}, {"WEIR_HIP_RUNTIME", "/nonexistent/libamdhip64.so.7"}}},
  };
  for (const auto& [backend, environment] : cases) {
    const Outcome o = weir::test::run(WEIR_TEST_COMMAND, {"info"}, environment);
    INFO(o.output, o.errors);
    CHECK(o.status == 2);
    CHECK(o.says("\n" + backend + std::string(12 - backend.size(), ' ') + "bad variable\n"));
    CHECK(o.complains("weir: bad variable: reading " + environment.begin()->first));
  }
}
#endif

#ifdef WEIR_TEST_FAKE_HIP
TEST_CASE("doctor: a HIP runtime on a machine without /dev/kfd") {
  const Outcome o =
      doctor({{"WEIR_HIP_RUNTIME", WEIR_TEST_FAKE_HIP}, {"WEIR_TEST_DRIVER", "devices=0"}, {"WEIR_BACKEND", "hip"}});
  CHECK(o.status == 1);
  CHECK_SAYS(o, "hip         no device");
  CHECK_SAYS(o, std::string(WEIR_TEST_FAKE_HIP) + ": opened");
  if (::access("/dev/kfd", F_OK) != 0) CHECK_SAYS(o, "/dev/kfd is missing");
}
#endif
