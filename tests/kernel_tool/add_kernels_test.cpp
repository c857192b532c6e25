// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <regex>

#include "files.hpp"

// Tests how the CMake function weir_add_kernels checks its arguments.

using weir::test::Files;

namespace {

/// The messages of CMake for a project that makes one call with these arguments, as one line.
std::string configured(const Files& files, const std::string& arguments) {
  files.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(test NONE)\ninclude(\"" WEIR_TEST_FUNCTION
                                "\")\nset(WEIR_KERNEL_TOOL weir-kernels)\nset(WEIR_KERNEL_CLANG "
                                "clang++)\nadd_library(solver INTERFACE)\nadd_custom_command(OUTPUT made.cu COMMAND "
                                "true)\nweir_add_kernels(solver " +
                                    arguments + ")\n");
  const std::string folder = files.folder().string();
  const auto outcome = weir::test::run(WEIR_TEST_CMAKE, {"-G", "Ninja", "-S", folder, "-B", folder + "/build"});
  if (outcome.status == 0) return "";
  CHECK(outcome.complains("CMakeLists.txt:8 (weir_add_kernels)"));
  return std::regex_replace(outcome.errors, std::regex("\\s+"), " ");
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("weir_add_kernels: what is wrong with its arguments is told at the call, and by name") {
  const Files files;
  files.write("blur.cu", "");
  files.write("include/blur.cuh", "");
  const std::string here = files.folder().string();

  const std::string typo = configured(files, "SOURCES blur.cu NVIDA 90 HOST");
  CHECK_MESSAGE(
      says(typo, "weir_add_kernels: 'NVIDA' is neither a file nor a word of this function; the words are SOURCES, NVIDIA,"),
      typo);
  const std::string file = configured(files, "SOURCES blur.cu blurr.cu HOST x86-64");
  CHECK_MESSAGE(says(file, "weir_add_kernels: there is no file " + here + "/blurr.cu;"), file);
  const std::string folder = configured(files, "SOURCES blur.cu INCLUDES include nosuch HOST x86-64");
  CHECK_MESSAGE(says(folder, "weir_add_kernels: there is no folder " + here + "/nosuch;"), folder);
  const std::string system = configured(files, "SOURCES blur.cu SYSTEM_INCLUDES nosuch HOST x86-64");
  CHECK_MESSAGE(says(system, "weir_add_kernels: there is no folder " + here + "/nosuch;"), system);
  const std::string machine_code = configured(files, "SOURCES blur.cu NVIDIA 90-real COMPILER clang");
  CHECK_MESSAGE(says(machine_code, "weir_add_kernels: '90-real' behind NVIDIA is no PTX, which is all that COMPILER clang"),
                machine_code);
  const std::string gcc = configured(files, "SOURCES blur.cu NVIDIA 90 COMPILER gcc");
  CHECK_MESSAGE(says(gcc, "weir_add_kernels: there is no COMPILER 'gcc';"), gcc);
  const std::string nothing = configured(files, "SOURCES blur.cu");
  CHECK_MESSAGE(says(nothing, "weir_add_kernels: nothing would be compiled ahead of time;"), nothing);

  CHECK(configured(files, "SOURCES blur.cu INCLUDES include HOST x86-64") == "");
  CHECK(configured(files,
                   "SOURCES ${CMAKE_CURRENT_BINARY_DIR}/made.cu INCLUDES ${CMAKE_CURRENT_BINARY_DIR}/later HOST x86-64") ==
        "");
}
