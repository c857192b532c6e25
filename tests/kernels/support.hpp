// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/host/support.hpp"

/// Helpers for the tests of kernels on the host.
namespace weir::test {

inline ModulePtr compile(const char* source, const char* name = "kernel.cu") {
  CompileOptions options;
  options.name = name;
  return host().compile(source, options);
}

/// Returns the error that a launch's synchronization throws; fails if it throws none.
template <class... Args>
Error launch_error(const KernelPtr& kernel, const LaunchConfig& config, const Args&... args) {
  try {
    launch(kernel, config, args...);
  } catch (const Error& error) {
    return error;
  }
  FAIL("launched without an error");
  return {Errc::invalid_argument, "", "", ""};
}

}  // namespace weir::test
