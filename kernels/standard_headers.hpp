// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// CUDA's C++ library (libcu++) for whole CUDA programs, as far as programs use it: `<cuda/atomic>`, `<cuda/std/…>` over the
/// standard library, whose constexpr functions run on the device, and copies that are asynchronous in CUDA and done at once
/// here.
namespace weir::kernels {

/// `<nv/target>`: which of several texts the code for a target has.
inline constexpr std::string_view target_header = R"weir(
#define WEIR_NV_BLOCK(...) { __VA_OPT__(WEIR_NV_TEXT __VA_ARGS__) }
#define WEIR_NV_TEXT(...) __VA_ARGS__
#define WEIR_NV_1(yes, no) yes
#define WEIR_NV_0(yes, no) no
#define WEIR_NV_CHOOSE(condition, yes, no) WEIR_NV_CHOOSE_NOW(condition, yes, no)
#define WEIR_NV_CHOOSE_NOW(condition, yes, no) WEIR_NV_##condition(yes, no)
#define NV_IF_TARGET(condition, yes, ...) WEIR_NV_CHOOSE(condition, WEIR_NV_BLOCK(yes), WEIR_NV_BLOCK(__VA_ARGS__))
#define NV_IF_ELSE_TARGET(condition, yes, no) NV_IF_TARGET(condition, yes, no)
#define NV_DISPATCH_TARGET(condition, yes, ...) \
  WEIR_NV_CHOOSE(condition, WEIR_NV_BLOCK(yes), __VA_OPT__(WEIR_NV_DISPATCH_2(__VA_ARGS__)))
#define WEIR_NV_DISPATCH_2(condition, yes, ...) \
  WEIR_NV_CHOOSE(condition, WEIR_NV_BLOCK(yes), __VA_OPT__(WEIR_NV_DISPATCH_3(__VA_ARGS__)))
#define WEIR_NV_DISPATCH_3(condition, yes, ...) \
  WEIR_NV_CHOOSE(condition, WEIR_NV_BLOCK(yes), __VA_OPT__(WEIR_NV_DISPATCH_4(__VA_ARGS__)))
#define WEIR_NV_DISPATCH_4(condition, yes, ...) WEIR_NV_CHOOSE(condition, WEIR_NV_BLOCK(yes), )
#define NV_ANY_TARGET 1
#define NV_NO_TARGET 0
#ifdef __CUDA_ARCH__
#define NV_IS_HOST 0
#define NV_IS_DEVICE 1
#else
#define NV_IS_HOST 1
#define NV_IS_DEVICE 0
#endif
)weir";

