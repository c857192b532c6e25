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

/// Streams. A stream is a queue of work on one device; its work runs in the order of the calls.
namespace weir {

/// Levels of priority. Weir maps them to the device's priorities; a device with only one priority accepts all levels.
enum class Priority : std::uint8_t { normal, low, high };

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
  /// A level, or a number in `Device::priority_range`.
  std::variant<Priority, int> priority = Priority::normal;
};

/// How a stream was created, and who owns the vendor's stream.
enum class StreamKind : std::uint8_t { owned, borrowed, adopted, legacy_default, per_thread_default };

/// Who owns a native handle that a stream wraps.
enum class Ownership : std::uint8_t {
  borrow,  ///< other code owns the handle; Weir never destroys it
  adopt,   ///< Weir owns the handle and destroys it with the stream's last owner
};

namespace detail {

[[noreturn]] WEIR_API void throw_null_kernel(const Stream& stream);

// The parts of `Stream::read`, `fill` and `zero` that do not depend on the type of the elements. For bindings, too.

/// Copies `bytes` bytes to the host and blocks until the copy is done. On a capturing stream, enqueues nothing.
WEIR_API void read_bytes(Stream& stream, void* destination, const void* source, std::size_t bytes);
/// Sets `count` elements of `element_size` bytes (1, 2 or 4) to the low bits of `value`.
WEIR_API void fill_elements(Stream& stream, void* destination, std::uint32_t value, std::size_t element_size,
                            std::size_t count);
/// Sets `count` elements to the `element_size` bytes at `element`, which are read before the call returns. `alignment`: the
/// alignment of `destination` in bytes, a power of 2. Throws `invalid_argument` for null addresses.
WEIR_API void fill_pattern(Stream& stream, void* destination, const void* element, std::size_t element_size,
                           std::size_t alignment, std::size_t count);

/// The bytes of a value of 1, 2 or 4 bytes, zero-extended to 32 bits.
template <class E>
std::uint32_t bits_of(const E& value) noexcept {
  std::uint32_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(E));
  return bits;
}

}  // namespace detail

/// The options of a host function.
struct HostFunctionOptions {
  std::string_view name = {};  ///< shown by tools and `Stream::pending`; identifies the function in a saved graph
};

/// A callback for `Stream::add_callback`. Its arguments are the stream and the stream's error, if it has failed.
using StreamCallback = UniqueFunction<void(Stream&, std::error_code)>;

/// A queue of work on one device (cudaStream_t). Made by `Device::create_stream`, `default_stream`, `per_thread_stream` or
/// `wrap_stream`.
///
/// The work of one stream runs in the order of the calls. Work of different streams runs in any order, unless events, `wait`
/// or the legacy default stream order it. Functions that enqueue work return before the work is done. Memory must live until
/// all work that uses it is done.
///
/// Any number of threads may enqueue work on a stream concurrently; the order of such work is not defined. While one thread
/// closes a stream, no other thread may use it. While one thread begins or ends a capture, no other thread may submit work
/// to the stream or to streams that joined the capture, because CUDA's driver would crash. Any thread may query the capture
/// status, and begin and end captures, at any time.
///
/// All functions throw these errors before they call the driver: `stream_closed`; `called_from_host_function`;
/// `forked_process`; `wrong_thread` for another thread's per-thread default stream; `unsupported`, with the reason, if the
/// device lacks the feature that the function's comment names. Errors of the driver are thrown as `device_fault` (work on
/// the device failed) or `backend_failure`.
class WEIR_API Stream : public RefCounted {
 public:
  // --- Identity ---------------------------------------------------------------------------------------------------

