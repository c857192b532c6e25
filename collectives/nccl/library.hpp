// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "collectives/nccl/api.hpp"
#include "weir/plugin/communicator.hpp"

/// NCCL or RCCL, opened.
namespace weir::nccl {

/// Makes a device current on the calling thread, which the libraries require for creating a communicator.
class CurrentDevice {
 public:
  virtual ~CurrentDevice() = default;
};

/// The differences between the vendors.
struct Vendor {
  const char* name;                         ///< "nccl"
  const char* variable;                     ///< an absolute path in place of the names
  std::span<const std::string_view> names;  ///< sonames, in the order tried
  const char* remedy;                       ///< where to get the library
  std::unique_ptr<CurrentDevice> (*make_current)(Device& device);
};

class Library final : public CommunicatorLibrary {
 public:
  /// Opens the library that is already loaded, the one in the variable, or the first by name. Throws `driver_not_found`,
  /// `driver_too_old`; `driver_failed` if the variable names another copy than the one loaded.
  explicit Library(const Vendor& vendor);

  const Api& api() const noexcept { return api_; }
  /// "nccl 2.28.9 (/usr/lib/…)"
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
