// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// What split kernels are written with: a block of threads, masks, values of all threads, and the loop over the threads. It
/// stands before every source, is preprocessed with it, and is read as C++14, 17 or 20.
namespace weir::kernels {

inline constexpr std::string_view runtime_block = R"weir(
#define WEIR_ALWAYS_INLINE inline __attribute__((always_inline))
// Threads of a piece do not depend on each other.
#ifdef __clang__
#define WEIR_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define WEIR_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace weir_host {
struct memory {
  const volatile void* at;
};
}  // namespace weir_host
WEIR_ALWAYS_INLINE void* operator new(size_t, weir_host::memory m) { return const_cast<void*>(m.at); }
WEIR_ALWAYS_INLINE void operator delete(void*, weir_host::memory) {}
WEIR_ALWAYS_INLINE void* operator new[](size_t, weir_host::memory m) { return const_cast<void*>(m.at); }
WEIR_ALWAYS_INLINE void operator delete[](void*, weir_host::memory) {}

namespace weir_host {

constexpr unsigned int most_threads = 1024;
constexpr size_t most_shared_bytes = 227 * 1024;

// What went wrong in a block (kernel_abi.hpp).
struct kernel_fault {
  const char* place;
  const char* function;
  uint32_t block[3];
  uint32_t thread;
  uint32_t here;
  uint32_t expected;
  uint64_t missing_lanes;
};
struct launch_services {
  void* (*take)(size_t bytes);
  void (*give_back)(void* memory);
  void (*fail)(void* launch, const kernel_fault& fault);
  bool (*sync_grid)(void* launch, const char* place);
};
struct block_range {
  uint32_t grid[3];
  uint32_t block[3];
  uint64_t first_block;
  uint64_t last_block;
  uint64_t shared_bytes;
  const launch_services* services;
  void* launch;
};

// What a loop adds to its counter comes to the same from each beginning if it is a whole number.
template <class T, bool class_type = __is_class(T) || __is_union(T)>
struct is_whole {
  static constexpr bool value = static_cast<T>(0.5) == static_cast<T>(0) || static_cast<T>(2) == static_cast<T>(1);
};
template <class T>
struct is_whole<T, true> {
  static constexpr bool value = false;
};

struct block;

// Why a thread takes no part: until the next iteration, until the loop's end, for good.
enum : unsigned char { present = 0, continued = 1, broke_off = 2, returned = 3 };
struct marks {
  alignas(64) unsigned char a[most_threads];
  WEIR_ALWAYS_INLINE explicit marks(const block& b);
  WEIR_ALWAYS_INLINE void set(unsigned int t, unsigned char mark) { a[t] = mark; }
};

// The threads that take part: those that `a` marks if it is `listed`, else the first `count`.
struct mask {
  alignas(64) unsigned char a[most_threads];
  int n, count, low, high;
  bool listed;