/// `<cuda/atomic>`.
inline constexpr std::string_view atomic_header = R"weir(
#include <atomic>
#include <cuda/barrier>
#include <type_traits>
#define WEIR_A __host__ __device__ __forceinline__
namespace cuda {
using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;
// On GPUs an access is relaxed and between two fences, as some versions of LLVM have no other loads and stores there.
#if defined(WEIR_FOR_NVIDIA) || defined(WEIR_FOR_AMD)
#define WEIR_ORDER __ATOMIC_RELAXED
#else
#define WEIR_ORDER __ATOMIC_SEQ_CST
#endif
template <thread_scope weir_Scope>
struct weir_fences {
  const bool weir_after;
  static WEIR_A void now() {
#if defined(WEIR_FOR_NVIDIA) || defined(WEIR_FOR_AMD)
    if (weir_Scope == thread_scope_system) __threadfence_system();
    else if (weir_Scope == thread_scope_device) __threadfence();
    else __threadfence_block();
#endif
  }
  WEIR_A explicit weir_fences(memory_order order)
      : weir_after(order != memory_order_relaxed && order != memory_order_release) {
    if (order == memory_order_release || order == memory_order_acq_rel || order == memory_order_seq_cst) now();
  }
  WEIR_A ~weir_fences() {
    if (weir_after) now();
  }
};
template <unsigned long>
struct weir_bits_of;
template <> struct weir_bits_of<1> { typedef unsigned char type; };
template <> struct weir_bits_of<2> { typedef unsigned short type; };
template <> struct weir_bits_of<4> { typedef unsigned int type; };
template <> struct weir_bits_of<8> { typedef unsigned long long type; };
template <class weir_To, class weir_From>
WEIR_A weir_To weir_as(const weir_From& from) {
  weir_To to;
  __builtin_memcpy((void*)&to, (const void*)&from, sizeof(to));
  return to;
}

// What atomic and atomic_ref have in common; weir_D has the address.
template <class weir_D, class weir_T, thread_scope weir_Scope>
class weir_atomic_base {
  typedef typename weir_bits_of<sizeof(weir_T)>::type bits;
  typedef weir_fences<weir_Scope> fences;
  static constexpr bool whole = ::std::is_integral<weir_T>::value && !::std::is_same<weir_T, bool>::value;
  static constexpr bool of_system = weir_Scope == thread_scope_system && sizeof(weir_T) >= 4;
  static constexpr unsigned long step = ::std::is_pointer<weir_T>::value ? sizeof(::std::conditional_t<
      ::std::is_pointer<weir_T>::value && !::std::is_void<::std::remove_pointer_t<weir_T>>::value,
      ::std::remove_pointer_t<weir_T>, char>) : 1;
  typedef ::std::conditional_t<::std::is_pointer<weir_T>::value, ::std::ptrdiff_t, weir_T> operand;
  WEIR_A weir_T* at() const volatile {
    return const_cast<const weir_D*>(static_cast<const volatile weir_D*>(this))->weir_place();
  }
  // LLVM's operations are those of one GPU.
  static WEIR_A bool replace(weir_T* p, bits& expected, bits desired) {
#if defined(WEIR_FOR_NVIDIA)
    if constexpr (of_system) {
      const bits old = atomicCAS_system((bits*)p, expected, desired);
      const bool same = old == expected;
      expected = old;
      return same;
    }
#endif
    return __atomic_compare_exchange_n((bits*)p, &expected, desired, false, WEIR_ORDER, WEIR_ORDER);
  }
  template <class weir_F>
  static WEIR_A weir_T update(weir_T* p, memory_order order, weir_F next) {
    const fences around(order);
    bits old = __atomic_load_n((bits*)p, __ATOMIC_RELAXED);
    while (!replace(p, old, weir_as<bits>((weir_T)next(weir_as<weir_T>(old))))) {
    }
    return weir_as<weir_T>(old);
  }

