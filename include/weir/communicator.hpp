// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/error.hpp"
#include "weir/export.hpp"
#include "weir/feature.hpp"
#include "weir/fwd.hpp"
#include "weir/launch_environment.hpp"
#include "weir/ptr.hpp"
#include "weir/stream_ref.hpp"
#include "weir/span.hpp"
#include "weir/unique_function.hpp"

/// Collectives: operations across several devices, in one process or many, in stream order.
///
/// The operations are implemented by a library that Weir opens at run time: NCCL on NVIDIA, RCCL on AMD, MPI between
/// processes on CPUs. Host devices of one process need no library. See docs/collectives.md.
namespace weir {

class Communicator;
class CommunicatorImpl;
struct CollectiveCall;
/// Shared owner of a `Communicator`.
using CommunicatorPtr = Ptr<Communicator>;

/// The types that collectives can reduce: those of NCCL.
enum class ElementType : std::uint8_t { int8, uint8, int32, uint32, int64, uint64, float16, bfloat16, float32, float64 };
WEIR_API std::string_view to_string(ElementType) noexcept;
/// The size of an element in bytes; 0 for an invalid type.
WEIR_API std::size_t size_of(ElementType) noexcept;

/// How elements of several ranks are combined. `avg` is the sum divided by the number of ranks; integer averages are rounded
/// towards zero. Integer sums and products wrap around. `min` and `max` ignore NaNs like std::fmin and std::fmax: the result
/// is NaN only if all ranks have NaN.
///
/// The last bits of floating-point results differ between libraries. For `avg`, NCCL and RCCL divide before they add. They
/// round float16 and bfloat16 at each step, while the host and MPI libraries compute these two types in float and round
/// once.
enum class Reduction : std::uint8_t { sum, prod, min, max, avg };
WEIR_API std::string_view to_string(Reduction) noexcept;

/// Features that some communicators lack. `Communicator::feature` returns the reason.
enum class CommunicatorFeature : std::uint8_t {
  capture,    ///< operations on a capturing stream: each launch of the graph runs them
  avg,        ///< `Reduction::avg`
  bfloat16,   ///< reductions of `ElementType::bfloat16`
  timeout,    ///< `CommunicatorOptions::timeout`
  split,      ///< `Communicator::split`
};
WEIR_API std::string_view to_string(CommunicatorFeature) noexcept;

/// The `ElementType` of a C++ type: `ElementTypeOf<float>::value`. For a vendor's types, the program defines it: `template
/// <> struct weir::ElementTypeOf<__half> : std::integral_constant<weir::ElementType, weir::ElementType::float16> {};`
template <class T>
struct ElementTypeOf {};
template <std::integral T>
requires(!std::same_as<T, bool> && (sizeof(T) == 1 || sizeof(T) == 4 || sizeof(T) == 8)) struct ElementTypeOf<T>
    : std::integral_constant<ElementType, sizeof(T) == 1 ? (std::is_signed_v<T> ? ElementType::int8 : ElementType::uint8)
                                          : sizeof(T) == 4
                                              ? (std::is_signed_v<T> ? ElementType::int32 : ElementType::uint32)
                                              : (std::is_signed_v<T> ? ElementType::int64 : ElementType::uint64)> {
};
template <>
struct ElementTypeOf<float> : std::integral_constant<ElementType, ElementType::float32> {};
template <>
struct ElementTypeOf<double> : std::integral_constant<ElementType, ElementType::float64> {};

/// Ranges whose element type collectives support.
template <class R>
concept CollectiveRange = ElementRange<R> && requires {
  { ElementTypeOf<std::remove_const_t<detail::elements_of<R>>>::value } -> std::convertible_to<ElementType>;
};

/// The options of a communicator.
struct CommunicatorOptions {
  /// "nccl", "rccl", "host", "mpi" or "gloo". Empty: the default of the function that creates the communicator.
  std::string library = {};
  /// The communicator fails if an operation takes longer than this. 0: no limit. When the measured time begins and ends
  /// depends on the library:
  /// - NCCL, RCCL: begins when the operation is enqueued and the communicator's previous operation is done; ends when the
  ///   operation is done. So it includes earlier work of the stream.
  /// - MPI, Gloo: begins when the stream reaches the operation; ends when the operation is done.
  /// - host: begins when the stream reaches the operation; ends when the last rank arrives. The work itself has no limit.
  /// The limit also applies to creating the communicator, except to the MPI calls of `from_mpi`. Feature `timeout`.
  std::chrono::milliseconds timeout{0};
};

/// The id that all processes of one communicator must share. One process creates it and sends it to the others by any means.
/// (ncclUniqueId)
struct CommunicatorId {
  std::array<std::byte, 128> bytes{};
  friend bool operator==(const CommunicatorId&, const CommunicatorId&) = default;
};

/// An `MPI_Comm` of any MPI implementation, stored as bytes, so that this header needs no `mpi.h`.
struct MpiCommunicator {
  std::uint64_t bits = 0;
  bool is_world = true;  ///< means MPI_COMM_WORLD; `bits` is then unused

