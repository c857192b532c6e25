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

using MembershipPtr = std::shared_ptr<Membership>;

class LocalCommunicator final : public StepCommunicator {
 public:
  LocalCommunicator(Device& device, const MembershipPtr& membership)
      : StepCommunicator(device, membership->rank, membership->group->size(), "host " WEIR_VERSION_STRING,
                         membership->group->timeout(), {membership, &membership->group->failure()}),
        membership_(membership) {
    membership_->group->set_recorder(rank(), flight_recorder());
  }

 protected:
  StepQueue::Begin step_of(std::vector<CollectiveCall> calls) override {
    return [membership = membership_, calls = std::move(calls)](StepEnd end) {
      membership->group->arrive(membership->rank, calls, end);
    };
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
      if (group)
        part = make_ptr<LocalCommunicator>(ranks[i].communicator->device(), std::make_shared<Membership>(group, rank));
    }
    return all;
  }

  void do_abort() noexcept override {
    membership_->group->fail("rank " + std::to_string(rank()) + " has failed or called Communicator::abort");
  }

 private:
  const MembershipPtr membership_;
};

class LocalLibrary final : public CommunicatorLibrary {
 public:
  std::vector<CommunicatorPtr> create(const CommunicatorRequest& request) override {
    const auto group = make_ptr<LocalGroup>(request.ranks, request.timeout);
    std::vector<CommunicatorPtr> all;
    for (Device* const device : request.devices) {
      const auto rank = static_cast<int>(all.size());
      all.push_back(make_ptr<LocalCommunicator>(*device, std::make_shared<Membership>(group, rank)));
    }
    return all;
  }
};

}  // namespace

CommunicatorLibrary& host_library() {
  static detail::NoDestructor<LocalLibrary> library;
  return *library;
}

}  // namespace weir::collectives