 public:
  typedef weir_T value_type;
  static constexpr bool is_always_lock_free = true;
  WEIR_A bool is_lock_free() const volatile noexcept { return true; }
  WEIR_A weir_T load(memory_order order = memory_order_seq_cst) const volatile noexcept {
    const fences around(order);
    return weir_as<weir_T>(__atomic_load_n((bits*)at(), WEIR_ORDER));
  }
  WEIR_A operator weir_T() const volatile noexcept { return load(); }
  WEIR_A void store(weir_T v, memory_order order = memory_order_seq_cst) const volatile noexcept {
    const fences around(order);
    __atomic_store_n((bits*)at(), weir_as<bits>(v), WEIR_ORDER);
  }
  WEIR_A weir_T exchange(weir_T v, memory_order order = memory_order_seq_cst) const volatile noexcept {
    const fences around(order);
#if defined(WEIR_FOR_NVIDIA)
    if constexpr (of_system) return weir_as<weir_T>(atomicExch_system((bits*)at(), weir_as<bits>(v)));
#endif
    return weir_as<weir_T>(__atomic_exchange_n((bits*)at(), weir_as<bits>(v), WEIR_ORDER));
  }
  WEIR_A bool compare_exchange_strong(weir_T& expected, weir_T desired, memory_order order,
                                      memory_order) const volatile noexcept {
    const fences around(order);
    bits old = weir_as<bits>(expected);
    const bool done = replace(at(), old, weir_as<bits>(desired));
    expected = weir_as<weir_T>(old);
    return done;
  }
  WEIR_A bool compare_exchange_strong(weir_T& expected, weir_T desired,
                                      memory_order order = memory_order_seq_cst) const volatile noexcept {
    return compare_exchange_strong(expected, desired, order, order);
  }
  WEIR_A bool compare_exchange_weak(weir_T& expected, weir_T desired, memory_order order,
                                      memory_order) const volatile noexcept {
    return compare_exchange_strong(expected, desired, order, order);
  }
  WEIR_A bool compare_exchange_weak(weir_T& expected, weir_T desired,
                                    memory_order order = memory_order_seq_cst) const volatile noexcept {
    return compare_exchange_strong(expected, desired, order, order);
  }
  WEIR_A weir_T fetch_add(operand v, memory_order order = memory_order_seq_cst) const volatile noexcept {
    if constexpr (whole) {
      const fences around(order);
#if defined(WEIR_FOR_NVIDIA)
      if constexpr (of_system) return (weir_T)atomicAdd_system((bits*)at(), (bits)v);
#endif
      return __atomic_fetch_add(at(), v, WEIR_ORDER);
    } else if constexpr (::std::is_pointer<weir_T>::value) {
      const fences around(order);
      return (weir_T)__atomic_fetch_add((bits*)at(), (bits)v * step, WEIR_ORDER);
    } else {
#ifdef __CUDA_ARCH__
      const fences around(order);
      return atomicAdd_system(at(), v);
#else
      return update(at(), order, [v](weir_T old) { return old + v; });
#endif
    }
  }
  WEIR_A weir_T fetch_sub(operand v, memory_order order = memory_order_seq_cst) const volatile noexcept {
    return fetch_add((operand)(operand() - v), order);
  }
#define WEIR_FETCH(name, bit_function, expression)                                                               \
  WEIR_A weir_T fetch_##name(weir_T v, memory_order order = memory_order_seq_cst) const volatile noexcept {      \
    if constexpr (whole && !(weir_fetch_in_loop && of_system)) {                                                 \
      const fences around(order);                                                                                \
      return bit_function(at(), v, WEIR_ORDER);                                                                  \
    } else {                                                                                                     \
      return update(at(), order, [v](weir_T old) { return expression; });                                        \
    }                                                                                                            \
  }
#if defined(WEIR_FOR_NVIDIA) || !defined(__clang__)
  static constexpr bool weir_fetch_in_loop = true;
#else
  static constexpr bool weir_fetch_in_loop = false;
#endif
  WEIR_FETCH(and, __atomic_fetch_and, old & v)
  WEIR_FETCH(or, __atomic_fetch_or, old | v)
  WEIR_FETCH(xor, __atomic_fetch_xor, old ^ v)
#ifdef __clang__
  WEIR_FETCH(min, __atomic_fetch_min, v < old ? v : old)
  WEIR_FETCH(max, __atomic_fetch_max, old < v ? v : old)
#endif
#undef WEIR_FETCH
  WEIR_A weir_T operator++(int) const volatile noexcept { return fetch_add(1); }
  WEIR_A weir_T operator--(int) const volatile noexcept { return fetch_sub(1); }
  WEIR_A weir_T operator++() const volatile noexcept { return (weir_T)(fetch_add(1) + 1); }
  WEIR_A weir_T operator--() const volatile noexcept { return (weir_T)(fetch_sub(1) - 1); }
  WEIR_A weir_T operator+=(operand v) const volatile noexcept { return (weir_T)(fetch_add(v) + v); }
  WEIR_A weir_T operator-=(operand v) const volatile noexcept { return (weir_T)(fetch_sub(v) - v); }
  WEIR_A weir_T operator&=(weir_T v) const volatile noexcept { return (weir_T)(fetch_and(v) & v); }
  WEIR_A weir_T operator|=(weir_T v) const volatile noexcept { return (weir_T)(fetch_or(v) | v); }
  WEIR_A weir_T operator^=(weir_T v) const volatile noexcept { return (weir_T)(fetch_xor(v) ^ v); }
  WEIR_A void wait(weir_T old, memory_order order = memory_order_seq_cst) const volatile noexcept {
    while (weir_as<bits>(load(order)) == weir_as<bits>(old)) {
#ifdef __CUDA_ARCH__
      __nanosleep(20);
#endif
    }
  }
  WEIR_A void notify_one() const volatile noexcept {}
  WEIR_A void notify_all() const volatile noexcept {}
};

