// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

/// Collects facts about the machine's devices and drivers without using Weir's backends.
namespace weir::tool {

/// A device file through which a process reaches a kernel driver.
struct Node {
  std::string path;
  bool exists = false;
  std::string error;       ///< why this process cannot open the file, or empty
  std::string group;       ///< the name of the file's group, or its number
  bool group_may = false;  ///< whether the group may read and write
};

struct Machine {
  std::string system;                       ///< "Debian GNU/Linux 12 (bookworm)", or empty
  bool is_debian = false;                   ///< Debian or a derived system, which has apt
  std::string container;                    ///< "docker", "podman", "kubernetes" or "container"; empty outside of one
  std::vector<std::string> nvidia_devices;  ///< PCI addresses of NVIDIA's display controllers and accelerators
  std::vector<std::string> amd_devices;
  std::string nvidia_module;  ///< version of NVIDIA's kernel module, "?" if unknown; empty if not loaded
  bool amdgpu_module = false;
  std::vector<Node> nvidia_nodes;             ///< /dev/nvidiactl, /dev/nvidia-uvm, and /dev/nvidia0 and so on
  Node kfd;                                   ///< /dev/kfd
  std::map<std::string, std::string> hiding;  ///< the vendors' variables that are set and may hide devices
  std::vector<std::string> missing_folders;   ///< folders in WEIR_PLUGIN_PATH that do not exist
};

/// Inspects this machine. `root`: a folder that tests use in place of /
Machine look_at_machine(const std::string& root = "");

}  // namespace weir::tool
