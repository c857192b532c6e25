// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "collectives/host/steps.hpp"
#include "collectives/mpi/progress.hpp"

/// The communicator over MPI.
namespace weir::mpi {

/// A communicator over MPI. Memory that MPI can access is passed to MPI directly: host memory, and GPU memory if this MPI
/// supports it. Other memory is copied to and from pinned memory on the stream.
class Communicator final : public collectives::StepCommunicator {
 public:
  Communicator(const Library& library, Device& device, SharedPtr shared);
  ~Communicator() override;

 protected:
  void do_enqueue(std::span<const CollectiveCall> calls) override;
  void enqueue_step(Stream& stream, std::vector<CollectiveCall> calls) override;
  collectives::StepQueue::Begin step_of(std::vector<CollectiveCall> calls) override;
  void do_abort() noexcept override;
  std::vector<CommunicatorPtr> do_split(std::span<const CommunicatorSplit> ranks,
                                        std::span<const std::vector<int>> members) override;
  void* do_native_handle() const noexcept override { return reinterpret_cast<void*>(shared_->comm); }

 private:
  bool is_direct(const CollectiveCall& call) const noexcept;
  Staged take_staged(std::size_t bytes);

  const SharedPtr shared_;
  const bool is_host_;
  const bool takes_device_memory_;
};

}  // namespace weir::mpi