template <class weir_T, thread_scope weir_Scope = thread_scope_system>
class atomic : public weir_atomic_base<atomic<weir_T, weir_Scope>, weir_T, weir_Scope> {
  friend class weir_atomic_base<atomic, weir_T, weir_Scope>;
  alignas(sizeof(weir_T)) weir_T weir_value;
  WEIR_A weir_T* weir_place() const { return const_cast<weir_T*>(&weir_value); }

 public:
  atomic() noexcept = default;
  WEIR_A constexpr atomic(weir_T v) noexcept : weir_value(v) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  WEIR_A weir_T operator=(weir_T v) volatile noexcept {
    this->store(v);
    return v;
  }
};
template <class weir_T, thread_scope weir_Scope = thread_scope_system>
class atomic_ref : public weir_atomic_base<atomic_ref<weir_T, weir_Scope>, weir_T, weir_Scope> {
  friend class weir_atomic_base<atomic_ref, weir_T, weir_Scope>;
  weir_T* weir_to;
  WEIR_A weir_T* weir_place() const { return weir_to; }

 public:
  static constexpr unsigned long required_alignment = sizeof(weir_T);
  WEIR_A explicit constexpr atomic_ref(weir_T& to) : weir_to(&to) {}
  WEIR_A constexpr atomic_ref(const atomic_ref& other) : weir_to(other.weir_to) {}
  atomic_ref& operator=(const atomic_ref&) = delete;
  WEIR_A weir_T operator=(weir_T v) const noexcept {
    this->store(v);
    return v;
  }
};
template <thread_scope weir_Scope = thread_scope_system>
struct atomic_flag {
  atomic<unsigned int, weir_Scope> weir_value = {0};
  WEIR_A bool test_and_set(memory_order order = memory_order_seq_cst) noexcept { return weir_value.exchange(1, order) != 0; }
  WEIR_A bool test(memory_order order = memory_order_seq_cst) const noexcept { return weir_value.load(order) != 0; }
  WEIR_A void clear(memory_order order = memory_order_seq_cst) noexcept { weir_value.store(0, order); }
};
WEIR_A void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system) {
  if (order == memory_order_relaxed) return;
#ifdef __CUDA_ARCH__
  if (scope == thread_scope_system) __threadfence_system();
  else if (scope == thread_scope_device) __threadfence();
  else __threadfence_block();
#else
  (void)scope;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
WEIR_A void atomic_signal_fence(memory_order) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

template <thread_scope weir_Scope, ::std::ptrdiff_t weir_Most = 0x7fffffff>
class counting_semaphore {
  atomic<int, weir_Scope> weir_left;

 public:
  WEIR_A constexpr explicit counting_semaphore(::std::ptrdiff_t count) : weir_left((int)count) {}
  static constexpr ::std::ptrdiff_t max() { return weir_Most; }
  WEIR_A bool try_acquire() {
    int left = weir_left.load();
    return left > 0 && weir_left.compare_exchange_strong(left, left - 1);
  }
  WEIR_A void acquire() {
    while (!try_acquire()) {
#ifdef __CUDA_ARCH__
      __nanosleep(20);
#endif
    }
  }
  WEIR_A void release(::std::ptrdiff_t count = 1) { weir_left.fetch_add((int)count); }
};
template <thread_scope weir_Scope>
using binary_semaphore = counting_semaphore<weir_Scope, 1>;
template <thread_scope weir_Scope>
class latch {
  atomic<int, weir_Scope> weir_left;

 public:
  WEIR_A constexpr explicit latch(::std::ptrdiff_t count) : weir_left((int)count) {}
  WEIR_A void count_down(::std::ptrdiff_t count = 1) { weir_left.fetch_sub((int)count); }
  WEIR_A bool try_wait() const { return weir_left.load() == 0; }
  WEIR_A void wait() const {
    while (!try_wait()) {
#ifdef __CUDA_ARCH__
      __nanosleep(20);
#endif
    }
  }
  WEIR_A void arrive_and_wait(::std::ptrdiff_t count = 1) {
    count_down(count);
    wait();
  }
};
}  // namespace cuda
#undef WEIR_ORDER
#undef WEIR_A
)weir";