  /// The device that the stream's work runs on.
  Device& device() const noexcept { return *device_; }
  /// How the stream was created.
  StreamKind kind() const noexcept { return kind_; }
  /// The vendor's stream (cudaStream_t, hipStream_t; a queue on the host backend), for comparing and logging.
  [[nodiscard]] void* native_handle() const noexcept { return handle_; }
  /// Returns the vendor's stream for code that will use it through the vendor's API, or for `Device::wrap_stream`. This
  /// object still owns the handle. Such code may begin a capture, so from now on each call on this stream first queries the
  /// driver for captures.
  void* share_native_handle();
  /// The vendor's context (CUcontext). Feature `native_context`.
  void* native_context() const;
  /// A number that is unique for the life of the process. It is the driver's id, as profilers show it, if the feature
  /// `stream_id` is native.
  [[nodiscard]] std::uint64_t id() const;
  /// Whether the stream and the legacy default stream do not wait for each other.
  [[nodiscard]] bool is_non_blocking() const;
  /// The stream's priority in the vendor's numbering.
  [[nodiscard]] int priority() const;
  /// Whether `close` or `release_handle` was called.
  [[nodiscard]] bool is_closed() const noexcept;
  /// Names the native stream for tools, descriptions and errors, until this object closes it or is destroyed. The newest
  /// name counts if several objects name it. Empty removes the name that this object set.
  void set_name(std::string_view name);
  /// The name, if this object has set one; else empty.
  [[nodiscard]] std::string name() const;
  /// Describes the stream: "cuda:0 stream 0x55… (capturing)", or with its name "cuda:0 stream 'copies' 0x55…". Also
  /// works for a closed stream.
  [[nodiscard]] std::string describe() const;

  /// Two streams are equal if they wrap the same native stream of the same device. Per-thread default streams of different
  /// threads are not equal. A closed stream equals only itself. `StreamRef` compares and hashes the same way; it can be a
  /// key of `std::map` and `std::unordered_map`.
  WEIR_API friend bool operator==(const Stream& a, const Stream& b) noexcept;
  /// A total order, for keys of ordered containers. Do not close a stream that is a key, because this changes its place in
  /// the order.
  WEIR_API friend std::strong_ordering operator<=>(const Stream& a, const Stream& b) noexcept;
  /// A hash consistent with `==`.
  std::size_t hash() const noexcept;
  WEIR_API friend std::ostream& operator<<(std::ostream&, const Stream&);

  // --- Kernels ----------------------------------------------------------------------------------------------------

  /// Launches `kernel`: `launch(kernel, {4, 256}, n, x)` runs it on 4 blocks of 256 threads. Arguments are passed by value:
  /// a trivially copyable value itself; a `Buffer`, `Span` or `std::span` as the address of its first element. Throws
  /// `wrong_device`; `invalid_argument` for a shape that the device or the kernel cannot run, if the number or the sizes of
  /// the arguments do not match the kernel's parameters, and if a floating-point number is passed for a parameter of another
  /// kind, or the reverse. The arguments are checked as far as the backend can determine the kernel's parameters. Dynamic
  /// shared memory needs the feature `block_cooperation`, and each attribute in `config` the feature that is named there.
  /// (cuLaunchKernel, cuLaunchKernelEx)
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
  /// Like the overload above, for a kernel whose parameter types are known at compile time. The arguments are converted to
  /// these types; a launch with an argument that does not convert does not compile (see `KernelParameter`).
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
  /// Launches a kernel with arguments whose types are known only at run time. `arguments`: the address of each argument; the
  /// arguments are copied before the call returns. `parameters`: the size of each argument, and its kind if it is known:
  /// `{{sizeof(n)}, {sizeof(p), ParameterKind::address}}`. If the kind of an 8-byte argument is unknown, tools treat it as
  /// an address, and a portable capture with this launch cannot be saved. `accesses`: the memory of each argument, for
  /// tools; if empty, tools use `parameters`. Throws like `launch`; `invalid_argument` for a null address, and if the lists
  /// differ in length.
  void launch_raw(KernelRef kernel, const LaunchConfig& config, std::span<void* const> arguments,
                  std::span<const Parameter> parameters, std::span<const MemoryAccess> accesses = {});

  // --- Copies and fills -------------------------------------------------------------------------------------------