  MpiCommunicator() = default;
  /// `communicator`: an `MPI_Comm`.
  template <class Comm>
  requires(!std::same_as<std::remove_cvref_t<Comm>, MpiCommunicator>) MpiCommunicator(const Comm& communicator)
      : is_world(false) {
    static_assert(std::is_trivially_copyable_v<Comm> && sizeof(Comm) <= sizeof(bits), "this is no MPI_Comm");
    std::memcpy(&bits, &communicator, sizeof(communicator));
  }
};

/// One rank's part in `Communicator::split`.
struct CommunicatorSplit {
  Communicator* communicator = nullptr;  ///< the rank of the communicator to split
  int color = 0;                         ///< ranks of one color form a communicator; negative: in none
  int key = 0;                           ///< orders the ranks of one color
};

/// The memory of a collective: the argument of the functions whose names end with `_raw`.
struct CollectiveData {
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;  ///< number of elements; the comment of each function says which elements are counted
  ElementType type = ElementType::int8;
};

/// One rank of a group of devices that work together. There is one object for each device.
///
/// Every rank must call the same operations in the same order, with the same counts, types, reductions and roots. Each
/// operation is enqueued on a stream of the communicator's device and runs in the order of that stream. Operations of one
/// communicator run one after the other, in the order of the calls, even on different streams. In a capture, the program
/// must order them: use one stream, or events. Calls do not block the host, except that the first operations of a
/// communicator may set up connections.
///
/// If two communicators share a device, their operations must run in the same order on all ranks: use one stream, or events.
/// Otherwise they may deadlock, because one operation can occupy resources of the device that the other needs.
///
/// If one thread makes the calls of several ranks, it must make them inside one `group`, because the call of a single rank
/// may block until the other ranks have called.
///
/// Memory must be accessible to the device, and must live until the work is done. An operation is in place if `send` and
/// `receive` are the same address (all_reduce, broadcast, reduce), if `send` is this rank's part of `receive` (all_gather),
/// or if `receive` is this rank's part of `send` (reduce_scatter). Any other overlap is undefined behaviour. all_to_all is
/// never in place. A count of 0 does nothing; it must be 0 on all ranks.
///
/// A communicator that has failed (a peer died, the network broke, a timeout, inconsistent calls of the ranks, `abort`) does
/// no more work. Streams that waited for its operations continue, with undefined data in the receive buffers. Each later
/// call, and `check`, throws `communicator_failed` with the cause. Other communicators keep working.
///
/// Only one thread at a time may use a communicator; `abort`, `check` and queries may come from any thread. A communicator
/// must outlive the graphs that captured its operations. All functions also throw the common errors of `Stream` functions,
/// and `backend_failure` for an error of the library.
class WEIR_API Communicator : public RefCounted {
 public:
  // --- Making -----------------------------------------------------------------------------------------------------