/// What `<cuda/std/…>` have besides the standard library's own. A name of the namespace hides the standard library's.
inline constexpr std::string_view standard_header = R"weir(
#include <cuda/atomic>
#include <initializer_list>
#include <limits>
#include <utility>
#define WEIR_S __host__ __device__ __forceinline__
namespace cuda {
namespace std {
using namespace ::std;
template <class weir_T>
using atomic = ::cuda::atomic<weir_T>;
template <class weir_T>
using atomic_ref = ::cuda::atomic_ref<weir_T>;
using atomic_flag = ::cuda::atomic_flag<>;
typedef atomic<bool> atomic_bool;
typedef atomic<int> atomic_int;
typedef atomic<unsigned int> atomic_uint;
typedef atomic<long> atomic_long;
typedef atomic<unsigned long> atomic_ulong;
typedef atomic<long long> atomic_llong;
typedef atomic<unsigned long long> atomic_ullong;
using ::cuda::atomic_thread_fence;
template <class...>
using barrier = ::cuda::barrier<thread_scope_system>;
template <ptrdiff_t weir_Most = 0x7fffffff>
using counting_semaphore = ::cuda::counting_semaphore<thread_scope_system, weir_Most>;
using binary_semaphore = ::cuda::binary_semaphore<thread_scope_system>;
using latch = ::cuda::latch<thread_scope_system>;
// Functions that are constexpr only in C++20.
template <class weir_T>
WEIR_S constexpr void swap(weir_T& a, weir_T& b) {
  weir_T old = ::std::move(a);
  a = ::std::move(b);
  b = ::std::move(old);
}
template <class weir_T, class weir_U = weir_T>
WEIR_S constexpr weir_T exchange(weir_T& to, weir_U&& value) {
  weir_T old = ::std::move(to);
  to = ::std::forward<weir_U>(value);
  return old;
}
#if __cplusplus < 202002L
template <class weir_T>
WEIR_S constexpr int popcount(weir_T v) { return __builtin_popcountll(v); }
template <class weir_T>
WEIR_S constexpr int countl_zero(weir_T v) {
  return v == 0 ? (int)sizeof(v) * 8 : __builtin_clzll(v) - 64 + (int)sizeof(v) * 8;
}
template <class weir_T>
WEIR_S constexpr int countr_zero(weir_T v) { return v == 0 ? (int)sizeof(v) * 8 : __builtin_ctzll(v); }
template <class weir_T>
WEIR_S constexpr int bit_width(weir_T v) { return (int)sizeof(v) * 8 - countl_zero(v); }
template <class weir_T>
WEIR_S constexpr bool has_single_bit(weir_T v) { return v != 0 && (v & (v - 1)) == 0; }
template <class weir_T>
WEIR_S constexpr weir_T bit_floor(weir_T v) { return v == 0 ? v : (weir_T)((weir_T)1 << (bit_width(v) - 1)); }
template <class weir_T>
WEIR_S constexpr weir_T bit_ceil(weir_T v) { return v <= 1 ? (weir_T)1 : (weir_T)((weir_T)1 << bit_width((weir_T)(v - 1))); }
template <class weir_T>
WEIR_S constexpr weir_T rotl(weir_T v, int n) {
  const unsigned int bits = sizeof(v) * 8, by = (unsigned int)n % bits;
  return by == 0 ? v : (weir_T)(v << by | v >> (bits - by));
}
template <class weir_T>
WEIR_S constexpr weir_T rotr(weir_T v, int n) { return rotl(v, -n); }
template <class weir_To, class weir_From>
WEIR_S weir_To bit_cast(const weir_From& from) { return ::cuda::weir_as<weir_To>(from); }
inline constexpr size_t dynamic_extent = (size_t)-1;
template <class weir_T, size_t weir_Extent = dynamic_extent>
class span {
  weir_T* weir_data = nullptr;
  size_t weir_size = 0;

