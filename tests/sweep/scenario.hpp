// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weir/weir.hpp"

/// A program that uses every public class.
namespace sweep {

/// Objects that the scenario needs but must not create each time, because a compiler is slow.
struct Setting {
  weir::Device& device;
  weir::ModulePtr module;
  bool computes = true;  ///< false for a stand-in for a driver that runs no kernels, so that results are not checked
};
Setting make_setting(weir::Device& device);

/// Uses all of Weir once. Throws Weir's exceptions. Returns false if a result is wrong.
bool run_scenario(const Setting& setting);

}  // namespace sweep
