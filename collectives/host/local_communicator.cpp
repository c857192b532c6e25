// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <vector>

#include "collectives/host/local_group.hpp"
#include "collectives/host/steps.hpp"
#include "collectives/libraries.hpp"
#include "core/immortal.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/version.hpp"

namespace weir::collectives {
namespace {

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(Device& device, int rank, int ranks, Ptr<LocalGroup> group)
      : Communicator(device, rank, ranks, "host " WEIR_VERSION_STRING),
        group_(std::move(group)),
        steps_(make<Steps>(device)) {
    for (const Feature needed : {Feature::memory_operations_in_capture, Feature::host_functions_in_capture}) {
      if (!device.supports(needed)) {
        set_feature(
            CommunicatorFeature::capture, Support::absent,
            "it needs the device's feature '" + std::string(to_string(needed)) + "': " + device.feature(needed).reason);
      }
    }
  }

 protected:
  void do_enqueue(std::span<const CollectiveCall> calls) override {
    // One step for each rank and stream: its sends and receives can wait for each other.
    std::vector<bool> taken(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (taken[i]) continue;
      std::vector<CollectiveCall> together;
      for (std::size_t j = i; j < calls.size(); ++j) {
        if (calls[j].communicator != calls[i].communicator || calls[j].stream != calls[i].stream) continue;
        together.push_back(calls[j]);
        taken[j] = true;
      }
      static_cast<LocalCommunicator*>(calls[i].communicator)
          ->enqueue_step(*calls[i].stream, calls[i].capture, std::move(together));
    }
  }

  void do_check() override {
    if (group_->has_failed()) fail(group_->cause());
  }
  void do_abort() noexcept override {
    group_->fail("rank " + std::to_string(rank()) + " has failed or called Communicator::abort");
  }
  void do_watch(Stream&, void*) override {}  // the group sees captured operations, too
  void* do_native_handle() const noexcept override { return nullptr; }

 private:
  void enqueue_step(Stream& stream, const CaptureState& capture, std::vector<CollectiveCall> calls) {
    check();
    steps_->enqueue(stream, capture, [group = group_, rank = rank(), calls = std::move(calls)](StepEnd end) {
      group->arrive(rank, calls, std::move(end));
    });
  }

  const Ptr<LocalGroup> group_;
  const Ptr<Steps> steps_;
};

class LocalLibrary final : public CommunicatorLibrary {
 public:
  CommunicatorId create_id(Device& device) override { refuse("Communicator::create_id", device); }

  std::vector<CommunicatorPtr> create(const CommunicatorRequest& request) override {
    if (request.id != nullptr) refuse("Communicator::from_id", *request.devices[0]);
    const auto group = make<LocalGroup>(request.ranks, request.time_out);
    std::vector<CommunicatorPtr> all;
    for (Device* const device : request.devices) {
      all.push_back(make<LocalCommunicator>(*device, static_cast<int>(all.size()), request.ranks, group));
    }
    return all;
  }

 private:
  [[noreturn]] static void refuse(const char* operation, const Device& device) {
    throw Error(Errc::unsupported, operation, device.describe(),
                "host devices of several processes meet by MPI; use Communicator::from_mpi");
  }
};

}  // namespace

CommunicatorLibrary& host_library() {
  static detail::Immortal<LocalLibrary> library;
  return *library;
}

}  // namespace weir::collectives
