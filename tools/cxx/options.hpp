// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// The command line of `weir c++`: the options of nvcc and of C++ compilers that programs' build systems use.
namespace weir::cxx {

/// A command line that `weir c++` does not understand.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Step { link, object, kernels, explain };

struct Options {
  std::vector<std::string> cuda_sources;                     ///< files with host and device code
  std::vector<std::string> host_sources;                     ///< C and C++ files
  std::vector<std::string> link_inputs;                      ///< objects, libraries and options for the linker, in order
  std::vector<std::string> both;                             ///< options for each half of a file: -I, -D, -std
  std::vector<std::string> host;                             ///< options for the host half only
  std::vector<std::pair<std::string, std::string>> targets;  ///< backends and architectures that were asked for with --for
  std::string nvidia = "compute_70";                         ///< the architecture for NVIDIA's GPUs, from -arch and -gencode
  std::set<int> machines;                                    ///< NVIDIA's architectures to make machine code for: 90
  int cpu_arch = 700;                                        ///< __CUDA_ARCH__ of the CPU's code, from -arch and -gencode
  std::string output;                                        ///< -o; empty: a.out, or FILE.o
  Step step = Step::link;
  bool fast_math = false;
  bool fuse = true;                 ///< whether a * b + c may be rounded once
  bool per_thread_streams = false;  ///< stream 0 is each thread's own
  bool relocatable = false;         ///< -rdc=true: device code may use other files' functions and variables
  bool hip = false;                 ///< -x hip: the macros of hipcc
  bool verbose = false;
  std::vector<std::string> ignored;  ///< options that mean nothing to Clang or to the backends, for a note
};

/// Reads the command line after `weir c++`. Throws UsageError, which names the option and the remedy.
Options parse(const std::vector<std::string>& words);

extern const char* const help;

}  // namespace weir::cxx