  /// Creates one communicator for each of these devices of this process: rank i uses `devices[i]`. (ncclCommInitAll) The
  /// devices must belong to one backend and be distinct. Library: nccl, rccl or host, depending on the backend. Throws
  /// `invalid_argument` for an invalid list of devices; `driver_not_found` or `driver_too_old`, with the paths tried, if the
  /// library is not usable.
  static std::vector<CommunicatorPtr> from_devices(std::span<Device* const> devices,
                                                   const CommunicatorOptions& options = {});
  /// Creates an id for `from_id`, for devices of the same backend as `device`. One rank calls this and sends the id to the
  /// others. The processes connect over the network that NCCL_SOCKET_IFNAME selects. If NCCL_COMM_ID=host:port is set, every
  /// rank can create the id itself: all get the same. Throws `unsupported` for host devices, whose processes connect by MPI.
  /// (ncclGetUniqueId)
  static CommunicatorId create_id(Device& device, const CommunicatorOptions& options = {});
  /// Creates rank `rank` of `ranks`. Blocks until all other ranks have called this with the same id. Each rank must use its
  /// own device. Throws like `from_devices`; `communicator_failed` after the timeout. (ncclCommInitRankConfig)
  static CommunicatorPtr from_id(Device& device, int rank, int ranks, const CommunicatorId& id,
                                 const CommunicatorOptions& options = {});
  /// The same for several ranks in this process: `devices[i]` becomes rank `first_rank + i`.
  static std::vector<CommunicatorPtr> from_id(std::span<Device* const> devices, int first_rank, int ranks,
                                              const CommunicatorId& id, const CommunicatorOptions& options = {});
  /// Creates a communicator with the ranks of an MPI communicator. All its ranks must call this, each with its own device.
  /// On NVIDIA and AMD devices MPI only distributes the id, and NCCL or RCCL run the operations; with `library` "mpi", and
  /// on host devices, MPI runs them. Uses the MPI library that the process has loaded, or else opens the one that
  /// WEIR_MPI names, or a usual one, and initializes it. A program that initializes MPI itself must request
  /// MPI_THREAD_MULTIPLE; otherwise throws `unsupported`. Weir uses a duplicate of `communicator`. Throws `invalid_argument`
  /// for MPI_COMM_NULL. MPI_Finalize must come after the last use. If several threads call this with the same MPI
  /// communicator, their calls must come one after another, in the same order in all processes, because MPI cannot
  /// distinguish them. If two calls overlap, the second throws `invalid_argument`.
  static CommunicatorPtr from_mpi(Device& device, const MpiCommunicator& communicator = {},
                                  const CommunicatorOptions& options = {});

  /// Creates this process's rank of all processes that the launcher has started: torchrun, mpirun, srun and others
  /// (`LaunchEnvironment::read`). All processes must call this, each with its own device, and one thread at a time. A
  /// process that was started alone becomes the only rank.
  ///
  /// NVIDIA and AMD devices use NCCL and RCCL. Host devices use MPI if the launcher starts it, else Gloo; `library` "mpi"
  /// needs such a launcher. Rank 0 starts a small store (docs/collectives.md), to which all ranks stay connected until
  /// their processes end. Through it they exchange the id, and learn of each other's failures: when a process dies or calls
  /// `abort`, the communicators of all other ranks fail at once, also without a timeout, and name it.
  ///
  /// Throws `communicator_failed`, with the names of the missing ranks, if not all come within the timeout, or within ten
  /// minutes without one; `invalid_environment` if the launcher's variables contradict each other, or MPI; `unsupported` if
  /// there is no library for these processes; and like `from_id` or `from_mpi`.
  static CommunicatorPtr from_environment(Device& device, const CommunicatorOptions& options = {});
  /// Creates a communicator of some ranks of this one, such as those that have survived a failure. Each of `members`, ranks
  /// of this communicator, must call this with the same list, and gets its place in the list as its rank. The communicator
  /// fails if it has not failed yet, also on the ranks that are not members. Only for communicators of `from_environment`
  /// and `rebuild`; `options.library` is not used.
  ///
  /// Throws `unsupported` for other communicators; `invalid_argument` if the list has a rank twice, one that does not exist,
  /// or not this one; `communicator_failed` on all members alike if one is dead, does not come within the timeout or ten
  /// minutes, or came with another list: then call it again with other members.
  CommunicatorPtr rebuild(std::span<const int> members, const CommunicatorOptions& options = {});
  /// The ranks that have not been reported dead, in their order: a list for `rebuild`. Ranks may hear of a death at
  /// different times, so their lists may differ for a moment; then `rebuild` fails alike on all, and a second call has the
  /// same lists. Throws `unsupported` like `rebuild`. Any thread.
  std::vector<int> survivors() const;
  /// Splits the ranks into new communicators: the ranks that pass the same `color` form one, ordered by `key`, and by their
  /// rank here if the keys are equal. Returns null for a negative color, which takes part in none. All ranks must call this,
  /// also those without a color. Blocks until they have called it, at most until the timeout, which the new communicators
  /// have as well; then this communicator has failed. The operations of this communicator must be complete on all ranks
  /// (`synchronize`), because NCCL and MPI may deadlock otherwise. The new communicators do not depend on this one. Throws
  /// `unsupported` without feature `split`, and inside a `group`; `communicator_failed`. (ncclCommSplit, MPI_Comm_split)
  CommunicatorPtr split(int color, int key);
  /// The same for several ranks of this process, which one thread cannot split one after the other. The result has the order
  /// of `ranks`. Throws `invalid_argument` if they are not different ranks of one communicator.
  static std::vector<CommunicatorPtr> split(std::span<const CommunicatorSplit> ranks);

