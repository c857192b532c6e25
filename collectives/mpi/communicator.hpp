// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "collectives/host/steps.hpp"
#include "collectives/mpi/progress.hpp"

/// The communicator over MPI.
namespace weir::mpi {

/// A communicator over MPI. Memory that MPI can access is passed to MPI directly: host memory, and GPU memory if this MPI
/// supports it. Other memory is copied to and from pinned memory on the stream.
class Communicator final : public weir::CommunicatorImpl {
 public:
  Communicator(const Library& library, Device& device, SharedPtr shared);
  ~Communicator() override;

 protected:
  void do_enqueue(std::span<const CollectiveCall> calls) override;
  void do_check() override;
  void do_abort() noexcept override;
  std::vector<CommunicatorPtr> do_split(std::span<const CommunicatorSplit> ranks,
                                        std::span<const std::vector<int>> members) override;
  void do_watch(Stream&, void*) override {}  // not needed: the progress thread also sees captured operations
  void* do_native_handle() const noexcept override { return reinterpret_cast<void*>(shared_->comm); }

 private:
  void enqueue_step(std::vector<CollectiveCall> calls);
  bool is_direct(const CollectiveCall& call) const noexcept;
  Staged take_staged(std::size_t bytes);

  const SharedPtr shared_;
  collectives::StepQueue steps_;
  const bool is_host_;
  const bool takes_device_memory_;
};

}  // namespace weir::mpi
