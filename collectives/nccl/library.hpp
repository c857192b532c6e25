// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "collectives/nccl/api.hpp"
#include "weir/plugin/communicator.hpp"

/// Opens NCCL or RCCL at run time.
namespace weir::nccl {

/// The parts that differ between NCCL and RCCL.
struct Vendor {
  const char* name;                         ///< "nccl"
  const char* variable;                     ///< the environment variable for an absolute path
  std::span<const std::string_view> names;  ///< sonames, in the order in which they are tried
  const char* remedy;                       ///< where to get the library
  /// Makes the device current on the calling thread while the result exists. The libraries create communicators on it.
  std::shared_ptr<void> (*make_current)(Device& device);
};

class Library final : public CommunicatorLibrary {
 public:
  /// Opens the library that the process has loaded, or else the one in the environment variable, or else the first name that
  /// exists. Throws `driver_not_found`, `driver_too_old`, or `driver_failed` if the variable contains another copy than the
  /// loaded one.
  explicit Library(const Vendor& vendor);

  const Api& api() const noexcept { return api_; }
  /// Describes the library: "nccl 2.28.9 (/usr/lib/…)".
  const std::string& label() const noexcept { return label_; }
  NativeError native_error(int result, CommHandle comm) const;

  CommunicatorId create_id(Device& device) override;
  std::vector<CommunicatorPtr> create(const CommunicatorRequest& request) override;

 private:
  const Vendor& vendor_;
  Api api_;
  std::string label_;
};

}  // namespace weir::nccl
