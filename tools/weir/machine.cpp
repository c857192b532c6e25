// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace weir::tool {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// Returns the file's first line without the line break.
std::string line_of(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// Returns the value in a file's line KEY=value or KEY="value".
std::string value_of(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key + "=")) continue;
    std::string value = line.substr(key.size() + 1);
    std::erase(value, '"');
    return value;
  }
  return {};
}

std::string container_of(const std::string& root) {
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "kubernetes";
  if (exists(root + "/run/.containerenv")) return "podman";
  if (exists(root + "/.dockerenv")) return "docker";
  return std::getenv("container") != nullptr ? "container" : "";
}

// Returns the version in "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  …": the first word that begins with
// a digit and has a dot.
std::string nvidia_module_of(const std::string& root) {
  const std::string path = root + "/proc/driver/nvidia/version";
  if (!exists(path)) return {};
  std::istringstream words(line_of(path));
  for (std::string word; words >> word;) {
    if (word[0] >= '0' && word[0] <= '9' && word.find('.') != std::string::npos) return word;
  }
  return "?";
}

std::vector<std::string> pci_devices(const std::string& root, const std::string& vendor) {
  std::vector<std::string> addresses;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(root + "/sys/bus/pci/devices", none)) {
    const std::string path = entry.path().string();
    const std::string kind = line_of(path + "/class");
    const bool computes = kind.starts_with("0x03") || kind.starts_with("0x12");  // display controllers, accelerators
    if (computes && line_of(path + "/vendor") == vendor) addresses.push_back(entry.path().filename().string());
  }
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

Node node_at(const std::string& root, const std::string& path) {
  Node node{.path = path, .exists = false, .error = {}, .group = {}};
  struct stat status {};
  if (::stat((root + path).c_str(), &status) != 0) return node;
  node.exists = true;
  node.group_may = (status.st_mode & 0060U) == 0060U;
  const group* const entry = ::getgrgid(status.st_gid);
  node.group = entry != nullptr ? entry->gr_name : std::to_string(status.st_gid);
  // The file's mode is not enough, because a container may forbid access. So try to open the file.
  const int file = ::open((root + path).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    node.error = std::strerror(errno);
  } else {
    ::close(file);
  }
  return node;
}

std::vector<Node> nvidia_nodes(const std::string& root) {
  std::vector<Node> nodes = {node_at(root, "/dev/nvidiactl"), node_at(root, "/dev/nvidia-uvm")};
  std::vector<std::string> names;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(root + "/dev", none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("nvidia") && name.size() > 6 && name.find_first_not_of("0123456789", 6) == std::string::npos) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) nodes.push_back(node_at(root, "/dev/" + name));
  if (names.empty()) nodes.push_back(node_at(root, "/dev/nvidia0"));
  return nodes;
}

}  // namespace

Machine look_at_machine(const std::string& root) {
  Machine m;
  const std::string release = root + "/etc/os-release";
  m.system = value_of(release, "PRETTY_NAME");
  const std::string family = value_of(release, "ID") + " " + value_of(release, "ID_LIKE");
  m.is_debian = family.find("debian") != std::string::npos || family.find("ubuntu") != std::string::npos;
  m.container = container_of(root);
  m.nvidia_devices = pci_devices(root, "0x10de");
  m.amd_devices = pci_devices(root, "0x1002");
  m.nvidia_module = nvidia_module_of(root);
  m.amdgpu_module = exists(root + "/sys/module/amdgpu");
  m.nvidia_nodes = nvidia_nodes(root);
  m.kfd = node_at(root, "/dev/kfd");
  for (const char* const name : {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                 "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}) {
    if (const char* const value = std::getenv(name)) m.hiding[name] = value;
  }
  const char* const folders = std::getenv("WEIR_PLUGIN_PATH");
  std::istringstream list(folders != nullptr ? folders : "");
  for (std::string folder; std::getline(list, folder, ':');) {
    std::error_code unknown;  // ignored: such a folder counts as missing
    if (!std::filesystem::is_directory(root + folder, unknown)) m.missing_folders.push_back(folder);
  }
  return m;
}

}  // namespace weir::tool