  /// Copies all elements of `source` to `destination`. Both are a `Buffer`, a `Span`, a `std::span`, a container or an
  /// array, with the same element type. The driver finds the direction from the addresses. Copies between device, pinned and
  /// managed memory do not block the caller; copies from or to pageable memory may. If the source is pageable memory, no
  /// pending work may write it, because CUDA reads up to 2 MiB of it during the call (in a graph, during the launch). Throws
  /// `length_mismatch`. A copy of no elements does nothing. (cudaMemcpyAsync)
  template <ElementRange To, ElementRange From>
  void copy(To&& destination, From&& source) {
    Span to = detail::lasting_span(std::forward<To>(destination));
    Span from = detail::lasting_span(std::forward<From>(source));
    using T = typename decltype(to)::element_type;
    detail::check_copyable<T, typename decltype(from)::element_type>();
    if (to.size() != from.size()) detail::throw_length_mismatch("Stream::copy", describe(), to.size(), from.size());
    copy_bytes(to.data(), from.data(), detail::byte_count("Stream::copy", to.size(), sizeof(T)));
  }
  /// Copies `bytes` bytes from `source` to `destination`; otherwise like `copy`.
  void copy_bytes(void* destination, const void* source, std::size_t bytes);
  /// Copies all elements of `source` to the host after all work enqueued so far, blocks until the copy is done, and returns
  /// the elements as a vector. Throws like `synchronize`.
  template <ElementRange From>
  [[nodiscard]] auto read(From&& source) {
    Span from(source);
    using T = std::remove_const_t<typename decltype(from)::element_type>;
    static_assert(std::is_trivially_copyable_v<T>, "device memory holds trivially copyable types only");
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> packs its elements; copy to an array of bool");
    const std::size_t bytes = detail::byte_count("Stream::read", from.size(), sizeof(T));
    std::vector<T> elements(from.size());
    detail::read_bytes(*this, elements.data(), from.data(), bytes);
    return elements;
  }
  /// Copies a box of elements to another box of the same extent. Throws `length_mismatch` if the extents differ;
  /// `invalid_argument` if rows or slices overlap, or if a slice pitch is not a multiple of the row pitch.
  /// (cudaMemcpy2DAsync, cudaMemcpy3DAsync)
  template <class T>
  void copy(const PitchedSpan<T>& destination, const std::type_identity_t<PitchedSpan<const T>>& source) {
    detail::check_copyable<T, T>();
    copy_pitched(detail::bytes_of("Stream::copy", destination), detail::bytes_of("Stream::copy", source));
  }
  /// Makes many copies in one call. The copies run in any order and possibly concurrently, so no destination may overlap the
  /// source or destination of another copy. Later work of the stream waits for all of them. On a capturing stream, each copy
  /// becomes a node. An empty list and empty copies do nothing. Feature `batch_copies`. (cuMemcpyBatchAsync)
  void copy_batch(std::span<const BatchCopy> copies, SourceAccess access = SourceAccess::in_stream_order);
  /// Copies between two devices of this backend: directly if they can access each other, otherwise through the host.
  /// (cudaMemcpyPeerAsync)
  void copy_peer(void* destination, const Device& destination_device, const void* source, const Device& source_device,
                 std::size_t bytes);

  /// Sets every element to `value`, converted to the element type, which can be any trivially copyable type. Elements of 1,
  /// 2 or 4 bytes, and larger elements whose words are all equal, need one memset of the driver. Other elements need one
  /// memset for each word: two for a `double`. (cuMemsetD32Async)
  template <ElementRange To, class T>
  void fill(To&& destination, const T& value) {
    Span to = detail::lasting_span(std::forward<To>(destination));
    using E = typename decltype(to)::element_type;
    static_assert(!std::is_const_v<E>, "the destination of a fill must not be const");
    static_assert(std::is_convertible_v<const T&, E>, "the value must convert to the element type");
    static_assert(std::is_trivially_copyable_v<E>, "device memory holds trivially copyable types only");
    if constexpr (alignof(E) == sizeof(E) && sizeof(E) <= 4) {
      detail::fill_elements(*this, to.data(), detail::bits_of(static_cast<E>(value)), sizeof(E), to.size());
    } else {
      const E element = static_cast<E>(value);
      detail::fill_pattern(*this, to.data(), &element, sizeof(E), alignof(E), to.size());
    }
  }
  /// Sets every byte of the elements to 0. Elements may have any size.
  template <ElementRange To>
  void zero(To&& destination) {
    Span to = detail::lasting_span(std::forward<To>(destination));
    using E = typename decltype(to)::element_type;
    static_assert(!std::is_const_v<E>, "the destination of a fill must not be const");
    static_assert(std::is_trivially_copyable_v<E>, "device memory holds trivially copyable types only");
    detail::fill_elements(*this, to.data(), 0, 1, detail::byte_count("Stream::zero", to.size(), sizeof(E)));
  }
  /// Sets every element of a box to `value`. Elements have 1, 2 or 4 bytes. Throws `invalid_argument` like `copy`, and if
  /// the pitch is not a multiple of the element's size. (cudaMemset2DAsync, cudaMemset3DAsync)
  template <class E>
  void fill(const PitchedSpan<E>& destination, const std::type_identity_t<E>& value) {
    static_assert(!std::is_const_v<E>, "the destination of a fill must not be const");
    static_assert(std::is_trivially_copyable_v<E> && alignof(E) == sizeof(E) && sizeof(E) <= 4,
                  "a box is filled with elements of 1, 2 or 4 bytes");
    fill_pitched(detail::bytes_of("Stream::fill", destination), detail::bits_of(value), sizeof(E));
  }

