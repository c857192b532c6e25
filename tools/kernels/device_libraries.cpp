// SPDX-License-Identifier: Apache-2.0
#include "device_libraries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <stdexcept>
#include <vector>

#include "core/base/program_search.hpp"

namespace weir::kernel_tool {
namespace {

namespace fs = std::filesystem;

std::string from_environment(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

fs::path first_there(const std::vector<std::string>& places, const char* what, const char* remedy) {
  const auto place = std::find_if(places.begin(), places.end(), [](const std::string& p) { return fs::exists(p); });
  if (place != places.end()) return *place;
  throw std::runtime_error(
      fmt::format("the kernels use functions of <math.h> from {}, which was not found on this machine; {}", what, remedy));
}

}  // namespace

fs::path libdevice() {
  const std::string file = "/nvvm/libdevice/libdevice.10.bc";
  const std::vector<std::string> places = {from_environment("CUDA_HOME") + file, from_environment("CUDA_PATH") + file,
                                           "/usr/local/cuda" + file,
                                           "/usr/lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc"};
  return first_there(places, "CUDA's libdevice.10.bc", "install the CUDA Toolkit, or set CUDA_HOME to its folder");
}

fs::path ptxas() {
  const std::string program = "/bin/ptxas";
  for (const fs::path& place : {fs::path(detail::find_program("ptxas")), fs::path(from_environment("CUDA_HOME") + program),
                                fs::path(from_environment("CUDA_PATH") + program), fs::path("/usr/local/cuda" + program)}) {
    if (!place.empty() && fs::exists(place)) return place;
  }
  return {};
}

fs::path rocm_device_libraries(const std::string& architecture) {
  const std::string folder = "/amdgcn/bitcode";
  std::vector<std::string> places = {from_environment("ROCM_PATH") + folder, "/opt/rocm" + folder};
  for (const char* const triple : {"x86_64-linux-gnu", "aarch64-linux-gnu"})
    places.push_back(fmt::format("/usr/lib/{}{}", triple, folder));
  const fs::path found = first_there(places, "ROCm's device libraries",
                                     "install them (Debian: rocm-device-libs), or set ROCM_PATH to ROCm's folder");
  const std::string number = architecture.substr(3, architecture.find(':') - 3);
  if (!fs::exists(found / fmt::format("oclc_isa_version_{}.bc", number))) {
    throw std::runtime_error(
        fmt::format("the kernels use functions of <math.h> from ROCm's device libraries, but those in {} do not support "
                    "{}; set ROCM_PATH to the folder of a newer ROCm",
                    found.string(), architecture));
  }
  return found;
}

std::set<std::string> undefined_in_ptx(const std::string& ptx) {
  static const std::regex declared(R"(\.extern \.(?:func\s+(?:\([^)]*\)\s*)?|(?:global|const)\s[^;\[]*?)([\w$]+)\s*[(\[;])");
  std::set<std::string> names;
  for (std::sregex_iterator at(ptx.begin(), ptx.end(), declared), end; at != end; ++at) names.insert((*at)[1]);
  for (const char* const of_driver : {"vprintf", "malloc", "free", "__assertfail"}) names.erase(of_driver);
  return names;
}

}  // namespace weir::kernel_tool
