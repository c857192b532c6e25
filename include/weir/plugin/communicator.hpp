// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/communicator.hpp"
#include "weir/plugin/capture.hpp"

/// The interface that a plugin for collectives, `libweir_comm_NAME.so`, implements.
namespace weir {

class FlightRecorder;

namespace collectives {
class OperationCheck;
class Peers;
struct FlightHeader;
}  // namespace collectives

/// One collective operation, as `Communicator` passes it to its plugin. It is not empty, except a barrier.
struct CollectiveCall : CollectiveData {
  /// The kind of the operation.
  enum class Kind : std::uint8_t {
    all_reduce,
    broadcast,
    reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    send,
    receive,
    barrier
  };

  // `CollectiveData::count` is the number of elements of one rank's part for all_gather, reduce_scatter and all_to_all; for
  // the other kinds it is the number of all elements.
  Kind kind = Kind::barrier;
  Reduction reduction = Reduction::sum;
  int peer = 0;  ///< the root, or the other rank of a send or receive
  Communicator* communicator = nullptr;
  Stream* stream = nullptr;       ///< a stream of the communicator's device
  void* native_stream = nullptr;  ///< the stream's handle
  CaptureState capture{};         ///< the state of the stream's capture
  std::uint64_t number = 0;       ///< of the communicator's calls on this rank, from 1, for `FlightRecorder`
  /// The number that all ranks give the operation, from 1: of the communicator's collectives, or, for `send` and `receive`,
  /// of the messages from the one rank to the other. 0 in a capture.
  std::uint64_t match = 0;
};
/// Returns the kind's name: "all_reduce".
WEIR_API std::string_view to_string(CollectiveCall::Kind) noexcept;

/// The base class of each plugin's communicators; every `Communicator` object is a `CommunicatorImpl`. Only one thread at a
/// time calls its functions, unless documented otherwise.
class WEIR_API CommunicatorImpl : public Communicator {
 public:
  /// Enqueues the calls as one group. They may be for several communicators of this plugin, and several streams. The core
  /// has checked the arguments and the features, and that no communicator had failed. If a stream captures, the call must
  /// become part of its graph. Throws `communicator_failed`, after a call of `fail`; `backend_failure` if the library
  /// rejects a call. (ncclGroupStart, ncclAllReduce, …)
  virtual void do_enqueue(std::span<const CollectiveCall> calls) = 0;
  /// Queries the library for errors of asynchronous operations, without waiting. If there is one, calls `fail`. Any thread.
  /// (ncclCommGetAsyncError)
  virtual void do_check() = 0;
  /// Called once, on any thread, when the communicator has failed. Must end all operations that wait for other ranks.
  /// (ncclCommAbort)
  virtual void do_abort() noexcept = 0;
  /// Splits the communicator, of which `ranks` are different ranks of this process, and returns the new communicators in the
  /// order of `ranks`; null for negative colors. Blocks until all ranks have called it. The core has checked the feature.
  /// `members`: for each of `ranks`, the ranks of its part in their new order; empty if the communicator has no peers.
  /// Throws `communicator_failed` after a failure of one of `ranks`, such as the timeout. (ncclCommSplit)
  virtual std::vector<CommunicatorPtr> do_split(std::span<const CommunicatorSplit> ranks,
                                                std::span<const std::vector<int>> members) = 0;
  /// Makes the timeout of the request apply to the work that is on `stream` now, such as a graph with captured operations.
  /// The stream does not capture.
  virtual void do_watch(Stream& stream, void* native_stream) = 0;
  /// The library's communicator: an ncclComm_t, the bytes of an MPI_Comm, or null. Any thread.
  virtual void* do_native_handle() const noexcept = 0;

  /// Whether the communicator has failed. Any thread.
  bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// The other ranks, for what they exchange beside the library (collectives/peers.hpp); null if they are not connected. Any
  /// thread; takes a lock.
  std::shared_ptr<collectives::Peers> peers() const;
  /// Called once by the core, after the plugin has created the communicator. From then on the communicator fails when a
  /// peer dies or its communicator fails, and reports its own failure to the peers.
  void set_peers(std::shared_ptr<collectives::Peers> peers);
  /// The limit in the request; 0: none.
  std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  /// Names the communicator in its flight record, the same on all its ranks. Before its first operation.
  void set_name(std::string name) { name_ = std::move(name); }
  /// The name, which all ranks give the communicator.
  const std::string& name() const noexcept { return name_; }

 protected:
  /// `library`: the text for `Communicator::library()`. Its first word must be the library's name. Throws
  /// `invalid_environment` for WEIR_COMM_CHECK and WEIR_FLIGHT_RECORD.
  CommunicatorImpl(Device& device, int rank, int size, std::string library, std::chrono::milliseconds timeout);
  ~CommunicatorImpl() override;
  Disposal disposal() const noexcept override { return Disposal::driver; }
  void dispose() noexcept override;
  /// Sets the state of a feature, in the constructor. Features are native unless set.
  void set_feature(CommunicatorFeature feature, Support support, std::string reason = {});