  // --- Host work --------------------------------------------------------------------------------------------------

  /// Enqueues a call of `function` on a thread of the driver. It runs after earlier work of the stream, and later work waits
  /// until it has returned. `function` is any callable, even a move-only one. If enqueuing fails, it is destroyed. A
  /// captured function belongs to the graph and runs at every launch.
  ///
  /// The function must not call Weir (`called_from_host_function`), wait for work of this device, or lock a mutex that
  /// another thread holds while it calls Weir. The last would deadlock, because drivers hold a lock of their own during
  /// calls that wait. If the function throws, the exception is logged, later work still runs, and the stream's next
  /// `synchronize` rethrows the exception. The function must not end its thread (`pthread_exit`, cancellation): the process
  /// would abort. Feature `host_functions`. (cudaLaunchHostFunc)
  void launch_host_function(HostFunction function);
  /// Like the overload above, for a function with a name: `launch_host_function(reduce, {.name = "reduce"})`. In a saved
  /// graph the name identifies the function, so that `PortableGraph::bind` can provide it after loading.
  void launch_host_function(HostFunction function, const HostFunctionOptions& options);
  /// Like a host function, but also called if the stream has failed: `callback(*this, status)`, where `status` is the error.
  /// Throws `capture_unsupported` on a capturing stream. Feature `stream_callbacks`. (cudaStreamAddCallback)
  void add_callback(StreamCallback callback);

  // --- Ordering ---------------------------------------------------------------------------------------------------

  /// Blocks the calling thread until all work enqueued so far is done. Throws the device's error if the work failed, and
  /// rethrows the exception of a host function. Throws `capture_unsupported` if this stream is capturing, or if the mode of
  /// an open capture does not allow the calling thread to wait; the capture continues. (cudaStreamSynchronize)
  void synchronize();
  /// Whether all work enqueued so far is done. Throws the device's error if the work failed, except on the CPU, where only
  /// `synchronize` does. Throws `capture_unsupported` like `synchronize`. (cudaStreamQuery)
  [[nodiscard]] bool is_complete() const;
  /// Like `synchronize`, but returns false if the work is not done after `timeout`; the work continues. A timeout of zero or
  /// less queries once. Polls the driver with pauses of up to a millisecond. After a timeout, `pending` describes the
  /// operation that has not ended.
  [[nodiscard]] bool synchronize_for(Timeout timeout);
  /// Describes the first operation that is not done. Exact on the host backend; on GPUs Weir identifies the operation only
  /// if the environment variable WEIR_JOURNAL is set: see docs/health.md. Invalidates no capture of other streams. Throws
  /// `capture_unsupported` if this stream is capturing; the device's error if the work failed.
  [[nodiscard]] PendingWork pending() const;

  /// Creates an event, records it after all work enqueued so far, and returns it. (cudaEventRecord)
  [[nodiscard]] EventPtr record(const EventOptions& options = {});
  /// Records `event` after all work enqueued so far. Throws `wrong_device` if it belongs to another device.
  /// (cudaEventRecord)
  void record(Ref<Event> event);
  /// Records `event` as a node of the graph being captured: each launch of the graph records it. Work outside the graph can
  /// wait for the event, and the event can measure time inside the graph. Throws `not_capturing`. Feature `external_events`.
  /// (cudaEventRecordExternal)
  void record_external(Ref<Event> event);

