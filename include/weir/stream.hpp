// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "weir/capture.hpp"
#include "weir/event.hpp"
#include "weir/export.hpp"
#include "weir/feature.hpp"
#include "weir/fwd.hpp"
#include "weir/graph.hpp"
#include "weir/health.hpp"
#include "weir/memory.hpp"
#include "weir/module.hpp"
#include "weir/pitched_span.hpp"
#include "weir/ptr.hpp"
#include "weir/ref.hpp"
#include "weir/span.hpp"
#include "weir/stream_attributes.hpp"
#include "weir/stream_memory.hpp"
#include "weir/stream_ref.hpp"
#include "weir/timeout.hpp"
#include "weir/unique_function.hpp"

/// Streams: queues of work on a device, each in its own order.
namespace weir {

/// Levels of priority, mapped to those of the device. A device with only one level accepts all of them.
enum class Priority : std::uint8_t { low, normal, high };

/// A device's range of priorities in the vendor's numbering: a lower number is more urgent. CUDA: {0, -n}; HIP: {1, -1}.
struct PriorityRange {
  int least = 0;
  int greatest = 0;
  friend bool operator==(const PriorityRange&, const PriorityRange&) = default;
};

/// The options of a stream.
struct StreamOptions {
  /// Whether the stream and the legacy default stream wait for each other's work.
  bool blocking = false;
  /// A level, or a number in the device's range.
  std::variant<Priority, int> priority = Priority::normal;
};

/// Where a stream came from.
enum class StreamKind : std::uint8_t { owned, borrowed, adopted, legacy_default, per_thread_default };

/// The kinds of conditional nodes: see `Stream::capture_if`, `capture_while` and `capture_switch`.
enum class ConditionalKind : std::uint8_t { if_nonzero, while_nonzero, switch_case };

/// Who owns a native handle that a stream wraps.
enum class Ownership : std::uint8_t {
  borrow,  ///< other code: Weir never destroys it
  adopt,   ///< Weir: it is destroyed with the stream's last owner
};

namespace detail {

[[noreturn]] WEIR_API void throw_null_kernel(const Stream& stream);

/// The bytes of a value of 1, 2 or 4 bytes, extended with 0.
template <class E>
std::uint32_t bits_of(const E& value) noexcept {
  std::uint32_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(E));
  return bits;
}

}  // namespace detail

/// The options of a host function.
struct HostFunctionOptions {
  std::string_view name = {};  ///< for tools and `Stream::pending`
};

/// A callback with the stream and its state; see `Stream::add_callback`.
using StreamCallback = UniqueFunction<void(Stream&, std::error_code)>;

/// A queue of work on one device. Made by `Device::create_stream`, `default_stream`, `per_thread_stream`, `wrap_stream`.
///
/// Work of one stream runs in order. Work of different streams runs in any order, unless events, `wait` or the legacy
/// default stream order it. Functions that enqueue work return before it is done. The memory that work uses must live until
/// the work is done.
///
/// Any number of threads may use a stream concurrently, in no particular order. Closing needs exclusive use. While one
/// thread begins or ends a capture, no other may submit work to the stream or to its forks, because CUDA's driver would
/// crash. Any thread may query the capture status, and begin and end captures, at any time.
///
/// All functions throw these errors before they call the driver: `stream_closed`; `called_from_host_function`;
/// `forked_process`; `wrong_thread` for another thread's per-thread default stream; `unsupported`, with the reason, if the
/// device lacks the feature that the function names. Errors of the driver are thrown as `device_fault` (work on the device
/// failed) or `backend_failure`.
class WEIR_API Stream : public RefCounted {
 public:
  // --- Identity ---------------------------------------------------------------------------------------------------