  /// The last operations, in which the plugin marks when each begins and ends. It may outlive the communicator.
  const std::shared_ptr<FlightRecorder>& flight_recorder() const noexcept { return recorder_; }

  /// The number of splits so far, including the one that runs.
  int splits() const noexcept { return splits_; }

  /// Fails because a call has not ended within the timeout. `number`: the call's; 0 if it is not known. Any thread.
  void fail_late(std::uint64_t number) noexcept;
  /// Records the cause of a failure and calls `do_abort`, unless the communicator has already failed. Any thread.
  void fail(std::string_view cause, NativeError native = {}) noexcept;
  /// Throws the failure, with the ranks that did not come. Waits at most 2 s for what the other ranks publish.
  [[noreturn]] void throw_failure(const char* operation);

 private:
  friend class Communicator;

  bool set_failure(std::string_view cause, NativeError native) noexcept;
  void end_failed(bool announces, std::string_view cause) noexcept;
  std::string absent_ranks();
  collectives::FlightHeader flight_header() const;
  static void compare(std::span<const CollectiveCall> calls);
  static std::vector<std::vector<int>> members_of_parts(std::span<const CommunicatorSplit> ranks);

  const std::chrono::milliseconds timeout_;
  const std::shared_ptr<FlightRecorder> recorder_;
  std::shared_ptr<collectives::OperationCheck> check_;  // null without WEIR_COMM_CHECK
  std::string name_;
  int splits_ = 0;
  std::atomic<bool> failed_{false};
  std::atomic<bool> is_explained_{false}, is_late_{false};  // the failure: its text needs no other ranks; a timeout
  std::mutex naming_mutex_;                                 // guards the next member
  std::optional<std::string> absent_ranks_;                 // for the failure's text: which ranks did not come
  mutable std::mutex failure_mutex_;                        // guards the members below
  std::shared_ptr<collectives::Peers> peers_;
  std::string failure_;  // the cause of the failure
  NativeError failure_native_;
};

/// A request to create communicators: `devices[i]` becomes rank `first_rank + i`.
struct CommunicatorRequest {
  std::span<Device* const> devices;
  int first_rank = 0;
  int ranks = 0;                         ///< of the whole communicator
  const CommunicatorId* id = nullptr;    ///< null if `devices` are all the ranks, or if `mpi` is set
  const MpiCommunicator* mpi = nullptr;  ///< the MPI communicator to use; null for other libraries
  std::span<const int> members = {};     ///< with `mpi`: those of its ranks that take part, in their order; empty: all
  collectives::Peers* peers = nullptr;   ///< the ranks' connections beside the library; null if they have none
  std::chrono::milliseconds timeout{0};  ///< after which a communicator that waits for another rank has failed; 0: never
  /// With a timeout: when to give up waiting for the other ranks, if that is before the timeout.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

/// A vendor's library of collectives, opened by a plugin `libweir_comm_NAME.so`. Lives until the process ends. Any thread
/// may call its functions.
class WEIR_API CommunicatorLibrary {
 public:
  CommunicatorLibrary() = default;
  CommunicatorLibrary(const CommunicatorLibrary&) = delete;
  CommunicatorLibrary& operator=(const CommunicatorLibrary&) = delete;

  /// Implements `Communicator::create_id`. Not called for host, mpi and gloo, whose processes connect without an id.
  /// (ncclGetUniqueId)
  virtual CommunicatorId create_id(Device& device);
  /// Creates one communicator for each device of the request, in their order. Blocks until all ranks take part. The core
  /// has checked the devices and the ranks. Throws `communicator_failed` after the timeout; `backend_failure`.
  /// (ncclCommInitRankConfig)
  virtual std::vector<CommunicatorPtr> create(const CommunicatorRequest& request) = 0;
  /// The calling process's position in an MPI communicator.
  struct MpiPlace {
    int rank = 0;
    int size = 1;
  };
  /// Only for MPI: returns the calling process's rank and the number of ranks.
  virtual MpiPlace mpi_place(const MpiCommunicator& communicator);
  /// Only for MPI: copies `bytes` of rank 0 to `bytes` of every rank.
  virtual void mpi_broadcast(const MpiCommunicator& communicator, std::span<std::byte> bytes);

 protected:
  virtual ~CommunicatorLibrary() = default;
};

}  // namespace weir

extern "C" {
/// Opens the vendor's library. Every plugin `libweir_comm_NAME.so` exports this function and a note (WEIR_PLUGIN_NOTE). The
/// core calls it once in a process; if it throws, the core calls it again at the next use. Throws `weir::Error` with
/// `driver_not_found` or `driver_too_old`.
WEIR_API weir::CommunicatorLibrary* weir_open_communicator_library();
}