  /// Makes later work of this stream wait for `event`. Does not block the host. The event may belong to another device of
  /// the same backend. Throws `unsupported` for an event of another backend; `capture_isolation` or `capture_merge` if the
  /// wait would invalidate a capture; the capture continues. (cudaStreamWaitEvent)
  void wait(EventRef event);
  /// Adds a node that waits for `event` to the graph being captured: each launch of the graph waits for the event's last
  /// record. Throws `not_capturing`. Feature `external_events`. (cudaEventWaitExternal)
  void wait_external(EventRef event);
  /// Makes later work of this stream wait for all work enqueued so far on `other`. Does nothing if both are the same stream.
  /// Allocates no memory after the first call. Throws like `wait` for an event.
  void wait(StreamRef other);

  // --- Memory on the stream ---------------------------------------------------------------------------------------

  /// Allocates memory in stream order, for work that is enqueued after this call. When the last owner releases the memory,
  /// it is freed in the order of this stream, after all work enqueued before the release. `pool`: a pool of this device;
  /// null for the default pool. Feature `async_allocation`; on a capturing stream `graph_memory_nodes`. (cudaMallocAsync,
  /// cudaFreeAsync)
  [[nodiscard]] AllocationPtr allocate_bytes_async(std::size_t bytes, MemoryPoolRef pool = nullptr);
  /// Allocates `count` elements of `T` in the same way.
  template <class T>
  [[nodiscard]] Buffer<T> allocate_async(std::size_t count, MemoryPoolRef pool = nullptr) {
    return Buffer<T>(allocate_bytes_async(detail::byte_count("Stream::allocate_async", count, sizeof(T)), pool), count);
  }
  /// Sets which streams may access managed memory. Throws `invalid_argument` for memory of another kind and for null;
  /// `capture_unsupported` on a capturing stream. Feature `managed_attach`. (cudaStreamAttachMemAsync)
  void attach_memory(AllocationRef managed, AttachMode mode);
  template <class T>
  void attach_memory(const Buffer<T>& managed, AttachMode mode) {
    attach_memory(managed.allocation(), mode);
  }
  /// Moves managed memory to this stream's device or to the host, ahead of its use. The memory may belong to any device of
  /// this backend. Throws `invalid_argument` for memory of another kind, for null, and for bytes outside the allocation;
  /// `capture_unsupported` on a capturing stream. Feature `managed_prefetch`. (cudaMemPrefetchAsync)
  void prefetch(AllocationRef managed, PrefetchTarget target = PrefetchTarget::device) {
    prefetch(managed, 0, managed ? managed->size_bytes() : 0, target);
  }
  /// Like the overload above, for the bytes `[offset, offset + bytes)` only.
  void prefetch(AllocationRef managed, std::size_t offset, std::size_t bytes, PrefetchTarget target);
  template <class T>
  void prefetch(const Buffer<T>& managed, PrefetchTarget target = PrefetchTarget::device) {
    prefetch(managed.allocation(), 0, managed.size_bytes(), target);
  }

  /// Writes a value once all earlier work is done. `address`: a device address, aligned to the value's size. Features
  /// `write_value_32`, `write_value_64`; on a capturing stream `memory_operations_in_capture`. (cuStreamWriteValue32)
  void write_value(std::uint32_t* address, std::uint32_t value) { memory_operation(MemoryOperation::write(address, value)); }
  void write_value(std::uint64_t* address, std::uint64_t value) { memory_operation(MemoryOperation::write(address, value)); }
  /// Makes later work wait until the value at `address` satisfies the condition. The host, another stream or another device
  /// may write the value. The call blocks neither the host nor other streams. Features `wait_value_32`, `wait_value_64`; the
  /// conditions `geq` and `bit_nor` need `wait_value_geq` and `wait_value_nor`, and `RemoteWrites::flush` needs
  /// `wait_value_flush`. (cuStreamWaitValue32)
  void wait_value(const std::uint32_t* address, std::uint32_t value, WaitCondition condition = WaitCondition::geq,
                  RemoteWrites remote = RemoteWrites::no_flush) {
    memory_operation(MemoryOperation::wait(address, value, condition, remote));
  }
  void wait_value(const std::uint64_t* address, std::uint64_t value, WaitCondition condition = WaitCondition::geq,
                  RemoteWrites remote = RemoteWrites::no_flush) {
    memory_operation(MemoryOperation::wait(address, value, condition, remote));
  }
  /// Enqueues many memory operations in one call. They run in order, and no other work of the stream runs between them. An
  /// empty list does nothing. Feature `batch_memory_operations`, and the features of the single operations.
  /// (cuStreamBatchMemOp)
  void batch_memory_operations(std::span<const MemoryOperation> operations);

