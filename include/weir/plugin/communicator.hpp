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

/// The interface of a library of collectives: a plugin `libweir_comm_NAME.so`.
namespace weir {

/// One operation, as passed by `Communicator` to its library.
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

  // `count`: elements of one rank's part for all_gather, reduce_scatter and all_to_all, otherwise of the whole.
  Kind kind = Kind::barrier;
  Reduction reduction = Reduction::sum;
  int peer = 0;  ///< the root, the destination or the source
  Communicator* communicator = nullptr;
  Stream* stream = nullptr;
  void* native_stream = nullptr;
  CaptureState capture{};
};
WEIR_API std::string_view to_string(CollectiveCall::Kind) noexcept;

/// The base of a library's communicators. Every `Communicator` is one.
class WEIR_API CommunicatorImpl : public Communicator {
 public:
  /// Enqueues the calls, which may be for several communicators of this library. The core has checked them, and none of the
  /// communicators has failed.
  virtual void do_enqueue(std::span<const CollectiveCall> calls) = 0;
  /// Queries the library for new errors, and reports them by `fail`.
  virtual void do_check() = 0;
  /// Called once, from any thread, when the communicator has failed: must end all work that waits for peers.
  virtual void do_abort() noexcept = 0;
  virtual void do_watch(Stream& stream, void* native_stream) = 0;
  virtual void* do_native_handle() const noexcept = 0;

  /// Whether it has failed. Any thread.
  bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }

 protected:
  /// `library`: the result of `library()`; its first word is the library's name.
  CommunicatorImpl(Device& device, int rank, int size, std::string library)
      : Communicator(device, rank, size, std::move(library)) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }
  void set_feature(CommunicatorFeature feature, Support support, std::string reason = {});

  /// Records that the communicator has failed and why, and calls `do_abort`, unless it had failed before. Any thread.
  void fail(std::string_view cause, NativeError native = {}) noexcept;

 private:
  friend class Communicator;

  [[noreturn]] void throw_failure(const char* operation);

  std::atomic<bool> failed_{false};
  std::mutex failure_mutex_;
  std::string failure_;  // the cause
  NativeError failure_native_;
};

/// A request to a plugin for communicators with ranks `first_rank`, … on these devices.
struct CommunicatorRequest {
  std::span<Device* const> devices;
  int first_rank = 0;
  int ranks = 0;
  const CommunicatorId* id = nullptr;    ///< null if the devices are all the ranks, or with `mpi`
  const MpiCommunicator* mpi = nullptr;  ///< only for MPI
  std::chrono::milliseconds timeout{0};
};

/// A library of collectives, created by a plugin `libweir_comm_NAME.so`. Lives until the process ends.
class WEIR_API CommunicatorLibrary {
 public:
  CommunicatorLibrary() = default;
  CommunicatorLibrary(const CommunicatorLibrary&) = delete;
  CommunicatorLibrary& operator=(const CommunicatorLibrary&) = delete;

  /// Throws `unsupported` if the library's processes connect by other means.
  virtual CommunicatorId create_id(Device& device) = 0;
  /// One communicator for each device.
  virtual std::vector<CommunicatorPtr> create(const CommunicatorRequest& request) = 0;
  /// The calling process's position in an MPI communicator.
  struct MpiPlace {
    int rank = 0;
    int size = 1;
  };
  /// Only for MPI: the calling process's rank, and the number of ranks.
  virtual MpiPlace mpi_place(const MpiCommunicator& communicator);
  /// Only for MPI: sends rank 0's bytes to every rank.
  virtual void mpi_broadcast(const MpiCommunicator& communicator, std::span<std::byte> bytes);

 protected:
  virtual ~CommunicatorLibrary() = default;
};

}  // namespace weir

extern "C" {
/// A plugin `libweir_comm_NAME.so` exports this function and its note (WEIR_PLUGIN_NOTE). Opens the library. Called at most
/// once in a process, unless it throws. Throws `weir::Error` with `driver_not_found` or `driver_too_old`.
WEIR_API weir::CommunicatorLibrary* weir_open_communicator_library();
}