  // --- Properties -------------------------------------------------------------------------------------------------

  /// The rank of this communicator's device, from 0 to `size() - 1`.
  int rank() const noexcept { return rank_; }
  /// The number of ranks.
  int size() const noexcept { return size_; }
  /// The device that takes part as this rank.
  Device& device() const noexcept { return *device_; }
  /// The library, its version and its file: "nccl 2.28.9 (/usr/lib/x86_64-linux-gnu/libnccl.so.2)".
  const std::string& library() const noexcept { return library_; }
  /// Describes the communicator: "nccl rank 1 of 8 on cuda:1".
  std::string describe() const;
  /// The library's handle: an ncclComm_t, or the bytes of an MPI_Comm; null for host devices of one process.
  void* native_handle() const noexcept;
  /// How the communicator supports a feature, and the reason if the feature is absent.
  const FeatureState& feature(CommunicatorFeature feature) const noexcept;
  /// Whether the communicator has a feature.
  bool supports(CommunicatorFeature f) const noexcept { return feature(f).support != Support::absent; }

  // --- Operations -------------------------------------------------------------------------------------------------

  /// Combines the elements of all ranks with `reduction`; every rank receives the result. Throws `length_mismatch` if `send`
  /// and `receive` differ in length. (ncclAllReduce)
  template <CollectiveRange From, CollectiveRange To>
  void all_reduce(From&& send, To&& receive, Reduction reduction, StreamRef stream) {
    const Typed t(*this, "Communicator::all_reduce", detail::lasting_span(std::forward<From>(send)),
                  detail::lasting_span(std::forward<To>(receive)));
    t.check_lengths(1, 1);
    all_reduce_raw(t.data(t.sent), reduction, stream);
  }
  /// The same in place: `data` is both the input and the result.
  template <CollectiveRange Data>
  void all_reduce(Data&& data, Reduction reduction, StreamRef stream) {
    const Span elements = detail::lasting_span(std::forward<Data>(data));
    all_reduce(elements, elements, reduction, stream);
  }
  /// The same by addresses.
  void all_reduce_raw(const CollectiveData& data, Reduction reduction, StreamRef stream);

  /// Copies the root's elements to `data` on every rank. (ncclBroadcast)
  template <CollectiveRange Data>
  void broadcast(Data&& data, int root, StreamRef stream) {
    const Span elements = detail::lasting_span(std::forward<Data>(data));
    const Typed t(*this, "Communicator::broadcast", elements, elements);
    broadcast_raw(t.data(t.sent), root, stream);
  }
  /// The same by addresses. `send` is used only on the root, and may equal `receive`.
  void broadcast_raw(const CollectiveData& data, int root, StreamRef stream);