  // --- Capture ----------------------------------------------------------------------------------------------------

  /// Begins a capture: work submitted to this stream becomes part of a graph instead of running. Another stream that waits
  /// for this stream, or for an event recorded in the capture, joins the capture: its later work is also captured. The
  /// capture lasts until `end_capture`, or until the stream object that began it is closed or destroyed. Throws
  /// `already_capturing`; `capture_unsupported` for the legacy default stream. May block while another thread is in
  /// `Device::synchronize`: see there. (cudaStreamBeginCapture)
  void begin_capture(const CaptureOptions& options = {});
  void begin_capture(std::same_as<CaptureMode> auto mode) { begin_capture(CaptureOptions{.mode = mode}); }
  /// Ends the capture and returns its graph. The capture may have been begun through another `Stream` object with the same
  /// handle. Throws `not_capturing`, also if another thread is ending the same capture. The capture continues after
  /// `capture_unmatched` (another stream began the capture) and `capture_wrong_thread`. It has ended after
  /// `capture_unjoined` (this stream has not waited for a stream that joined the capture) and `capture_invalidated`.
  /// (cudaStreamEndCapture)
  GraphPtr end_capture();
  /// Ends the capture that this stream began, and drops the captured work. Use it if the thread that began the capture has
  /// failed or ended. If the capture was begun by `resume_capture`, the resumed graph keeps the captured work. Throws
  /// `not_capturing`; `capture_unmatched` if another stream or other code began the capture. On the host backend any thread
  /// may call this. On GPUs, unless the mode is `relaxed`, the driver allows only the thread that began the capture to end
  /// it: on any other thread this throws `capture_wrong_thread`. If that thread has ended, the stream can only be closed.
  void discard_capture();
  /// Calls `function(*this)`, captures the work that it submits, and returns the graph. If the function throws, ends the
  /// capture and rethrows the exception. The function may release the last owner of the stream. Throws `invalid_argument`
  /// for an empty function; otherwise like `begin_capture` and `end_capture`.
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
  /// Whether the stream is capturing. The query never invalidates the capture. (cudaStreamIsCapturing)
  [[nodiscard]] CaptureStatus capture_status() const;
  /// Whether the stream is in a capture, which an error may have invalidated.
  [[nodiscard]] bool is_capturing() const { return capture_status() != CaptureStatus::none; }
  /// The id of the stream's capture; 0 if the stream is not capturing or an error has invalidated the capture.
  /// (cuStreamGetCaptureInfo)
  [[nodiscard]] std::uint64_t capture_id() const;
  /// The status and the id of the capture, and the graph that is being built. (cuStreamGetCaptureInfo)
  [[nodiscard]] CaptureInfo capture_info() const;

  // --- Ending -----------------------------------------------------------------------------------------------------

  /// Closes the stream, without waiting for its work. The vendor's stream is destroyed once its work is done, unless it is
  /// borrowed. Ends and drops a capture that the stream began. A second call does nothing. Throws `invalid_argument` for a
  /// default stream, which cannot be closed. (cudaStreamDestroy)
  void close();
  /// Like `close`, but returns the native handle without destroying it: the caller becomes its owner. Throws
  /// `invalid_argument` if the stream is neither owned nor adopted, or belongs to a partition.
  [[nodiscard]] void* release_handle();

  // --- Graph nodes of a capture -----------------------------------------------------------------------------------

  /// The node of the operation that this stream captured last. Throws `not_capturing`; `invalid_argument` if the stream's
  /// next operation depends on no node, or on several nodes, which is possible after a wait.
  [[nodiscard]] GraphNode last_captured_node() const;
  /// Makes the stream's next operation depend on exactly these nodes of the graph being captured; without nodes, it depends
  /// on nothing. A node that no stream depends on afterwards need not be joined. Throws `not_capturing`, and
  /// `invalid_argument` for a node that does not exist. (cuStreamUpdateCaptureDependencies)
  void set_capture_dependencies(std::span<const GraphNode> nodes);