  WEIR_ALWAYS_INLINE explicit mask(int threads) : n(threads), count(threads), low(0), high(threads), listed(false) {}
  WEIR_ALWAYS_INLINE mask(const mask& o) : n(o.n), count(o.count), low(o.low), high(o.high), listed(o.listed) {
    if (o.listed) __builtin_memcpy(a, o.a, (size_t)n);
  }
  WEIR_ALWAYS_INLINE bool any() const { return count != 0; }
  WEIR_ALWAYS_INLINE bool full() const { return count == n; }
  WEIR_ALWAYS_INLINE bool has(unsigned int t) const { return listed ? a[t] != 0 : t < (unsigned int)count; }
  WEIR_ALWAYS_INLINE void keep_first(int threads) {
    count = high = threads;
    low = 0;
    listed = false;
  }
  WEIR_ALWAYS_INLINE void fill() { keep_first(n); }
  inline void recount() {
    int c = 0;
    for (int t = 0; t < n; ++t) c += a[t];
    if (c == 0 || c == n) return keep_first(c);
    count = c;
    listed = true;
    for (low = 0; a[low] == 0;) ++low;
    for (high = n; a[high - 1] == 0;) --high;
  }
  inline void list() {
    if (listed) return;
    for (int t = 0; t < n; ++t) a[t] = t < count;
    listed = true;
  }
  inline void remove(const marks& gone) {
    list();
    for (int t = 0; t < n; ++t) a[t] = (unsigned char)(a[t] & (gone.a[t] == 0));
    recount();
  }
  inline void retire(const marks& gone) {
    list();
    for (int t = 0; t < n; ++t) a[t] = (unsigned char)(a[t] & (gone.a[t] != returned));
    recount();
  }
  // Those who continued come back, and those who broke off go on behind the loop.
  inline void end_iteration(marks& gone) {
    list();
    for (int t = 0; t < n; ++t) {
      const unsigned char mark = gone.a[t];
      const bool mine = a[t] != 0;
      if (mine && mark > continued) a[t] = 0;
      if (mine && mark != returned) gone.a[t] = present;
    }
    recount();
  }
};

// A type as one word: `float (*p)[8]` is declared as `spelled<float[8]>* p`.
template <class T>
using spelled = T;

// What `decltype` tells of a variable, without the reference that a piece of a kernel has in its place.
template <class T>
struct without_reference {
  using type = T;
};
template <class T>
struct without_reference<T&> {
  using type = T;
};
template <class T>
using declared = typename without_reference<T>::type;

// A value of each thread of a block. Large ones lie in memory that the worker keeps.
template <class T, bool large = (sizeof(T) > 16)>
struct lanes {
  union {
    alignas(64) T values[most_threads];
  };
  WEIR_ALWAYS_INLINE explicit lanes(const block&) {}
  lanes(lanes&&);
  WEIR_ALWAYS_INLINE ~lanes() {}
  WEIR_ALWAYS_INLINE T& at(unsigned int t) { return values[t]; }
  WEIR_ALWAYS_INLINE const T& at(unsigned int t) const { return values[t]; }
};
template <class T>
struct lanes<T, true> {
  T* values;
  const launch_services* services;
  inline explicit lanes(const block& b);
  lanes(lanes&&);
  inline ~lanes() { services->give_back(const_cast<void*>(static_cast<const volatile void*>(values))); }
  WEIR_ALWAYS_INLINE T& at(unsigned int t) { return values[t]; }
  WEIR_ALWAYS_INLINE const T& at(unsigned int t) const { return values[t]; }
};

template <class T>
WEIR_ALWAYS_INLINE const T& get(const T& x, unsigned int) {
  return x;
}
template <class T, bool large>
WEIR_ALWAYS_INLINE const T& get(const lanes<T, large>& x, unsigned int t) {
  return x.at(t);
}
// Of several functions of a name, which one; and an argument as that function takes it. Neither is defined.
template <int n>
struct overload;
template <class T>
T& passed(T& x);
template <class T>
T passed(T&& x);
template <class T, bool large>
T& passed(lanes<T, large>& x);
template <class T, bool large>
T& passed(const lanes<T, large>& x);
// What only types are asked of: an argument of a function in which threads meet, and its result. Not defined.
template <class T>
lanes<T>& lanes_for(T);
template <class T>
T given();
template <class T>
struct value {
  using type = T;
};
template <class T>
struct value<const T> : value<T> {};
template <class T, bool large>
struct value<lanes<T, large>> : value<T> {};
template <class T>
using value_of = typename value<T>::type;

// What a function's parameters are, and an argument as one of them takes it.
template <class... T>
struct types {};
template <int i, class L>
struct nth;
template <int i, class T, class... R>
struct nth<i, types<T, R...>> : nth<i - 1, types<R...>> {};
template <class T, class... R>
struct nth<0, types<T, R...>> : value<T> {};
template <int i, class L, class V>
WEIR_ALWAYS_INLINE typename nth<i, L>::type converted(V&& v) {
  return static_cast<V&&>(v);
}

// An object whose member function is called: where it lies, or itself if it is a temporary one. The class of a lanes<C*>.
template <class T>
struct held {
  T object;
};
template <class T>
WEIR_ALWAYS_INLINE T* hold(T& x) {
  return &x;
}
template <class T>
WEIR_ALWAYS_INLINE held<T> hold(T&& x) {
  return {static_cast<T&&>(x)};
}
template <class T>
WEIR_ALWAYS_INLINE T* held_at(T* x) {
  return x;
}
template <class T>
WEIR_ALWAYS_INLINE T* held_at(held<T>& x) {
  return &x.object;
}
template <class T>
struct pointed_to;
template <class T>
struct pointed_to<T*> {
  using type = T;
};
template <class L>
using class_at = typename pointed_to<value_of<L>>::type;

template <class T>
WEIR_ALWAYS_INLINE void begin(T& x) {
  static_assert(__has_trivial_destructor(T), "a variable that lives across a place where threads meet has no destructor");
  ::new (memory{&x}) T;
}
template <class T, size_t n>
WEIR_ALWAYS_INLINE void begin(T (&x)[n]) {
  for (size_t i = 0; i < n; ++i) begin(x[i]);
}
template <class T>
WEIR_ALWAYS_INLINE const T* address_of(const T& x) {
  return __builtin_addressof(x);
}
// What a reference to something constant is bound to: the place itself, or the copy that it was converted to.
template <class T>
WEIR_ALWAYS_INLINE const T* address_of_either(const T* place, const T&) {
  return place;
}
template <class T, class C>
WEIR_ALWAYS_INLINE const C* address_of_either(const T*, const C& copy) {
  return __builtin_addressof(copy);
}
template <class T, class V>
WEIR_ALWAYS_INLINE void pass(T& x, const V& v) {
  ::new (memory{&x}) T(v);
}
template <class T, class V>
WEIR_ALWAYS_INLINE void copy(T& to, const V& from) {
  static_assert(__is_trivially_copyable(T), "a variable that lives across a place where threads meet is copied as bytes");
  __builtin_memcpy(const_cast<void*>(static_cast<const volatile void*>(&to)), &from, sizeof(T));
}

// What the first and the last thread of a row say of a piece.
template <int parts>
struct row_end {
  bool closed = false;                   // whether a part of the condition is false that is the same along the row
  unsigned int holds = 0;                // a bit for each other part that is true for the thread
  unsigned int room = 0xffffffffu;       // how many threads may follow before an index wraps around
  int64_t levels[parts == 0 ? 1 : parts];  // what these parts compare
  WEIR_ALWAYS_INLINE void limit(unsigned int r) { room = r < room ? r : room; }
};
WEIR_ALWAYS_INLINE unsigned int room_behind(unsigned int index) { return ~index; }
template <class T>
WEIR_ALWAYS_INLINE unsigned int room_behind(const T&) {
  return 0xffffffffu;
}
// The index of a thread that is `steps` behind one from which on it does not wrap around.
WEIR_ALWAYS_INLINE size_t along(unsigned int index, size_t steps) { return (size_t)(index - (unsigned int)steps) + steps; }
template <class T>
WEIR_ALWAYS_INLINE T along(T index, size_t) {
  return index;
}
// A number in the order of its type, as it is compared with another one. One that is none, or is not compared as one, does
// not count along the row.
template <class A>
WEIR_ALWAYS_INLINE int64_t ordered(int x, A) {
  return x;
}
template <class A>
WEIR_ALWAYS_INLINE int64_t ordered(unsigned int x, A) {
  return x;
}
template <class A>
WEIR_ALWAYS_INLINE int64_t ordered(long x, A) {
  return x;
}
template <class A>
WEIR_ALWAYS_INLINE int64_t ordered(long long x, A) {
  return x;
}
template <class A>
WEIR_ALWAYS_INLINE int64_t ordered(unsigned long x, A) {
  return (int64_t)((uint64_t)x ^ ((uint64_t)1 << 63));
}
template <class A>
WEIR_ALWAYS_INLINE int64_t ordered(unsigned long long x, A) {
  return (int64_t)((uint64_t)x ^ ((uint64_t)1 << 63));
}
template <class C, class A>
WEIR_ALWAYS_INLINE int64_t ordered(C, A) {
  return 0;
}
template <class A>
WEIR_ALWAYS_INLINE int64_t ordered(float, A x) {
  return ordered(+x, 0);
}
template <class A>
WEIR_ALWAYS_INLINE int64_t ordered(double, A x) {
  return ordered(+x, 0);
}
template <class A, class B>
WEIR_ALWAYS_INLINE auto level(A a, B b, int) -> decltype(ordered(static_cast<decltype(a + b)>(a), a)) {
  return ordered(static_cast<decltype(a + b)>(a), a);
}
template <class A, class B>
WEIR_ALWAYS_INLINE int64_t level(const A&, const B&, long) {
  return 0;
}
// A sum of whole numbers is one more for the next thread whatever it is converted to.
template <class T>
WEIR_ALWAYS_INLINE unsigned int room_of_whole(const T&) {
  return 0;
}
WEIR_ALWAYS_INLINE unsigned int room_of_whole(int) { return 0xffffffffu; }
WEIR_ALWAYS_INLINE unsigned int room_of_whole(unsigned int) { return 0xffffffffu; }
WEIR_ALWAYS_INLINE unsigned int room_of_whole(long) { return 0xffffffffu; }
WEIR_ALWAYS_INLINE unsigned int room_of_whole(unsigned long) { return 0xffffffffu; }
WEIR_ALWAYS_INLINE unsigned int room_of_whole(long long) { return 0xffffffffu; }
WEIR_ALWAYS_INLINE unsigned int room_of_whole(unsigned long long) { return 0xffffffffu; }

struct block {
  uint3 index;
  // `dim`: of what runs as one, which is several blocks of a row if threads are told apart by their number in the row alone.
  dim3 dim, launched, grid;
  unsigned int first_in_row;
  int threads;
  bool failed;
  unsigned char* dynamic_shared;
  const block_range* range;
  mask alive;
  // Of these, the threads that a warp's function waits for: all of them, or those in the branch that ends the kernel, beside
  // which the others have come to its end.
  const mask* awaited;