  /// The device that the work runs on.
  Device& device() const noexcept { return *device_; }
  /// Where the stream came from.
  StreamKind kind() const noexcept { return kind_; }
  /// The vendor's stream (cudaStream_t, hipStream_t; a queue on the host backend), for comparing and logging.
  [[nodiscard]] void* native_handle() const noexcept { return handle_; }
  /// The same, for other code or for `Device::wrap_stream`. This object still owns it. Other code may capture the stream
  /// from now on, so each later call queries the driver for captures.
  void* share_native_handle();
  /// The vendor's context (CUcontext). Feature `native_context`.
  void* native_context() const;
  /// A number that is unique for the life of the process. It is the driver's own id if feature `stream_id` is native.
  [[nodiscard]] std::uint64_t id() const;
  /// Whether the stream and the legacy default stream ignore each other.
  [[nodiscard]] bool is_non_blocking() const;
  /// The stream's priority in the vendor's numbering.
  [[nodiscard]] int priority() const;
  /// Whether `close` or `release_handle` was called.
  [[nodiscard]] bool is_closed() const noexcept;
  /// Names the stream for tools, descriptions and errors, until this object closes it or is destroyed. Empty removes the
  /// name.
  void set_name(std::string_view name);
  /// The name that was set through this object, or empty.
  [[nodiscard]] std::string name() const;
  /// "cuda:0 stream 0x55…, capturing"; with its name "cuda:0 stream 'copies' 0x55…". Works for a closed stream.
  [[nodiscard]] std::string describe() const;

  /// Streams are equal if their backends, devices and native handles are. Per-thread default streams are equal only within
  /// one thread. A closed stream equals only itself. `StreamRef` compares and hashes the same way; it can be a key of
  /// `std::map` and `std::unordered_map`.
  WEIR_API friend bool operator==(const Stream& a, const Stream& b) noexcept;
  /// A total order, for use as a key. Do not close a stream that is a key of an ordered container.
  WEIR_API friend std::strong_ordering operator<=>(const Stream& a, const Stream& b) noexcept;
  /// A hash consistent with `==`.
  std::size_t hash() const noexcept;
  WEIR_API friend std::ostream& operator<<(std::ostream&, const Stream&);

  // --- Ending -----------------------------------------------------------------------------------------------------

  /// Closes the stream. An owned or adopted stream is destroyed once its work is done; a borrowed one stays unchanged. A
  /// capture that it began is ended and dropped. Does not wait for the work. May be called again. Throws `invalid_argument`
  /// for a default stream, which cannot be closed.
  void close();
  /// Like `close`, but the caller becomes the owner of the native handle and must destroy it (after cuda::stream::release).
  /// Throws `invalid_argument` unless the stream is owned or adopted, and for a partition's stream.
  [[nodiscard]] void* release_handle();

  // --- Ordering ---------------------------------------------------------------------------------------------------

  /// Blocks the calling thread until all work enqueued so far is done. Then rethrows the exception of a host function, if
  /// one threw. Throws `capture_unsupported` if this stream captures, or if an open capture's mode forbids the calling
  /// thread to wait; the capture continues.
  void synchronize();
  /// Whether all work enqueued so far is done. Throws the error if work failed, and `capture_unsupported` like
  /// `synchronize`.
  [[nodiscard]] bool is_complete() const;
  /// Like `synchronize`, but returns false if the work is not done after `timeout`; the work continues. Zero or less:
  /// queries once. `pending` reports what the stream waits for. Polls the driver with pauses of up to a millisecond.
  [[nodiscard]] bool synchronize_for(Timeout timeout);
  /// The first operation that is not done. On the host backend this is exact; on GPUs the operation is known only with
  /// WEIR_JOURNAL: see docs/health.md. Invalidates no capture of other streams. Throws `capture_unsupported` if this stream
  /// captures, and the device's error if work failed.
  [[nodiscard]] PendingWork pending() const;

  /// Records a new event after all work enqueued so far, and returns it.
  [[nodiscard]] EventPtr record(const EventOptions& options = {});
  /// Records `event`, which must belong to this stream's device (`wrong_device`).
  void record(Ref<Event> event);
  /// Records `event` as a node of the graph being captured: each launch of the graph records it. Work outside the graph can
  /// wait for it, and it can measure time inside a graph. Throws `not_capturing`. Feature `external_events`.
  void record_external(Ref<Event> event);

  /// Makes later work of this stream wait for `event`. Does not block the host. The event may belong to another device of
  /// the same backend. Throws `unsupported` for another backend's event; `capture_isolation` or `capture_merge` if the wait
  /// would invalidate a capture, which continues.
  void wait(EventRef event);
  /// Adds a node to the graph being captured that waits for `event`. Throws `not_capturing`. Feature `external_events`.
  void wait_external(EventRef event);
  /// Makes later work of this stream wait for all work enqueued so far on `other`. Does nothing if both are the same stream.
  /// Allocates nothing after the first call. Throws like `wait` for an event.
  void wait(StreamRef other);