 public:
  typedef weir_T element_type;
  typedef remove_cv_t<weir_T> value_type;
  typedef weir_T* iterator;
  constexpr span() = default;
  WEIR_S constexpr span(weir_T* data, size_t size) : weir_data(data), weir_size(size) {}
  WEIR_S constexpr span(weir_T* first, weir_T* last) : weir_data(first), weir_size((size_t)(last - first)) {}
  template <size_t weir_N>
  WEIR_S constexpr span(weir_T (&data)[weir_N]) : weir_data(data), weir_size(weir_N) {}
  template <class weir_C, class = decltype(declval<weir_C&>().data()), class = decltype(declval<weir_C&>().size())>
  WEIR_S constexpr span(weir_C&& of) : weir_data(of.data()), weir_size(of.size()) {}
  WEIR_S constexpr weir_T* data() const { return weir_data; }
  WEIR_S constexpr size_t size() const { return weir_size; }
  WEIR_S constexpr size_t size_bytes() const { return weir_size * sizeof(weir_T); }
  WEIR_S constexpr bool empty() const { return weir_size == 0; }
  WEIR_S constexpr weir_T& operator[](size_t i) const { return weir_data[i]; }
  WEIR_S constexpr weir_T& front() const { return weir_data[0]; }
  WEIR_S constexpr weir_T& back() const { return weir_data[weir_size - 1]; }
  WEIR_S constexpr weir_T* begin() const { return weir_data; }
  WEIR_S constexpr weir_T* end() const { return weir_data + weir_size; }
  WEIR_S constexpr span first(size_t n) const { return {weir_data, n}; }
  WEIR_S constexpr span last(size_t n) const { return {weir_data + weir_size - n, n}; }
  WEIR_S constexpr span subspan(size_t at, size_t n = dynamic_extent) const {
    return {weir_data + at, n == dynamic_extent ? weir_size - at : n};
  }
};
#endif
}  // namespace std
template <class weir_T, class weir_U>
WEIR_S constexpr weir_T ceil_div(weir_T a, weir_U b) { return (weir_T)(a / b + (a % b != 0 ? 1 : 0)); }
template <class weir_T, class weir_U>
WEIR_S constexpr weir_T round_up(weir_T a, weir_U b) { return (weir_T)(ceil_div(a, b) * b); }
template <class weir_T, class weir_U>
WEIR_S constexpr weir_T round_down(weir_T a, weir_U b) { return (weir_T)(a / b * b); }
template <class weir_R, class weir_F>
WEIR_S constexpr weir_F proclaim_return_type(weir_F f) { return f; }
template <class weir_T = void>
struct maximum {
  WEIR_S constexpr weir_T operator()(const weir_T& a, const weir_T& b) const { return a < b ? b : a; }
};
template <class weir_T = void>
struct minimum {
  WEIR_S constexpr weir_T operator()(const weir_T& a, const weir_T& b) const { return b < a ? b : a; }
};
}  // namespace cuda
#undef WEIR_S
)weir";

/// Copies from global to shared memory that another unit does in CUDA. Here each thread copies its part at once, so that
/// waiting for copies is the group's barrier, or nothing for one thread's own copies.
inline constexpr std::string_view pipeline_primitives = R"weir(
__device__ __forceinline__ void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zeros = 0) {
  __builtin_memcpy(to, from, size - zeros);
  __builtin_memset((char*)to + size - zeros, 0, zeros);
}
__device__ __forceinline__ void __pipeline_commit() {}
__device__ __forceinline__ void __pipeline_wait_prior(size_t) {}
)weir";

inline constexpr std::string_view group_copies = R"weir(
#include <cooperative_groups.h>
namespace cooperative_groups {
template <class weir_G, class weir_T, class weir_S>
__device__ void memcpy_async(const weir_G& group, weir_T* to, const weir_T* from, const weir_S& bytes) {
  const size_t size = bytes, count = size / sizeof(weir_T);
  for (size_t i = group.thread_rank(); i < count; i += group.size()) to[i] = from[i];
}
template <class weir_G, class weir_S>
__device__ void memcpy_async(const weir_G& group, void* to, const void* from, const weir_S& bytes) {
  memcpy_async(group, (char*)to, (const char*)from, bytes);
}
template <class weir_G, class weir_T, class weir_L, class weir_M>
__device__ void memcpy_async(const weir_G& group, weir_T* to, const weir_L& most, const weir_T* from, const weir_M& count) {
  memcpy_async(group, to, from, (count < most ? count : most) * sizeof(weir_T));
}
template <class weir_G>
__device__ void wait(const weir_G& group) { group.sync(); }
template <unsigned int weir_N, class weir_G>
__device__ void wait_prior(const weir_G& group) { group.sync(); }
}  // namespace cooperative_groups
)weir";

