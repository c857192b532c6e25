// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "collectives/gloo/engine.hpp"
#include "collectives/gloo/library.hpp"
#include "collectives/host/steps.hpp"

/// The communicator over Gloo, for devices of the host backend.
namespace weir::gloo {

class Communicator final : public weir::CommunicatorImpl {
 public:
  Communicator(const Library& library, Device& device, std::shared_ptr<Engine> engine);
  ~Communicator() override;

 protected:
  void do_enqueue(std::span<const CollectiveCall> calls) override;
  void do_check() override;
  void do_abort() noexcept override;
  std::vector<CommunicatorPtr> do_split(std::span<const CommunicatorSplit> ranks,
                                        std::span<const std::vector<int>> members) override;
  void do_watch(Stream&, void*) override {}  // not needed: the engine also sees captured operations
  void* do_native_handle() const noexcept override { return nullptr; }

 private:
  const Library& library_;
  const std::shared_ptr<Engine> engine_;
  collectives::StepQueue steps_;
};

}  // namespace weir::gloo
