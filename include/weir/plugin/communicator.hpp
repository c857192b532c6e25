// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/communicator.hpp"
#include "weir/plugin/capture.hpp"

/// What a library of collectives implements: a plugin `libweir_comm_NAME.so`.
namespace weir {

/// One operation, as `Communicator` hands it to its library.
struct CollectiveCall : CollectiveData {
  /// Which operation.
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

  // `count`: elements of one rank's part for all_gather, reduce_scatter and all_to_all, else of the whole.
  Kind kind = Kind::barrier;
  Reduction reduction = Reduction::sum;
  int peer = 0;  ///< the root, the destination or the source
  Communicator* communicator = nullptr;
  Stream* stream = nullptr;
  void* native_stream = nullptr;
  CaptureState capture{};
};
WEIR_API std::string_view to_string(CollectiveCall::Kind) noexcept;

/// What a library implements of a communicator. Every `Communicator` is one.
class WEIR_API CommunicatorImpl : public Communicator {
 public:
  /// Enqueues the calls, which may be of several communicators of this library. All were checked, and none has failed.
  virtual void do_enqueue(std::span<const CollectiveCall> calls) = 0;
  /// Asks the library for errors that have come since, and reports them by `fail`.
  virtual void do_check() = 0;
  /// The communicator has failed: ends all work that waits for peers. Called once, from any thread.
  virtual void do_abort() noexcept = 0;
  virtual void do_watch(Stream& stream, void* native_stream) = 0;
  virtual void* do_native_handle() const noexcept = 0;

  /// Whether it has failed. Any thread.
  bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }

 protected:
  /// `library`: as `library()` gives it; its first word is the library's name.
  CommunicatorImpl(Device& device, int rank, int size, std::string library)
      : Communicator(device, rank, size, std::move(library)) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }
  void set_feature(CommunicatorFeature feature, Support support, std::string reason = {});

  /// Notes that the communicator has failed and why, and calls `do_abort`, unless it had failed before. Any thread.
  void fail(std::string_view cause, NativeError native = {}) noexcept;

 private:
  friend class Communicator;

  [[noreturn]] void throw_failure(const char* operation);

  std::atomic<bool> failed_{false};
  std::mutex failure_mutex_;
  std::string failure_;  // the cause
  NativeError failure_native_;
};

/// What a plugin is asked for: communicators of ranks `first_rank`, … on these devices.
struct CommunicatorRequest {
  std::span<Device* const> devices;
  int first_rank = 0;
  int ranks = 0;
  const CommunicatorId* id = nullptr;    ///< null if the devices are all of the ranks, or with `mpi`
  const MpiCommunicator* mpi = nullptr;  ///< for MPI alone
  std::chrono::milliseconds timeout{0};
};

/// A library of collectives: what a plugin `libweir_comm_NAME.so` makes. Lives until the process ends.
class WEIR_API CommunicatorLibrary {
 public:
  CommunicatorLibrary() = default;
  CommunicatorLibrary(const CommunicatorLibrary&) = delete;
  CommunicatorLibrary& operator=(const CommunicatorLibrary&) = delete;

  /// Throws `unsupported` where processes meet by other means.
  virtual CommunicatorId create_id(Device& device) = 0;
  /// One communicator for each device.
  virtual std::vector<CommunicatorPtr> create(const CommunicatorRequest& request) = 0;
  /// What MPI calls the calling process.
  struct MpiPlace {
    int rank = 0;
    int size = 1;
  };
  /// MPI alone: the calling process's rank, and how many there are.
  virtual MpiPlace mpi_place(const MpiCommunicator& communicator);
  /// MPI alone: every rank gets rank 0's bytes.
  virtual void mpi_broadcast(const MpiCommunicator& communicator, std::span<std::byte> bytes);

 protected:
  virtual ~CommunicatorLibrary() = default;
};

}  // namespace weir

extern "C" {
/// What a plugin `libweir_comm_NAME.so` exports, besides its note (WEIR_PLUGIN_NOTE): opens the library. Called at most once
/// in a process, unless it throws. Throws `weir::Error` with `driver_not_found` or `driver_too_old`.
WEIR_API weir::CommunicatorLibrary* weir_open_communicator_library();
}