  inline explicit block(const block_range& r)
      : index{0, 0, 0},
        dim(r.block[0], r.block[1], r.block[2]),
        launched(dim),
        grid(r.grid[0], r.grid[1], r.grid[2]),
        first_in_row(0),
        threads((int)(r.block[0] * r.block[1] * r.block[2])),
        failed(false),
        dynamic_shared(static_cast<unsigned char*>(r.services->take(r.shared_bytes + 64))),
        range(&r),
        alive(threads),
        awaited(&alive) {}
  block(const block&) = delete;
  inline ~block() { range->services->give_back(dynamic_shared); }

  WEIR_ALWAYS_INLINE bool going_on() const { return !failed; }
  // Begins with `count` blocks of a row, the first of which is `index`.
  WEIR_ALWAYS_INLINE void enter(unsigned int count) {
    dim.x = count * launched.x;
    threads = (int)(dim.x * dim.y * dim.z);
    first_in_row = index.x * launched.x;
    alive.n = threads;
    alive.fill();
    awaited = &alive;
  }
  WEIR_ALWAYS_INLINE void retire(const marks& gone) { alive.retire(gone); }

  bool is_row() const { return dim.y * dim.z == 1; }

  // Runs a piece for the threads of a mask. The thread's number in the row of the grid is counted as a number that does not
  // wrap around, where it does not: see `launcher`.
  template <bool independent, class F>
  WEIR_ALWAYS_INLINE void run(const mask& m, F&& f) const {
    const int dy = (int)dim.y, dz = (int)dim.z;
    if (__builtin_expect((m.full() || (!m.listed && is_row())) && index.x < (1u << 21), 1)) {
      const global_index first = (global_index)first_in_row;
      const int dx = m.full() ? (int)dim.x : m.count;
      for (int z = 0; z < dz; ++z) {
        for (int y = 0; y < dy; ++y) {
          const int row = (z * dy + y) * dx;
          if (independent) {
            WEIR_INDEPENDENT
            for (int x = 0; x < dx; ++x)
              f(uint3{(unsigned int)x, (unsigned int)y, (unsigned int)z}, (unsigned int)(first + (global_index)x),
                (unsigned int)(row + x));
          } else {
            for (int x = 0; x < dx; ++x)
              f(uint3{(unsigned int)x, (unsigned int)y, (unsigned int)z}, (unsigned int)(first + (global_index)x),
                (unsigned int)(row + x));
          }
        }
      }
    } else {
      const int dx = (int)dim.x;
      const unsigned int first = first_in_row;
      for (int z = 0; z < dz; ++z) {
        for (int y = 0; y < dy; ++y) {
          const int row = (z * dy + y) * dx;
          const int from = m.low > row ? m.low - row : 0, to = m.high - row < dx ? m.high - row : dx;
          for (int x = from; x < to; ++x) {
            if (!m.listed || m.a[row + x] != 0)
              f(uint3{(unsigned int)x, (unsigned int)y, (unsigned int)z}, first + (unsigned int)x, (unsigned int)(row + x));
          }
        }
      }
    }
  }

