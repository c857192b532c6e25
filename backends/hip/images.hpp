// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

/// Decides which code objects a device can run.
namespace weir::hip {

/// One of LLVM's generic targets, with its architectures. From ROCm 6.3 on, code for the target runs on all of them.
struct GenericTarget {
  std::string_view name;
  std::array<std::string_view, 8> members;
};
inline constexpr GenericTarget generic_targets[] = {
    {"gfx9-generic", {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}},
    {"gfx9-4-generic", {"gfx940", "gfx941", "gfx942", "gfx950"}},
    {"gfx10-1-generic", {"gfx1010", "gfx1011", "gfx1012", "gfx1013"}},
    {"gfx10-3-generic", {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"}},
    {"gfx11-generic", {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}},
    {"gfx12-generic", {"gfx1200", "gfx1201"}},
};

/// Rates how well a code object for `image` ("gfx90a", "gfx90a:xnack-", "gfx11-generic") suits a device named `device`
/// ("gfx90a:sramecc+:xnack-"). Returns 0 if the code cannot run there; otherwise higher is better. A feature that the image
/// names must be the same on the device; a feature that it does not name may be on or off. Images that name more features
/// rank higher; generic code ranks lowest.
inline int rank_image(std::string_view image, std::string_view device) {
  const auto base_of = [](std::string_view name) { return name.substr(0, name.find(':')); };
  const std::string_view base = base_of(image), wanted = base_of(device);
  int rank = base == wanted ? 100 : 0;
  for (const GenericTarget& target : generic_targets) {
    const auto& members = target.members;
    if (target.name == base && std::find(members.begin(), members.end(), wanted) != members.end()) rank = 1;
  }
  for (std::string_view rest = image.substr(base.size()); rank != 0 && !rest.empty();) {
    const std::string_view feature = rest.substr(0, rest.find(':', 1));  // such as ":xnack-"
    rest.remove_prefix(feature.size());
    const std::size_t at = device.find(feature);
    const bool whole = at != device.npos && (at + feature.size() == device.size() || device[at + feature.size()] == ':');
    rank = whole && feature.size() > 2 ? rank + 1 : 0;
  }
  return rank;
}

}  // namespace weir::hip