  // --- Host work --------------------------------------------------------------------------------------------------

  /// Calls `function` on a thread of the driver, in stream order; later work waits until it has returned. `function` is any
  /// callable, even a move-only one. It must not call Weir (`called_from_host_function`), wait for work of this device, or
  /// take a lock that another thread holds while it calls Weir, because drivers hold their own lock in calls that wait. An
  /// exception that it throws is logged and rethrown by the stream's next `synchronize`; later work still runs. It must not
  /// end its thread (`pthread_exit`, cancellation): the process aborts. A captured function belongs to the graph and runs at
  /// every launch. If enqueuing fails, the function is destroyed. Feature `host_functions`.
  void launch_host_function(HostFunction function);
  /// The same for a function with a name: `launch_host_function(reduce, {.name = "reduce"})`. In a saved graph the name
  /// identifies the function, and `PortableGraph::bind` sets it after loading.
  void launch_host_function(HostFunction function, const HostFunctionOptions& options);
  /// Like a host function, but also called if the stream has failed: `callback(*this, status)`, where `status` is the error.
  /// Throws `capture_unsupported` while capturing. After cudaStreamAddCallback. Feature `stream_callbacks`.
  void add_callback(StreamCallback callback);

  // --- Capture ----------------------------------------------------------------------------------------------------

  /// Begins a capture: work submitted to this stream becomes part of a graph instead of running. So does work of other
  /// streams after they have waited for an event, or a stream, of the capture. The capture lasts until `end_capture`, or
  /// until the stream object that began it is closed or destroyed. Throws `already_capturing`; `capture_unsupported` for the
  /// legacy default stream. May wait for a `Device::synchronize`: see there. With `external`, joins a capture that other
  /// code began; throws `not_capturing` without one. Joins nest.
  void begin_capture(const CaptureOptions& options = {});
  void begin_capture(std::same_as<CaptureMode> auto mode) { begin_capture(CaptureOptions{.mode = mode}); }
  /// Ends the capture and returns its graph; null for a capture joined with `external`. The capture may have been begun
  /// through another `Stream` over the same handle. Throws `not_capturing`; if several threads end one capture, all but one
  /// get this error. Throws `capture_unmatched` if another stream began the capture, and `capture_wrong_thread`; then the
  /// capture continues. Throws `capture_unjoined` if a forked stream was not joined to this one, and `capture_invalidated`;
  /// then the capture has ended.
  GraphPtr end_capture();
  /// Ends the capture that this stream began, in any mode, and drops the captured work: for use when the thread that began
  /// it has failed or ended. A graph that the capture continues keeps the captured work. Throws `not_capturing`;
  /// `capture_unmatched` if another stream or other code began the capture. On the host any thread may call this. GPU
  /// drivers let only the thread that began it end a capture whose mode is not `relaxed`: on another thread this throws
  /// `capture_wrong_thread`, and the stream can only be closed, unless that thread ends the capture.
  void discard_capture();
  /// Captures the work that `function(*this)` submits. The capture is ended even if the function throws; its exception is
  /// rethrown. Throws `invalid_argument` for an empty function. The function may drop the last other owner of the stream.
  template <class F>
  GraphPtr capture(const CaptureOptions& options, F&& function) {
    if (detail::is_empty(function)) return capture_call(options, nullptr);
    return capture_call(options, [&](Stream& stream) { std::forward<F>(function)(stream); });
  }
  template <class F>
  GraphPtr capture(CaptureMode mode, F&& function) {
    return capture(CaptureOptions{.mode = mode}, std::forward<F>(function));
  }
  template <class F>
  GraphPtr capture(F&& function) {
    return capture(CaptureOptions{}, std::forward<F>(function));
  }
  /// Whether the stream captures. The query never invalidates the capture.
  [[nodiscard]] CaptureStatus capture_status() const;
  /// Whether the stream is in a capture, which an error may have invalidated.
  [[nodiscard]] bool is_capturing() const { return capture_status() != CaptureStatus::none; }
  /// The id of the stream's capture; 0 without one, or if an error has invalidated it. (cuStreamGetCaptureInfo)
  [[nodiscard]] std::uint64_t capture_id() const;
  /// The status, the id, and the graph that is being built.
  [[nodiscard]] CaptureInfo capture_info() const;