  // Runs a piece whose condition has `parts` that are comparisons of what is one more for the next thread of a row with what
  // is the same along it, and others that are the same along it. Where none of these numbers wraps around, each comparison
  // is true for the first threads of the row or for the last ones, and `f` needs no condition of its own. `ask` tells of a
  // thread what `row_end` has. `f` gets, beside the thread, how many threads it is behind one from which on no index wraps
  // around.
  template <int parts, class Ask, class F>
  WEIR_ALWAYS_INLINE void run_rows(const mask& m, Ask&& ask, F&& f) const {
    constexpr unsigned int all = (1u << parts) - 1;
    const int dy = (int)dim.y, dz = (int)dim.z;
    if (__builtin_expect((m.full() || (!m.listed && is_row())) && index.x < (1u << 21), 1)) {
      const int dx = m.full() ? (int)dim.x : m.count;
      const global_index begin = (global_index)first_in_row;
      if (begin < 0 || dx < 1) return;
      for (int z = 0; z < dz; ++z) {
        for (int y = 0; y < dy; ++y) {
          const int row = (z * dy + y) * dx;
          const auto at = [&](int x) __attribute__((always_inline)) {
            row_end<parts> end;
            ask(uint3{(unsigned int)x, (unsigned int)y, (unsigned int)z}, (unsigned int)(begin + (global_index)x),
                (unsigned int)(row + x), end);
            return end;
          };
          const row_end<parts> first = at(0);
          if (first.closed) continue;
          const row_end<parts> last = at(dx - 1);
          bool counts = true;
          for (int i = 0; i < parts; ++i) {
            const uint64_t more = (uint64_t)last.levels[i] - (uint64_t)first.levels[i];
            counts = counts && first.levels[i] <= last.levels[i] && more == (uint64_t)(dx - 1);
          }
          int low = 0, high = dx;
          if (counts) {
            if ((first.holds | last.holds) != all) continue;
            // What is false for the first thread, and true for the last one, is true from one of them on.
            if (first.holds != all) {
              int without = 0;
              for (low = dx - 1; low - without > 1;) {
                const int middle = without + (low - without) / 2;
                if ((at(middle).holds | first.holds) == all)
                  low = middle;
                else
                  without = middle;
              }
            }
            if (last.holds != all) {
              int with = 0;
              for (high = dx - 1; high - with > 1;) {
                const int middle = with + (high - with) / 2;
                if ((at(middle).holds | last.holds) == all)
                  with = middle;
                else
                  high = middle;
              }
            }
          }
          while (low < high) {
            const row_end<parts> here = at(low);
            if (!counts && here.holds != all) {
              ++low;
              continue;
            }
            const unsigned int more = counts ? (unsigned int)(high - low - 1) : 0;
            const int count = (int)(here.room < more ? here.room : more) + 1;
            WEIR_INDEPENDENT
            for (int k = 0; k < count; ++k) {
              const int x = low + k;
              f(uint3{(unsigned int)x, (unsigned int)y, (unsigned int)z}, (unsigned int)(begin + (global_index)x),
                (unsigned int)(row + x), (size_t)k);
            }
            low += count;
          }
        }
      }
    } else {
      const int dx = (int)dim.x;
      for (int z = 0; z < dz; ++z) {
        for (int y = 0; y < dy; ++y) {
          const int row = (z * dy + y) * dx;
          const int from = m.low > row ? m.low - row : 0, to = m.high - row < dx ? m.high - row : dx;
          for (int x = from; x < to; ++x) {
            const uint3 thread = {(unsigned int)x, (unsigned int)y, (unsigned int)z};
            const unsigned int global_x = first_in_row + (unsigned int)x, t = (unsigned int)(row + x);
            if (m.listed && m.a[t] == 0) continue;
            row_end<parts> here;
            ask(thread, global_x, t, here);
            if (!here.closed && here.holds == all) f(thread, global_x, t, (size_t)0);
          }
        }
      }
    }
  }

