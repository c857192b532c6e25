// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weir/weir.hpp"

/// A program that uses every public class.
namespace sweep {

/// What the scenario needs and must not make each time, since a compiler is slow.
struct Setting {
  weir::Device& device;
  weir::ModulePtr module;
  bool computes = true;  ///< false for a stand-in of a driver that runs no kernels: results are not looked at
};
Setting make_setting(weir::Device& device);

/// Runs through all of Weir. Throws what Weir throws. False where a result is wrong.
bool run_scenario(const Setting& setting);

}  // namespace sweep
