// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "weir/device.hpp"
#include "weir/export.hpp"

/// Backends. A backend is one vendor's opened driver, or the CPU, with its devices.
namespace weir {

/// Versions of the libraries that a backend has opened. A member is empty if the backend has no such library.
struct BackendVersions {
  std::string driver;        ///< the version that the driver reports ("13.0")
  std::string runtime;       ///< the version of the vendor's runtime, if it is a separate library
  std::string library_path;  ///< the driver library that was opened
  std::string compiler;      ///< the run-time compiler and its version, or why it is missing
};

/// A usable backend. Owned by Weir; lives until the process ends. Any thread may use it.
class WEIR_API Backend {
 public:
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  /// The name of the backend: "cuda", "hip", "host", or that of a third party.
  const std::string& name() const noexcept { return name_; }
  /// The opened libraries and their versions.
  const BackendVersions& versions() const noexcept { return versions_; }
  /// The number of devices; at least one.
  int device_count() const noexcept { return static_cast<int>(devices_.size()); }
  /// Returns device `ordinal`, counted from 0. Throws `invalid_argument`, with the number of devices, for an ordinal out of
  /// range.
  Device& device(int ordinal) const;

 private:
  friend class BackendImpl;
  explicit Backend(std::string name) : name_(std::move(name)) {}
  ~Backend() = default;

  std::string name_;
  BackendVersions versions_;
  std::vector<Device*> devices_;
};

}  // namespace weir
