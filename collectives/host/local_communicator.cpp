// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <vector>

#include "collectives/host/local_group.hpp"
#include "collectives/host/steps.hpp"
#include "collectives/libraries.hpp"
#include "core/base/no_destructor.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/version.hpp"

namespace weir::collectives {
namespace {

// A rank's membership in its group. It ends when neither the communicator nor a step that has not begun owns it, because
// then the rank makes no more calls.
struct Membership {
  Membership(Ptr<LocalGroup> g, int r) : group(std::move(g)), rank(r) {}
  ~Membership() { group->leave(rank); }
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  const Ptr<LocalGroup> group;
  const int rank;
};

class LocalCommunicator final : public CommunicatorImpl {
 public:
  LocalCommunicator(Device& device, int rank, int ranks, Ptr<LocalGroup> group)
      : CommunicatorImpl(device, rank, ranks, "host " WEIR_VERSION_STRING, group->timeout()),
        membership_(std::make_shared<Membership>(std::move(group), rank)),
        steps_(device) {
    flight_recorder()->set_marks(true);
    membership_->group->set_recorder(rank, flight_recorder());
    if (const std::string obstacle = capture_obstacle(device); !obstacle.empty()) {
      set_feature(CommunicatorFeature::capture, Support::absent, obstacle);
    }
  }

 protected:
  void do_enqueue(std::span<const CollectiveCall> calls) override {
    const auto of = [](const CollectiveCall& call) -> LocalCommunicator& {
      return static_cast<LocalCommunicator&>(*call.communicator);
    };
    if (calls.size() == 1) return of(calls[0]).enqueue_step({calls.begin(), calls.end()});
    for (std::vector<CollectiveCall>& step : by_rank(calls)) of(step[0]).enqueue_step(std::move(step));
  }

  std::vector<CommunicatorPtr> do_split(std::span<const CommunicatorSplit> ranks,
                                        std::span<const std::vector<int>> /*members*/) override {
    const std::vector<LocalGroup::Part> parts = membership_->group->split(ranks);
    if (parts.empty()) {  // the group has failed
      do_check();
      throw_failure("Communicator::split");
    }
    std::vector<CommunicatorPtr> all;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& [group, rank] = parts[i];
      CommunicatorPtr& part = all.emplace_back();
      if (group) part = make_ptr<LocalCommunicator>(ranks[i].communicator->device(), rank, group->size(), group);
    }
    return all;
  }

  void do_check() override {
    if (membership_->group->has_failed()) fail(membership_->group->cause());
  }
  void do_abort() noexcept override {
    membership_->group->fail("rank " + std::to_string(rank()) + " has failed or called Communicator::abort");
  }
  void do_watch(Stream&, void*) override {}  // not needed: the group also sees captured operations
  void* do_native_handle() const noexcept override { return nullptr; }

 private:
  void enqueue_step(std::vector<CollectiveCall> calls) {
    const CaptureState capture = calls[0].capture;
    if (membership_->group->has_failed()) check();
    StreamsOfStep streams(calls);
    const std::uint64_t last = calls.back().number;
    steps_.enqueue(streams.first(), capture, [membership = membership_, calls = std::move(calls)](StepEnd end) {
      membership->group->arrive(membership->rank, calls, end);
    });
    flight_recorder()->accept(last);
    streams.go_on();
  }

  const std::shared_ptr<Membership> membership_;
  StepQueue steps_;
};

class LocalLibrary final : public CommunicatorLibrary {
 public:
  CommunicatorId create_id(Device& device) override { throw_one_process_only("Communicator::create_id", device); }

  std::vector<CommunicatorPtr> create(const CommunicatorRequest& request) override {
    if (request.id != nullptr) throw_one_process_only("Communicator::from_id", *request.devices[0]);
    const auto group = make_ptr<LocalGroup>(request.ranks, request.timeout);
    std::vector<CommunicatorPtr> all;
    for (Device* const device : request.devices) {
      all.push_back(make_ptr<LocalCommunicator>(*device, static_cast<int>(all.size()), request.ranks, group));
    }
    return all;
  }

 private:
  [[noreturn]] static void throw_one_process_only(const char* operation, const Device& device) {
    throw Error(Errc::unsupported, operation, device.describe(),
                "host devices of several processes need MPI; use Communicator::from_mpi");
  }
};

}  // namespace

CommunicatorLibrary& host_library() {
  static detail::NoDestructor<LocalLibrary> library;
  return *library;
}

}  // namespace weir::collectives