  /// The node of the operation that this stream captured last. Throws `not_capturing`; `invalid_argument` if the stream's
  /// next operation depends on no node, or on several because it has just waited for another stream.
  [[nodiscard]] GraphNode last_captured_node() const;
  /// Makes the stream's next operation depend on exactly these nodes of the graph being captured; without nodes it becomes a
  /// root. Nodes that the capture's stream no longer depends on need not be joined. Throws `not_capturing`, and
  /// `invalid_argument` for a node that does not exist. (cuStreamUpdateCaptureDependencies)
  void set_capture_dependencies(std::span<const GraphNode> nodes);

  /// Continues to capture into `graph`, after its leaves; `end_capture` returns the same graph. So `end_capture` pauses a
  /// capture and this function resumes it. Until the capture ends, the graph cannot be instantiated, cloned, added as a
  /// child or continued by another stream: `capture_unsupported`. Feature `capture_into_graph`.
  void resume_capture(Ref<Graph> graph, CaptureMode mode = CaptureMode::thread_local_);
  /// Adds a copy of `graph` as one node of the graph being captured. Throws `not_capturing`; `unsupported` for a graph that
  /// allocates memory, which cannot be copied; `capture_unsupported` for a graph that a capture continues. The host backend
  /// throws `invalid_argument` if graphs are nested more than 1000 levels deep. Feature `graph_child_nodes`.
  void add_child_graph(GraphRef graph);
  /// Adds a conditional node: when a launch reaches it and the 32-bit value at `condition` is not zero, it runs its body.
  /// The device must be able to read `condition`. `body` is called once, now, with a stream that captures the node's body,
  /// in the mode of this capture. Until it returns, the streams of this capture accept no calls (`capture_unmatched`),
  /// because their work would run whatever the condition is. Streams that wait for the body's stream must be joined to it
  /// again before `body` returns. Throws `not_capturing`; `capture_unjoined` if one is not joined, and the exceptions of
  /// `body`: then the capture continues, and may contain a node with part of the body. If external code invalidates the
  /// body's capture, this and the end of this capture throw `capture_invalidated`. Feature `graph_conditional_nodes`.
  void capture_if(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body);
  /// The same, and runs `otherwise` if the value is zero. Feature `graph_switch_nodes`.
  void capture_if(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body,
                  UniqueFunction<void(Stream&)> otherwise);
  /// The same, but runs the body whose index equals the value; no body if the value is too large. Feature
  /// `graph_switch_nodes`.
  void capture_switch(const std::uint32_t* condition, std::span<UniqueFunction<void(Stream&)>> bodies);
  /// The same, but repeats the body while the value is not zero.
  void capture_while(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body);

  // --- Copies and fills -------------------------------------------------------------------------------------------

  /// Copies all elements of `source` to `destination`. Each is a `Buffer`, a `Span`, a `std::span`, a container or an array,
  /// of the same element type. The driver finds the direction from the addresses. Copies of device, pinned and managed
  /// memory do not block the caller; those of pageable memory may, and pending work must not write their source: CUDA reads
  /// up to 2 MiB of it when the call is made, and in a graph when the graph is launched. Throws `length_mismatch`. Zero
  /// elements: does nothing.
  template <ElementRange To, ElementRange From>
  void copy(To&& destination, From&& source) {
    Span to = detail::lasting_span(std::forward<To>(destination));
    Span from = detail::lasting_span(std::forward<From>(source));
    using T = typename decltype(to)::element_type;
    detail::check_copyable<T, typename decltype(from)::element_type>();
    if (to.size() != from.size()) detail::throw_length_mismatch("Stream::copy", describe(), to.size(), from.size());
    copy_bytes(to.data(), from.data(), detail::byte_count("Stream::copy", to.size(), sizeof(T)));
  }
  /// Copies `bytes` bytes.
  void copy_bytes(void* destination, const void* source, std::size_t bytes);
  /// Copies all elements of `source` to the host after all work enqueued so far, waits, and returns them as a vector. Throws
  /// like `synchronize`.
  template <ElementRange From>
  [[nodiscard]] auto read(From&& source) {
    Span from(source);
    using T = std::remove_const_t<typename decltype(from)::element_type>;
    static_assert(std::is_trivially_copyable_v<T>, "device memory holds trivially copyable types only");
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> packs its elements; copy to an array of bool");
    const std::size_t bytes = detail::byte_count("Stream::read", from.size(), sizeof(T));
    std::vector<T> elements(from.size());
    read_bytes(elements.data(), from.data(), bytes);
    return elements;
  }
  /// Copies `bytes` bytes and waits. Throws like `synchronize`; while capturing, before anything is enqueued.
  void read_bytes(void* destination, const void* source, std::size_t bytes);
  /// Copies a box of elements to another one of the same extent; after cudaMemcpy2DAsync and cudaMemcpy3DAsync. Throws
  /// `length_mismatch`; `invalid_argument` if rows or slices overlap, or if a slice pitch is not a multiple of the row
  /// pitch.
  template <class T>
  void copy(const PitchedSpan<T>& destination, const std::type_identity_t<PitchedSpan<const T>>& source) {
    detail::check_copyable<T, T>();
    copy_pitched(detail::bytes_of("Stream::copy", destination), detail::bytes_of("Stream::copy", source));
  }
  /// Makes many copies in one call, after cuMemcpyBatchAsync. They run in any order and possibly concurrently, so no
  /// destination may overlap another copy's source or destination. Later work of the stream waits for all of them. While
  /// capturing, each is a node. Feature `batch_copies`. An empty list and empty copies do nothing.
  void copy_batch(std::span<const BatchCopy> copies, SourceAccess access = SourceAccess::in_stream_order);
  /// Copies between two devices of this backend: directly if they can access each other, otherwise through the host.
  void copy_peer(void* destination, const Device& destination_device, const void* source, const Device& source_device,
                 std::size_t bytes);

