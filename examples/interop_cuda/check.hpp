// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include "weir/weir.hpp"

/// Throws std::runtime_error if a CUDA call has failed.
template <class Status>
void check(Status status, const char* call) {
  if (static_cast<int>(status) != 0)
    throw std::runtime_error(std::string(call) + " failed with " + std::to_string(static_cast<int>(status)));
}
#define CHECK(call) check((call), #call)

/// Runs an example and returns the exit status: 77 if there is no CUDA device.
template <class F>
int run_example(F&& example) {
  try {
    return example() ? 0 : 1;
  } catch (const weir::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    switch (error.errc()) {
      case weir::Errc::plugin_not_found:
      case weir::Errc::driver_not_found:
      case weir::Errc::no_device: return 77;
      default: return 1;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