  // Those of `m` for whom `f` is true, and the others.
  template <class F>
  WEIR_ALWAYS_INLINE void divide(const mask& m, mask& then, mask& otherwise, F&& f) const {
    alignas(64) unsigned char c[most_threads];
    run<false>(
        m, [&](const uint3 i, const unsigned int g, const unsigned int t)
               __attribute__((always_inline)) { c[t] = f(i, g, t); });
    for (int t = 0; t < threads; ++t) {
      const unsigned char here = m.listed ? m.a[t] : (unsigned char)(t < m.count);
      then.a[t] = (unsigned char)(here & (c[t] != 0));
      otherwise.a[t] = (unsigned char)(here & (c[t] == 0));
    }
    then.recount();
    otherwise.recount();
  }
  // Those for whom `f` is true stay. Along a row it is true up to one of the threads, unless `index`, which is one more for
  // the next thread, wraps around in it.
  template <class F, class Index>
  WEIR_ALWAYS_INLINE void narrow_ascending(mask& m, F&& f, Index&& index) const {
    if (m.count == 0) return;
    const auto of = [&](const auto& g, int t) __attribute__((always_inline)) {
      return g(uint3{(unsigned int)t, 0, 0}, first_in_row + (unsigned int)t, (unsigned int)t);
    };
    // What is compared as another type may be false at first.
    if (m.listed || !is_row() || of(index, m.count - 1) < of(index, 0) || !of(f, 0)) return narrow(m, f);
    if (of(f, m.count - 1)) return;  // most turns are everybody's
    int stay = 1;
    for (int go = m.count - 1; stay < go;) {  // it is false for thread `go`
      const int middle = stay + (go - stay) / 2;
      if (of(f, middle)) {
        stay = middle + 1;
      } else {
        go = middle;
      }
    }
    m.keep_first(stay);
  }
  template <class F>
  WEIR_ALWAYS_INLINE void narrow(mask& m, F&& f) const {
    alignas(64) unsigned char c[most_threads];
    int leaving = 0;
    const bool all = m.full();
    run<false>(
        m, [&](const uint3 i, const unsigned int g, const unsigned int t) __attribute__((always_inline)) {
          c[t] = f(i, g, t);
          leaving += c[t] == 0;
        });
    if (all && leaving == 0) return;
    m.list();
    for (int t = 0; t < threads; ++t) m.a[t] = (unsigned char)(m.a[t] & (c[t] != 0));
    m.recount();
  }