  /// Sets every element to `value`, which converts to the element type: any trivially copyable type. Elements of 1, 2 and 4
  /// bytes, and others whose words are all equal, take one memset of the driver; other elements take one memset for each
  /// word (two for a `double`).
  template <ElementRange To, class T>
  void fill(To&& destination, const T& value) {
    Span to = detail::lasting_span(std::forward<To>(destination));
    using E = typename decltype(to)::element_type;
    static_assert(!std::is_const_v<E>, "the destination of a fill must not be const");
    static_assert(std::is_convertible_v<const T&, E>, "the value must convert to the element type");
    static_assert(std::is_trivially_copyable_v<E>, "device memory holds trivially copyable types only");
    if constexpr (alignof(E) == sizeof(E) && sizeof(E) <= 4) {
      fill_elements(to.data(), detail::bits_of(static_cast<E>(value)), sizeof(E), to.size());
    } else {
      const E element = static_cast<E>(value);
      fill_pattern(to.data(), &element, sizeof(E), alignof(E), to.size());
    }
  }
  /// Sets every byte of the elements to 0. Elements may have any size.
  template <ElementRange To>
  void zero(To&& destination) {
    Span to = detail::lasting_span(std::forward<To>(destination));
    using E = typename decltype(to)::element_type;
    static_assert(!std::is_const_v<E>, "the destination of a fill must not be const");
    static_assert(std::is_trivially_copyable_v<E>, "device memory holds trivially copyable types only");
    fill_elements(to.data(), 0, 1, detail::byte_count("Stream::zero", to.size(), sizeof(E)));
  }
  /// Sets `count` elements of `element_size` bytes (1, 2 or 4) to the low bits of `value`.
  void fill_elements(void* destination, std::uint32_t value, std::size_t element_size, std::size_t count);
  /// Sets `count` elements to the `element_size` bytes at `element`, which are read before the call returns. `alignment`:
  /// that of `destination`, a power of 2. Throws `invalid_argument` for null addresses.
  void fill_pattern(void* destination, const void* element, std::size_t element_size, std::size_t alignment,
                    std::size_t count);
  /// Sets every element of a box, of 1, 2 or 4 bytes, to `value`; after cudaMemset2DAsync and cudaMemset3DAsync. Throws
  /// `invalid_argument` like `copy`, and if the pitch is not a multiple of the element's size.
  template <class E>
  void fill(const PitchedSpan<E>& destination, const std::type_identity_t<E>& value) {
    static_assert(!std::is_const_v<E>, "the destination of a fill must not be const");
    static_assert(std::is_trivially_copyable_v<E> && alignof(E) == sizeof(E) && sizeof(E) <= 4,
                  "a box is filled with elements of 1, 2 or 4 bytes");
    fill_pitched(detail::bytes_of("Stream::fill", destination), detail::bits_of(value), sizeof(E));
  }

  // --- Memory on the stream ---------------------------------------------------------------------------------------