inline constexpr std::string_view pipeline_header = R"weir(
#include <cooperative_groups.h>
#include <cuda/barrier>
namespace cuda {
enum class pipeline_role { producer, consumer };
// For each stage, a barrier that producers have copied, and one that consumers have read.
template <thread_scope weir_Scope, unsigned char weir_Stages>
struct pipeline_shared_state {
  barrier<weir_Scope> weir_written[weir_Stages], weir_read[weir_Stages];
};
template <thread_scope weir_Scope>
class pipeline {
 public:
  barrier<weir_Scope>*weir_written = nullptr, *weir_read = nullptr;
  unsigned int weir_stages = 1, weir_head = 0, weir_tail = 0;
  bool weir_reads = true, weir_writes = true;
  // The n-th use of a stage waits for the phase before it.
  __device__ void producer_acquire() {
    if (weir_read && weir_head >= weir_stages)
      weir_read[weir_head % weir_stages].weir_wait_phase(weir_head / weir_stages - 1);
  }
  __device__ void producer_commit() {
    if (weir_written) (void)weir_written[weir_head % weir_stages].arrive();
    ++weir_head;
  }
  __device__ void consumer_wait() {
    if (weir_written) weir_written[weir_tail % weir_stages].weir_wait_phase(weir_tail / weir_stages);
  }
  __device__ void consumer_release() {
    if (weir_read) (void)weir_read[weir_tail % weir_stages].arrive();
    ++weir_tail;
  }
  __device__ bool quit() { return true; }
};
__device__ __forceinline__ pipeline<thread_scope_thread> make_pipeline() { return {}; }
template <class weir_G, thread_scope weir_Scope, unsigned char weir_Stages>
__device__ pipeline<weir_Scope> weir_make_pipeline(const weir_G& group,
                                                   pipeline_shared_state<weir_Scope, weir_Stages>* state,
                                                   unsigned int producers, unsigned int consumers) {
  if (group.thread_rank() == 0) {
    for (unsigned int i = 0; i < weir_Stages; ++i) {
      init(&state->weir_written[i], producers);
      init(&state->weir_read[i], consumers);
    }
  }
  group.sync();
  pipeline<weir_Scope> made;
  made.weir_written = state->weir_written, made.weir_read = state->weir_read, made.weir_stages = weir_Stages;
  return made;
}
template <class weir_G, thread_scope weir_Scope, unsigned char weir_Stages>
__device__ pipeline<weir_Scope> make_pipeline(const weir_G& group, pipeline_shared_state<weir_Scope, weir_Stages>* state) {
  return weir_make_pipeline(group, state, (unsigned int)group.size(), (unsigned int)group.size());
}
template <class weir_G, thread_scope weir_Scope, unsigned char weir_Stages>
__device__ pipeline<weir_Scope> make_pipeline(const weir_G& group, pipeline_shared_state<weir_Scope, weir_Stages>* state,
                                              size_t producers) {
  return weir_make_pipeline(group, state, (unsigned int)producers, (unsigned int)(group.size() - producers));
}
template <class weir_G, thread_scope weir_Scope, unsigned char weir_Stages>
__device__ pipeline<weir_Scope> make_pipeline(const weir_G& group, pipeline_shared_state<weir_Scope, weir_Stages>* state,
                                              pipeline_role role) {
  const unsigned int producers = (unsigned int)__syncthreads_count(role == pipeline_role::producer);
  return weir_make_pipeline(group, state, producers, (unsigned int)group.size() - producers);
}
template <unsigned char weir_N, thread_scope weir_Scope>
__device__ void pipeline_consumer_wait_prior(pipeline<weir_Scope>& of) {
  if (of.weir_written == nullptr || of.weir_head <= weir_N) return;
  const unsigned int last = of.weir_head - weir_N - 1;
  of.weir_written[last % of.weir_stages].weir_wait_phase(last / of.weir_stages);
}
template <thread_scope weir_Scope>
__device__ void memcpy_async(void* to, const void* from, size_t bytes, pipeline<weir_Scope>&) {
  __builtin_memcpy(to, from, bytes);
}
template <size_t weir_A, thread_scope weir_Scope>
__device__ void memcpy_async(void* to, const void* from, aligned_size_t<weir_A> bytes, pipeline<weir_Scope>&) {
  __builtin_memcpy(to, from, bytes);
}
template <class weir_G, class weir_T, class weir_S, thread_scope weir_Scope>
__device__ void memcpy_async(const weir_G& group, weir_T* to, const weir_T* from, weir_S bytes, pipeline<weir_Scope>&) {
  weir_copy(group, to, from, bytes);
}
}  // namespace cuda
)weir";

