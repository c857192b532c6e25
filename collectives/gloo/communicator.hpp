// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "collectives/gloo/engine.hpp"
#include "collectives/gloo/library.hpp"
#include "collectives/host/steps.hpp"

/// The communicator over Gloo, for devices of the host backend.
namespace weir::gloo {

class Communicator final : public collectives::StepCommunicator {
 public:
  Communicator(const Library& library, Device& device, const std::shared_ptr<Engine>& engine);

 protected:
  collectives::StepQueue::Begin step_of(std::vector<CollectiveCall> calls) override;
  void do_abort() noexcept override;
  std::vector<CommunicatorPtr> do_split(std::span<const CommunicatorSplit> ranks,
                                        std::span<const std::vector<int>> members) override;

 private:
  const Library& library_;
  const std::shared_ptr<Engine> engine_;
};

}  // namespace weir::gloo