  /// Allocates memory in stream order, for work that is enqueued after this call. The last owner's release frees it on this
  /// stream, after all work enqueued by then. `pool`: a pool of this device; null for the default pool. Feature
  /// `async_allocation`; while capturing `graph_memory_nodes`.
  [[nodiscard]] AllocationPtr allocate_bytes_async(std::size_t bytes, MemoryPoolRef pool = nullptr);
  /// Allocates `count` elements of `T` in the same way.
  template <class T>
  [[nodiscard]] Buffer<T> allocate_async(std::size_t count, MemoryPoolRef pool = nullptr) {
    return Buffer<T>(allocate_bytes_async(detail::byte_count("Stream::allocate_async", count, sizeof(T)), pool), count);
  }
  /// Sets which streams may access managed memory. Throws `invalid_argument` for memory of another kind and for null;
  /// `capture_unsupported` while capturing. Feature `managed_attach`.
  void attach_memory(AllocationRef managed, AttachMode mode);
  template <class T>
  void attach_memory(const Buffer<T>& managed, AttachMode mode) {
    attach_memory(managed.allocation(), mode);
  }
  /// Moves managed memory to this stream's device, or to the host. The memory may belong to any device of this backend.
  /// Throws `invalid_argument` for memory of another kind, for null, and for bytes outside the allocation;
  /// `capture_unsupported` while capturing. Feature `managed_prefetch`.
  void prefetch(AllocationRef managed, PrefetchTarget target = PrefetchTarget::device) {
    prefetch(managed, 0, managed ? managed->size_bytes() : 0, target);
  }
  /// The same for the bytes `[offset, offset + bytes)` only.
  void prefetch(AllocationRef managed, std::size_t offset, std::size_t bytes, PrefetchTarget target);
  template <class T>
  void prefetch(const Buffer<T>& managed, PrefetchTarget target = PrefetchTarget::device) {
    prefetch(managed.allocation(), 0, managed.size_bytes(), target);
  }

  /// Writes a value once all earlier work is done. `address`: a device address, aligned to the value's size.
  /// Features `write_value_32`, `write_value_64`; while capturing `memory_operations_in_capture`.
  void write_value(std::uint32_t* address, std::uint32_t value) { memory_operation(MemoryOperation::write(address, value)); }
  void write_value(std::uint64_t* address, std::uint64_t value) { memory_operation(MemoryOperation::write(address, value)); }
  /// Makes later work wait until the value at `address` satisfies the condition. The host, another stream or another device
  /// may write the value. This blocks no other stream, and not the host. Features `wait_value_32`, `wait_value_64`;
  /// `wait_value_geq`, `wait_value_nor` and `wait_value_flush` for those options.
  void wait_value(const std::uint32_t* address, std::uint32_t value, WaitCondition condition = WaitCondition::geq,
                  RemoteWrites remote = RemoteWrites::no_flush) {
    memory_operation(MemoryOperation::wait(address, value, condition, remote));
  }
  void wait_value(const std::uint64_t* address, std::uint64_t value, WaitCondition condition = WaitCondition::geq,
                  RemoteWrites remote = RemoteWrites::no_flush) {
    memory_operation(MemoryOperation::wait(address, value, condition, remote));
  }
  /// Submits many memory operations in one call. They run in order, and no work of another thread comes in between. Feature
  /// `batch_memory_operations`, and those of the operations. Empty: does nothing.
  void batch_memory_operations(std::span<const MemoryOperation> operations);

  // --- Kernels ----------------------------------------------------------------------------------------------------