  __attribute__((noinline, cold)) bool fail(const char* place, const char* function, unsigned int thread, int here,
                                            int expected, uint64_t missing_lanes) {
    failed = true;
    const kernel_fault fault = {
        place, function, {index.x, index.y, index.z}, thread, (uint32_t)here, (uint32_t)expected, missing_lanes};
    range->services->fail(range->launch, fault);
    return false;
  }
};

WEIR_ALWAYS_INLINE marks::marks(const block& b) { __builtin_memset(a, 0, (size_t)b.threads); }
template <class T>
inline lanes<T, true>::lanes(const block& b)
    : values(static_cast<T*>(b.range->services->take(sizeof(T) * (size_t)b.threads))), services(b.range->services) {}

// Dynamic shared memory that is declared outside of all functions. Aligned as the other thread-local variables are.
alignas(64) static thread_local unsigned char* thread_dynamic_shared;
template <class T>
struct dynamic_array {
  WEIR_ALWAYS_INLINE operator T*() const { return reinterpret_cast<T*>(thread_dynamic_shared); }
  template <class U>
  WEIR_ALWAYS_INLINE explicit operator U*() const {
    return reinterpret_cast<U*>(thread_dynamic_shared);
  }
};

#if __cplusplus >= 201703L
// The parts of what a structured binding names.
template <int i, class A, class... Rest>
WEIR_ALWAYS_INLINE constexpr auto& one_part(A& a, [[maybe_unused]] Rest&... rest) {
  if constexpr (i == 0) {
    return a;
  } else {
    return one_part<i - 1>(rest...);
  }
}
template <int i, int n, class T>
WEIR_ALWAYS_INLINE constexpr auto& part(T& object) {
  static_assert(n <= 6, "a structured binding where threads of a block work together has up to six names");
  if constexpr (n == 1) {
    auto& [a] = object;
    return one_part<i>(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = object;
    return one_part<i>(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = object;
    return one_part<i>(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = object;
    return one_part<i>(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = object;
    return one_part<i>(a, b, c, d, e);
  } else {
    auto& [a, b, c, d, e, f] = object;
    return one_part<i>(a, b, c, d, e, f);
  }
}
#endif

// --- Barriers: all threads of the block that have not returned must be there.
WEIR_ALWAYS_INLINE bool meet__syncthreads(block& b, const mask& m, const char* place) {
  if (__builtin_expect(m.count == b.alive.count, 1)) return true;
  return b.fail(place, "__syncthreads", 0, m.count, b.alive.count, 0);
}
template <class P>
inline int count_true(const mask& m, const P& predicate) {
  int c = 0;
  for (int t = m.low; t < m.high; ++t) c += m.has((unsigned int)t) && get(predicate, (unsigned int)t) ? 1 : 0;
  return c;
}
template <class P>
inline bool meet__syncthreads_count(block& b, const mask& m, const char* place, int& result, const P& predicate) {
  if (m.count != b.alive.count) return b.fail(place, "__syncthreads_count", 0, m.count, b.alive.count, 0);
  result = count_true(m, predicate);
  return true;
}
template <class P>
inline bool meet__syncthreads_and(block& b, const mask& m, const char* place, int& result, const P& predicate) {
  if (m.count != b.alive.count) return b.fail(place, "__syncthreads_and", 0, m.count, b.alive.count, 0);
  result = count_true(m, predicate) == m.count;
  return true;
}
template <class P>
inline bool meet__syncthreads_or(block& b, const mask& m, const char* place, int& result, const P& predicate) {
  if (m.count != b.alive.count) return b.fail(place, "__syncthreads_or", 0, m.count, b.alive.count, 0);
  result = count_true(m, predicate) != 0;
  return true;
}

}  // namespace weir_host

template <class T>
WEIR_ALWAYS_INLINE constexpr T weir_whole(T step) {
  static_assert(weir_host::is_whole<decltype(0 + step)>::value,
                "a loop over what each thread owns counts a whole number in steps of another type: "
                "let it count in that type");
  return step;
}
)weir";

}  // namespace weir::kernels