  /// Combines the elements of all ranks; only the root receives the result. `receive` may be empty on other ranks.
  /// (ncclReduce)
  template <CollectiveRange From, CollectiveRange To>
  void reduce(From&& send, To&& receive, Reduction reduction, int root, StreamRef stream) {
    const Typed t(*this, "Communicator::reduce", detail::lasting_span(std::forward<From>(send)),
                  detail::lasting_span(std::forward<To>(receive)));
    if (root == rank_) t.check_lengths(1, 1);
    reduce_raw(t.data(t.sent), reduction, root, stream);
  }
  /// The same by addresses.
  void reduce_raw(const CollectiveData& data, Reduction reduction, int root, StreamRef stream);

  /// Every rank receives the elements of all ranks, in rank order. `receive` has `size()` times as many elements as `send`.
  /// (ncclAllGather)
  template <CollectiveRange From, CollectiveRange To>
  void all_gather(From&& send, To&& receive, StreamRef stream) {
    const Typed t(*this, "Communicator::all_gather", detail::lasting_span(std::forward<From>(send)),
                  detail::lasting_span(std::forward<To>(receive)));
    t.check_lengths(parts(), 1);
    all_gather_raw(t.data(t.sent), stream);
  }
  /// `data.count`: the number of elements that each rank sends.
  void all_gather_raw(const CollectiveData& data, StreamRef stream);

  /// Combines the elements of all ranks; rank i receives part i of the result. `send` has `size()` times as many elements as
  /// `receive`. (ncclReduceScatter)
  template <CollectiveRange From, CollectiveRange To>
  void reduce_scatter(From&& send, To&& receive, Reduction reduction, StreamRef stream) {
    const Typed t(*this, "Communicator::reduce_scatter", detail::lasting_span(std::forward<From>(send)),
                  detail::lasting_span(std::forward<To>(receive)));
    t.check_lengths(1, parts());
    reduce_scatter_raw(t.data(t.received), reduction, stream);
  }
  /// `data.count`: the number of elements that each rank receives.
  void reduce_scatter_raw(const CollectiveData& data, Reduction reduction, StreamRef stream);

  /// Copies part i of rank j's `send` to part j of rank i's `receive`. Both have the same number of elements, a multiple of
  /// `size()`. (MPI_Alltoall)
  template <CollectiveRange From, CollectiveRange To>
  void all_to_all(From&& send, To&& receive, StreamRef stream) {
    const Typed t(*this, "Communicator::all_to_all", detail::lasting_span(std::forward<From>(send)),
                  detail::lasting_span(std::forward<To>(receive)));
    t.check_lengths(parts(), parts());
    all_to_all_raw(t.data(t.sent / parts()), stream);
  }
  /// `data.count`: the number of elements that each rank sends to each rank.
  void all_to_all_raw(const CollectiveData& data, StreamRef stream);

  /// Sends elements to rank `to`, which must call `receive` with the same number of elements. Sends and receives of two
  /// ranks match in the order of the calls. A send may wait until the other rank has called `receive`. So calls that depend
  /// on each other, such as an exchange between neighbours, must be in one `group`. (ncclSend)
  template <CollectiveRange From>
  void send(From&& data, int to, StreamRef stream) {
    Span elements = detail::lasting_span(std::forward<From>(data));
    send_raw(elements.data(), elements.size(), element_type<From>(), to, stream);
  }
  /// The same for `count` elements.
  void send_raw(const void* data, std::size_t count, ElementType type, int to, StreamRef stream);
  /// Receives elements that rank `from` sends. (ncclRecv)
  template <CollectiveRange To>
  void receive(To&& data, int from, StreamRef stream) {
    Span elements = detail::lasting_span(std::forward<To>(data));
    static_assert(!std::is_const_v<typename decltype(elements)::element_type>, "what is received must not be const");
    receive_raw(elements.data(), elements.size(), element_type<To>(), from, stream);
  }
  /// The same for `count` elements.
  void receive_raw(void* data, std::size_t count, ElementType type, int from, StreamRef stream);