  /// Launches `kernel`: `launch(kernel, {4, 256}, n, x)` runs it on 4 blocks of 256 threads. Arguments are passed by value:
  /// a trivially copyable value itself; a `Buffer`, `Span` or `std::span` as the address of its first element. Throws
  /// `wrong_device`; `invalid_argument` for an impossible shape, if the number or the sizes of the arguments do not match
  /// the kernel's, and if only one of argument and parameter is a floating-point number (both are checked as far as the
  /// backend can determine the kernel's parameters). Features `cooperative_launch` and `block_cooperation` if the
  /// configuration needs them.
  template <class... Args>
  void launch(KernelRef kernel, const LaunchConfig& config, const Args&... args) {
    (detail::explain_kernel_argument<Args>(), ...);
    if constexpr ((KernelArgument<Args> && ...)) {
      if (!kernel) [[unlikely]]
        detail::throw_null_kernel(*this);
      std::tuple<decltype(detail::kernel_argument(args))...> values(detail::kernel_argument(args)...);
      std::apply(
          [&](auto&... v) {
            void* addresses[sizeof...(v) + 1] = {&v...};
            const std::span<const Parameter>& parameters = detail::parameters_of<std::remove_reference_t<decltype(v)>...>;
            if (is_watched()) [[unlikely]] {
              const std::array<MemoryAccess, sizeof...(v)> accesses{detail::access_of(args)...};
              launch_checked(*kernel, config, addresses, parameters, accesses.data());
            } else {
              launch_packed(*kernel, config, addresses, parameters);
            }
          },
          values);
    }
  }
  /// The same for a kernel with known parameter types: arguments that do not convert to them do not compile. See
  /// `KernelParameter` for the conversions.
  template <class... P>
  void launch(const TypedKernel<void(P...)>& kernel, const LaunchConfig& config,
              std::type_identity_t<KernelParameter<P>>... args) {
    if (!kernel) detail::throw_null_kernel(*this);
    void* const addresses[sizeof...(P) + 1] = {args.address()...};
    if (is_watched()) [[unlikely]] {
      const std::array<MemoryAccess, sizeof...(P)> accesses{args.access()...};
      launch_checked(*kernel, config, addresses, kernel.parameters(), accesses.data());
    } else {
      launch_packed(*kernel, config, addresses, kernel.parameters());
    }
  }
  /// Launches with the addresses of the arguments, which are copied before the call returns: for arguments whose types are
  /// known only at run time, and for bindings. `parameters`: the size of each argument, and its kind if it is known:
  /// `{{sizeof(n)}, {sizeof(p), ParameterKind::address}}`. Without the kind of an 8-byte argument, graphs of portable
  /// captures cannot be saved, and tools treat it as an address. `accesses`: the memory of each argument, for tools; if
  /// it is empty, they use `parameters`. Throws `invalid_argument` also for an address that is null, and if the lists
  /// differ in length.
  void launch_raw(KernelRef kernel, const LaunchConfig& config, std::span<void* const> arguments,
                  std::span<const Parameter> parameters, std::span<const MemoryAccess> accesses = {});

  // --- Attributes -------------------------------------------------------------------------------------------------

  /// How a host thread waits in `synchronize`. Feature `synchronization_policy`.
  SynchronizationPolicy synchronization_policy() const;
  /// Sets how a host thread waits in `synchronize`. Feature `synchronization_policy`.
  void set_synchronization_policy(SynchronizationPolicy policy);
  /// The window of memory that the L2 cache keeps for this stream. Feature `access_policy_window`.
  AccessPolicyWindow access_policy_window() const;
  /// Sets it. Throws `invalid_argument` for a ratio that is not between 0 and 1.
  void set_access_policy_window(const AccessPolicyWindow& window);
  /// Copies the settable attributes from `other`, a stream of the same device. Priority and blocking behaviour do not
  /// change.
  void copy_attributes(StreamRef other);

 private:
  friend class StreamImpl;
  friend struct detail::StreamCore;

  Stream(Device& device, void* handle, StreamKind kind) noexcept : device_(&device), handle_(handle), kind_(kind) {}

  // Called by the templates and inline functions above.
  GraphPtr capture_call(const CaptureOptions& options, UniqueFunction<void(Stream&)>&& function);
  // The fast path, and the path of all other launches. `accesses`: one for each argument, or null to use `parameters`.
  void launch_packed(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                     const std::span<const Parameter>& parameters);
  void launch_checked(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                      const std::span<const Parameter>& parameters, const MemoryAccess* accesses);
  // There are tools, or the capture is recorded for saving; the other flags are in core/runtime/stream_core.hpp.
  static constexpr std::uint32_t flag_watched = 128;
  bool is_watched() const noexcept { return (flags_.load(std::memory_order_relaxed) & flag_watched) != 0; }
  void memory_operation(const MemoryOperation& operation);
  void copy_pitched(const detail::PitchedBytes& to, const detail::PitchedBytes& from);
  void fill_pitched(const detail::PitchedBytes& to, std::uint32_t value, std::size_t element_size);

  Device* device_;
  void* handle_;
  std::atomic<std::uint32_t> flags_{0};
  StreamKind kind_;
};

}  // namespace weir
