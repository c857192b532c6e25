// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gloo/transport/device.h>

#include <memory>
#include <string>

#include "weir/plugin/communicator.hpp"

/// Opens Gloo at run time. Gloo has no stable ABI, so the plugin accepts only the libgloo whose headers it was built with.
/// It uses Gloo's connections alone, nearly all by virtual functions; the algorithms are in engine.cpp.
namespace weir::gloo {

namespace transport = ::gloo::transport;

class Library final : public CommunicatorLibrary {
 public:
  /// Opens WEIR_GLOO or libgloo.so.0, and chooses the network. Throws `driver_not_found`; `plugin_incompatible` if it is
  /// another libgloo than the plugin was built with; `driver_failed` if it cannot use the network.
  Library();

  /// Describes the library: "gloo 0.5.0 (/usr/lib/libgloo.so.0)".
  const std::string& label() const noexcept { return label_; }
  transport::Device& device() const noexcept { return *device_; }

  std::vector<CommunicatorPtr> create(const CommunicatorRequest& request) override;

 private:
  std::shared_ptr<transport::Device> device_;  // with a thread that waits for all its sockets
  std::string label_;
};

}  // namespace weir::gloo
