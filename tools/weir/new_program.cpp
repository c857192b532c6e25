// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "commands.hpp"
#include "weir/version.hpp"

namespace weir::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view main_text = R"(#include <cstdio>
#include <exception>
#include <vector>
#include <weir/weir.hpp>

int main() try {
  weir::Device& device = weir::default_device();  // WEIR_BACKEND=host and the like choose another
  const auto square = device.load(weir_kernels(square))->kernel<void(int, float*)>("square");

  const int n = 1000;
  const auto stream = device.create_stream();
  const auto x = device.allocate<float>(n);
  stream->fill(x, 3.0F);
  stream->launch(square, weir::grid_for(n), n, x);
  const std::vector<float> result = stream->read(x);

  std::printf("3 squared is %g on %s\n", result.front(), device.properties().name.c_str());
  return result == std::vector<float>(n, 9.0F) ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
)";

constexpr std::string_view kernel_text = R"(extern "C" __global__ void square(int n, float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * x[i];
}
)";

// {0}: the name; {1}: the version of Weir.
constexpr std::string_view cmake_text = R"(cmake_minimum_required(VERSION 3.25)
project({0} CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(weir {1} REQUIRED)
add_executable({0} main.cpp)
target_link_libraries({0} PRIVATE weir::weir)
# HOST is the CPU. With NVIDIA 80 90 or AMD gfx90a behind it, GPUs' code is made here, too; without, when the program runs.
weir_add_kernels({0} SOURCES square.cu HOST)
)";

void check_name(const std::string& name) {
  constexpr const char* letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const std::string others = std::string(letters) + "0123456789_-.+";
  if (name.empty() || name.find_first_of(letters) != 0 || name.find_first_not_of(others) != name.npos) {
    throw std::runtime_error(fmt::format(
        "'{}' is not a valid name of a program: begin with a letter, and continue with letters, digits, _ and -", name));
  }
}

/// Returns the CMake option that makes find_package find this Weir; empty if no option is needed.
std::string prefix() {
  std::error_code none;
  const fs::path above = fs::read_symlink("/proc/self/exe", none).parent_path().parent_path();
  const bool is_installed = fs::exists(above / "include/weir/weir.hpp", none);
  if (!is_installed) return " -DCMAKE_PREFIX_PATH=/where/weir/is/installed";
  return above == "/usr" || above == "/usr/local" ? "" : " -DCMAKE_PREFIX_PATH=" + above.string();
}

/// Returns the option for Ninja if Ninja is installed. Without it CMake uses Make, which may be missing on a machine that
/// has built Weir.
std::string generator() {
  const char* const variable = std::getenv("PATH");
  std::istringstream folders(variable != nullptr ? variable : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/ninja").c_str(), X_OK) == 0) return " -G Ninja";
  }
  return "";
}

}  // namespace

std::string make_program(const std::string& folder) {
  fs::path path = fs::path(folder).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();  // `folder` ends with a slash
  fs::path whole = fs::absolute(path).lexically_normal();
  if (whole.filename().empty()) whole = whole.parent_path();  // `folder` is "."
  const std::string name = whole.filename().string();
  check_name(name);
  std::error_code error;
  if (fs::exists(path, error) && !(fs::is_directory(path, error) && fs::is_empty(path, error) && !error)) {
    throw std::runtime_error(fmt::format("{} already exists and is not an empty folder", path.string()));
  }
  fs::create_directories(path, error);
  if (error) throw std::runtime_error(fmt::format("{} cannot be created: {}", path.string(), error.message()));
  write_text(path / "main.cpp", main_text);
  write_text(path / "square.cu", kernel_text);
  const std::string_view version = weir::version();
  const std::string text = fmt::format(cmake_text, name, version.substr(0, version.rfind('.')));
  write_text(path / "CMakeLists.txt", text);
  return fmt::format(
      "{0}: main.cpp, square.cu, CMakeLists.txt\n"
      "  cmake -S {0} -B {0}/build{1}{3}\n"
      "  cmake --build {0}/build\n"
      "  {0}/build/{2}\n",
      path.string(), generator(), name, prefix());
}

}  // namespace weir::tool