  /// Begins a capture that adds to `graph`: the new work runs after the graph's last nodes, and `end_capture` returns the
  /// same graph. So a program can pause a capture with `end_capture` and resume it with this function. Until the capture
  /// ends, the graph cannot be instantiated, cloned, added as a child, or resumed by another stream: such calls throw
  /// `capture_unsupported`. Feature `capture_into_graph`. (cudaStreamBeginCaptureToGraph)
  void resume_capture(Ref<Graph> graph, CaptureMode mode = CaptureMode::thread_local_);
  /// Adds a copy of `graph` as one node of the graph being captured. Throws `not_capturing`; `unsupported` for a graph that
  /// allocates memory, because such a graph cannot be copied; `capture_unsupported` for a graph into which a stream still
  /// captures. The host backend throws `invalid_argument` if graphs are nested more than 1000 levels deep. Feature
  /// `graph_child_nodes`. (cudaGraphAddChildGraphNode)
  void add_child_graph(GraphRef graph);
  /// Adds a conditional node to the graph being captured. When a launch reaches the node, it runs the node's body if the
  /// 32-bit value at `condition` is not zero. The device must be able to read `condition`.
  ///
  /// To capture the body, this function calls `body(stream)` once before it returns; the work that `body` submits to that
  /// stream becomes the node's body. Its capture has the mode of the outer capture. Until `body` returns, calls on the
  /// streams of the outer capture throw `capture_unmatched`, because their work would not depend on the condition. If other
  /// streams wait for the body's stream, that stream must wait for them before `body` returns.
  ///
  /// Throws `not_capturing`; `capture_unjoined` if the body's stream has not waited for such a stream; and the exceptions of
  /// `body`. After these errors of the body, the outer capture continues, and may contain a node with a part of the body. If
  /// external code invalidates the body's capture, this function and the end of the outer capture throw
  /// `capture_invalidated`. Feature `graph_conditional_nodes`. (cudaGraphCondTypeIf)
  void capture_if(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body);
  /// Like the overload above, with a second body, `otherwise`, which runs if the value is zero. Feature
  /// `graph_switch_nodes`.
  void capture_if(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body,
                  UniqueFunction<void(Stream&)> otherwise);
  /// Like `capture_if`, but a launch runs the body whose index equals the value, and no body if the value is too large.
  /// Feature `graph_switch_nodes`. (cudaGraphCondTypeSwitch)
  void capture_switch(const std::uint32_t* condition, std::span<UniqueFunction<void(Stream&)>> bodies);
  /// Like `capture_if`, but a launch repeats the body while the value is not zero. (cudaGraphCondTypeWhile)
  void capture_while(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body);

  // --- Attributes -------------------------------------------------------------------------------------------------

  /// How a host thread waits in `synchronize`. Feature `synchronization_policy`.
  SynchronizationPolicy synchronization_policy() const;
  /// Sets how a host thread waits in `synchronize`. Feature `synchronization_policy`.
  void set_synchronization_policy(SynchronizationPolicy policy);
  /// The window of memory that the L2 cache keeps for this stream. Feature `access_policy_window`.
  AccessPolicyWindow access_policy_window() const;
  /// Sets the window of memory that the L2 cache keeps for this stream. Throws `invalid_argument` for a hit ratio that is
  /// not between 0 and 1. Feature `access_policy_window`.
  void set_access_policy_window(const AccessPolicyWindow& window);
  /// Copies the synchronization policy and the access policy window from `other`, a stream of the same device. Feature
  /// `synchronization_policy`. (cudaStreamCopyAttributes)
  void copy_attributes(StreamRef other);

 private:
  friend class StreamImpl;
  friend struct detail::StreamCore;

  Stream(Device& device, void* handle, StreamKind kind) noexcept : device_(&device), handle_(handle), kind_(kind) {}

  // Called by the templates and inline functions above.
  GraphPtr capture_call(const CaptureOptions& options, UniqueFunction<void(Stream&)>&& function);
  // `launch_packed` is the fast path; `launch_checked` handles all other launches. `accesses`: one element for each
  // argument; if null, the accesses are derived from `parameters`.
  void launch_packed(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                     const std::span<const Parameter>& parameters);
  void launch_checked(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                      const std::span<const Parameter>& parameters, const MemoryAccess* accesses);
  // A bit of `flags_`: tools are loaded, or the stream is in a portable capture. The other bits are in
  // core/runtime/stream_core.hpp.
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