  /// Later work of the stream waits until the streams of all ranks have reached this point.
  void barrier(StreamRef stream);

  /// Calls `function`, collects the operations of communicators that `function` calls, and enqueues them together when it
  /// returns. Use it for operations of several ranks, or for sends and receives that depend on each other. If `function`
  /// throws, nothing is enqueued. Groups nest; the outermost one enqueues. If one communicator's operations are on several
  /// streams, they begin when all of these streams have reached them, and all of these streams wait for their end. The group
  /// keeps the communicators and streams alive until it has enqueued the operations. (ncclGroupStart, ncclGroupEnd)
  template <class F>
  static void group(F&& function) {
    Group group;
    std::forward<F>(function)();
    group.submit();
  }

  // --- Failing ----------------------------------------------------------------------------------------------------

  /// Queries the library, and throws `communicator_failed` if the communicator has failed. (ncclCommGetAsyncError)
  void check();
  /// Blocks until the stream's work is done (`Stream::synchronize`), then calls `check`.
  void synchronize(StreamRef stream);
  /// Applies the timeout to the work enqueued so far on `stream`. Call it after launching a graph that contains operations
  /// of this communicator, because the communicator cannot detect such launches. Does nothing without a timeout.
  void watch(StreamRef stream);
  /// Makes the communicator fail, so that operations which wait for other ranks end. With `from_environment` the other ranks
  /// fail at once; else when their library detects this, at the latest after their timeout. A second call does nothing. Any
  /// thread. (ncclCommAbort)
  void abort();
  /// Returns the last 1024 operations as JSON, also after a failure: what `WEIR_FLIGHT_RECORD` writes and `weir flight`
  /// reads. Any thread.
  std::string flight_record() const;

 private:
  friend class CommunicatorImpl;

  Communicator(Device& device, int rank, int size, std::string library);
  ~Communicator() override;

  class WEIR_API Group {
   public:
    Group();
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    void submit();

   private:
    std::size_t first_;  // index of the group's first operation in the thread's list
    bool submitted_ = false;
  };
  /// The pointers, the counts and the element type of a call with typed ranges.
  struct Typed {
    template <class From, class To>
    Typed(const Communicator& c, const char* o, Span<From> from, Span<To> to)
        : communicator(c),
          operation(o),
          type(element_type<Span<From>>()),
          received(to.size()),
          sent(from.size()),
          receive(to.data()),
          send(from.data()) {
      static_assert(std::is_same_v<std::remove_const_t<To>, std::remove_const_t<From>>,
                    "both sides must have the same element type");
      static_assert(!std::is_const_v<To>,
                    "the elements to receive into must not be const; the order is (send, receive), as in NCCL and MPI");
    }
    CollectiveData data(std::size_t count) const noexcept { return {send, receive, count, type}; }
    // Throws `length_mismatch` if one range cannot be divided into its number of equal parts, or if the parts of the two
    // ranges differ in length.
    void check_lengths(std::size_t receive_parts, std::size_t send_parts) const {
      if (received % receive_parts != 0 || sent % send_parts != 0 || received / receive_parts != sent / send_parts)
        communicator.throw_lengths(operation, received, sent, receive_parts, send_parts);
    }
    const Communicator& communicator;
    const char* operation;
    ElementType type;
    std::size_t received, sent;
    void* receive;
    const void* send;
  };
  template <class R>
  static constexpr ElementType element_type() {
    return ElementTypeOf<std::remove_const_t<detail::elements_of<R>>>::value;
  }
  std::size_t parts() const noexcept { return static_cast<std::size_t>(size_); }
  [[noreturn]] void throw_lengths(const char* operation, std::size_t received, std::size_t sent, std::size_t receive_parts,
                                  std::size_t send_parts) const;
  void enqueue(const CollectiveCall& call);
  static void submit(std::span<CollectiveCall> calls);
  static bool is_grouping() noexcept;
  CommunicatorImpl& impl() noexcept;

  Device* device_;
  int rank_;
  int size_;
  std::string library_;
  std::array<FeatureState, 5> features_;
};

}  // namespace weir
