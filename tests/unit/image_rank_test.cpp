// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "backends/cuda/images.hpp"
#include "backends/hip/images.hpp"

// Tests which of several images a device loads. The devices are simulated.

namespace {

template <class Device>
std::string best(const std::vector<std::string>& images, const Device& device, int (*rank)(std::string_view, Device)) {
  std::string chosen;
  int highest = 0;
  for (const std::string& image : images) {
    if (const int mine = rank(image, device); mine > highest) {
      highest = mine;
      chosen = image;
    }
  }
  return chosen;
}

std::string for_cuda(const std::vector<std::string>& images, int device) {
  return best<int>(images, device, weir::cuda::rank_image);
}
std::string for_hip(const std::vector<std::string>& images, std::string_view device) {
  return best<std::string_view>(images, device, weir::hip::rank_image);
}

}  // namespace

TEST_CASE(
    "images: NVIDIA's devices take the nearest machine code of their major number, else the newest PTX that is not too "
    "new") {
  const std::vector<std::string> images = {"sm_70", "sm_80", "sm_86", "sm_90", "compute_70", "compute_90"};
  CHECK(for_cuda(images, 60) == "");
  CHECK(for_cuda(images, 70) == "sm_70");
  CHECK(for_cuda(images, 75) == "sm_70");
  CHECK(for_cuda(images, 80) == "sm_80");
  CHECK(for_cuda(images, 86) == "sm_86");
  CHECK(for_cuda(images, 89) == "sm_86");
  CHECK(for_cuda(images, 90) == "sm_90");
  CHECK(for_cuda(images, 100) == "compute_90");
  CHECK(for_cuda(images, 121) == "compute_90");
  CHECK(for_cuda({"sm_86", "compute_80"}, 80) == "compute_80");
  CHECK(for_cuda({"sm_90", "compute_90"}, 89) == "");
}

TEST_CASE("images: NVIDIA's features of one architecture run there alone, those of a family in the family") {
  CHECK(for_cuda({"sm_90", "sm_90a", "compute_90a"}, 90) == "sm_90a");
  CHECK(for_cuda({"sm_90a", "compute_90a"}, 100) == "");
  CHECK(for_cuda({"sm_100f", "sm_100", "compute_100f"}, 103) == "sm_100f");
  CHECK(for_cuda({"sm_100f", "compute_100f"}, 120) == "");
  CHECK(for_cuda({"sm_103f"}, 100) == "");
  CHECK(for_cuda({"compute_100f", "compute_90"}, 103) == "compute_100f");
}

TEST_CASE("images: words that are no architecture of NVIDIA's fit nothing") {
  for (const char* const word :
       {"", "sm_", "sm_9", "sm_90b", "sm_90aa", "sm_x", "compute_", "gfx90a", "90", "sm_-90", "sm_99999999999"}) {
    CAPTURE(word);
    CHECK(weir::cuda::rank_image(word, 90) == 0);
  }
}

TEST_CASE("images: AMD's devices take code for their features before code for any, and generic code last") {
  const std::vector<std::string> images = {"gfx9-4-generic", "gfx90a", "gfx90a:xnack-", "gfx90a:sramecc+:xnack-",
                                           "gfx90a:xnack+"};
  CHECK(for_hip(images, "gfx90a:sramecc+:xnack-") == "gfx90a:sramecc+:xnack-");
  CHECK(for_hip(images, "gfx90a:sramecc-:xnack-") == "gfx90a:xnack-");
  CHECK(for_hip(images, "gfx90a:sramecc+:xnack+") == "gfx90a:xnack+");
  CHECK(for_hip({"gfx90a:xnack-"}, "gfx90a:sramecc+:xnack+") == "");
  CHECK(for_hip({"gfx90a:xnack-"}, "gfx90a") == "");
  CHECK(for_hip(images, "gfx942:sramecc+:xnack-") == "gfx9-4-generic");
  CHECK(for_hip({"gfx942", "gfx9-4-generic"}, "gfx942:sramecc+:xnack-") == "gfx942");
  CHECK(for_hip({"gfx11-generic"}, "gfx1151") == "gfx11-generic");
  CHECK(for_hip({"gfx11-generic"}, "gfx1200") == "");
  CHECK(for_hip({"gfx10-3-generic", "gfx1030"}, "gfx1036") == "gfx10-3-generic");
  CHECK(for_hip({"gfx90", "gfx90a:", "gfx90a:x", ""}, "gfx90a:xnack-") == "");
}