/// The files, each with its text. `<cuda/std/NAME>` is the standard library's file of that name, if there is one.
inline std::vector<std::pair<std::string, std::string>> standard_files() {
  std::string target(target_header);
  for (const char* const number : {"35", "50", "52", "53", "60",  "61",  "62",  "70",  "72",  "75", "80",
                                   "86", "87", "89", "90", "100", "101", "103", "110", "120", "121"}) {
    for (const auto& [name, comparison] : {std::pair("PROVIDES", ">="), std::pair("IS_EXACTLY", "==")})
      target.append("#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ ")
          .append(comparison)
          .append(" ")
          .append(number)
          .append("0\n#define NV_")
          .append(name)
          .append("_SM_")
          .append(number)
          .append(" 1\n#else\n#define NV_")
          .append(name)
          .append("_SM_")
          .append(number)
          .append(" 0\n#endif\n");
  }
  const std::string primitives(pipeline_primitives);
  std::vector<std::pair<std::string, std::string>> files = {
      {"nv/target", target},
      {"cuda/atomic", std::string(atomic_header)},
      {"weir_standard.h", std::string(standard_header)},
      {"cuda/pipeline", std::string(pipeline_header)},
      {"cuda_pipeline.h", primitives},
      {"cuda_pipeline_primitives.h", primitives},
      {"cooperative_groups/memcpy_async.h", std::string(group_copies)},
      {"cooperative_groups/reduce.h", "#include <cooperative_groups.h>\n"},
      {"cooperative_groups/scan.h", "#include <cooperative_groups.h>\n"},
      {"cuda_fp16.hpp", "#include <cuda_fp16.h>\n"},
      {"cuda_bf16.hpp", "#include <cuda_bf16.h>\n"}};
  for (const char* const name : {"cmath", "functional", "latch", "semaphore"})
    files.emplace_back(std::string("cuda/") + name, "#include <weir_standard.h>\n");
  std::istringstream names(
      "algorithm array atomic barrier bit cassert cfloat chrono climits cmath concepts cstddef cstdint cstdlib "
      "cstring ctime functional initializer_list iterator latch limits numeric optional ratio semaphore span string_view "
      "tuple type_traits utility variant version");
  for (std::string name; names >> name;)
    files.emplace_back("cuda/std/" + name,
                       "#include <weir_standard.h>\n#if __has_include(<" + name + ">)\n#include <" + name + ">\n#endif\n");
  // Functions that Clang calls for products and quotients of complex numbers.
  files.emplace_back("cuda/std/complex",
                     "#include <weir_standard.h>\n#include <complex>\n#ifdef __CUDA_ARCH__\n"
                     // From Clang 22 on, the header calls libdevice if it sees this macro.
                     "#pragma push_macro(\"__NVPTX__\")\n#undef __NVPTX__\n"
                     "#include <__clang_cuda_complex_builtins.h>\n#pragma pop_macro(\"__NVPTX__\")\n#endif\n");
  return files;
}

}  // namespace weir::kernels
