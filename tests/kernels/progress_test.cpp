// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/kernels/support.hpp"

/// Tests that each thread that can run makes progress, even if other threads of its block wait or poll.
namespace weir::test::progress_test {
namespace {

// Each thread, or the first one of each warp while the others return, adds to a sum under a lock. `section`: what it does
// that waits for its warp. `take`: how it waits for the lock.
constexpr const char* locks = R"(
#include <cooperative_groups.h>
__device__ int lock, inner, next, serving, owner, depth;
enum { plain, step, active, vote, together, sync_own, sections };
enum { cas, exchange, poll_atomic, poll_read, poll_ldcv, poll_fence, sleep, attempt, ticket_atomic, ticket_read, nested,
       recursive, takes };

__device__ void work(int section, int* sum, bool alone) {
  __threadfence();
  const unsigned me = 1u << (threadIdx.x % 32);
  int by = 1;
  if (section == active) by = __activemask() != 0;
  if (section == vote) by = __ballot_sync(alone ? ~0u : me, 1) == me;
  if (section == together) by = cooperative_groups::coalesced_threads().size() != 0;
  if (section == sync_own) __syncwarp(me);
  WEIR_SUM(sum) = WEIR_SUM(sum) + by;
  __threadfence();
}
__device__ bool seems_taken(int take, int* l) {
  if (take == poll_atomic) return atomicAdd(l, 0) != 0;
  WEIR_POLL
  if (take == poll_ldcv) return __ldcv(l) != 0;
  __threadfence();
  return *l != 0;
}
__device__ void under_lock(int take, int section, int* sum, bool alone) {
  if (take == attempt) {
    for (bool done = false; !done;) {
      if (atomicCAS(&lock, 0, 1) == 0) {
        work(section, sum, alone);
        atomicExch(&lock, 0);
        done = true;
      }
    }
    return;
  }
  if (take == ticket_atomic || take == ticket_read) {
    const int mine = atomicAdd(&next, 1);
    WEIR_TICKET
    while (atomicAdd(&serving, 0) != mine);
    work(section, sum, alone);
    atomicAdd(&serving, 1);
    return;
  }
  if (take == recursive) {
    const int me = threadIdx.x + 1;
    for (int i = 0; i < 2; ++i) {
      if (atomicAdd(&owner, 0) != me) while (atomicCAS(&owner, 0, me) != 0);
      atomicAdd(&depth, 1);
    }
    work(section, sum, alone);
    for (int i = 0; i < 2; ++i) if (atomicSub(&depth, 1) == 1) atomicExch(&owner, 0);
    return;
  }
  if (take == cas || take == nested) while (atomicCAS(&lock, 0, 1) != 0);
  if (take == exchange) while (atomicExch(&lock, 1) != 0);
  if (take == sleep) while (atomicCAS(&lock, 0, 1) != 0) __nanosleep(20);
  if (take >= poll_atomic && take <= poll_fence) do while (seems_taken(take, &lock)); while (atomicCAS(&lock, 0, 1) != 0);
  if (take == nested) while (atomicCAS(&inner, 0, 1) != 0);
  work(section, sum, alone);
  if (take == nested) atomicExch(&inner, 0);
  atomicExch(&lock, 0);
}
extern "C" __global__ void count(int take, int section, int* sum, bool alone) {
  if (alone && threadIdx.x % 32 != 7) return;
  under_lock(take, section, sum, alone);
}
__global__ void reset() { next = serving = 0; }
)";

/// Launches and waits; a program that hangs ends the process, and is named.
template <class... Args>
void launch_in_time(const std::string& what, const KernelPtr& kernel, const LaunchConfig& config, const Args&... args) {
  const StreamPtr stream = host().create_stream();
  stream->launch(kernel, config, args...);
  const EventPtr end = stream->record();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(300);
  while (!end->is_complete()) {
    if (std::chrono::steady_clock::now() > deadline) {
      std::fprintf(stderr, "%s does not end\n", what.c_str());
      std::_Exit(1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  stream->synchronize();
}

enum { step = 1, poll_read = 3, sections = 6, takes = 12, ticket_read = 9 };

void count_under_locks(bool with_volatile) {
  CompileOptions options;
  options.name = "locks.cu";
  options.defines.emplace_back("WEIR_SUM(x)", with_volatile ? "(*(section == step ? (volatile int*)x : x))" : "(*x)");
  options.defines.emplace_back("WEIR_POLL",
                               with_volatile ? "if (take == poll_read) return *(volatile int*)l != 0;" : "");
  options.defines.emplace_back(
      "WEIR_TICKET", with_volatile ? "if (take == ticket_read) while (*(volatile int*)&serving != mine);" : "");
  const ModulePtr module = host().compile(locks, options);
  const KernelPtr count = module->untyped_kernel("count"), reset = module->untyped_kernel("reset");
  const auto sum = upload(std::vector<int>(1));
  for (int take = 0; take < takes; ++take) {
    for (int section = 0; section < sections; ++section) {
      // Lanes that poll a `volatile` are waited for by those further on: each such launch takes a second.
      const bool polls_volatile = take == poll_read || take == ticket_read;
      if (polls_volatile ? !with_volatile || section != step : section == step && !with_volatile) continue;
      for (const unsigned warps : {1U, 2U, 5U}) {
        if (polls_volatile && warps != 2) continue;
        for (const bool alone : {true, false}) {
          launch(reset, {.grid = {1}, .block = {1}});
          sum.data()[0] = 0;
          const std::string what = fmt::format("a lock taken by way {}, held for {}, by {} in {} warps", take, section,
                                               alone ? "a thread of each" : "all threads", warps);
          launch_in_time(what, count, {.grid = {1}, .block = {32 * warps}}, take, section, sum, alone);
          CAPTURE(what);
          CHECK(sum.data()[0] == static_cast<int>(alone ? warps : 32 * warps));
        }
      }
    }
  }
}

// A random program: each thread's operations. It is made in an order in which it can run, so it can always go on.
constexpr const char* interpreter = R"(
enum { end, section, set, wait, all_vote, barrier, leave };
struct op { int what, how, which; };
__device__ int locks[4], held[4], flags[4096];

__device__ int poll(int* p, int how) {
  switch (how) {
    case 0: return atomicAdd(p, 0);
    case 1: return atomicCAS(p, 0, 0);
    case 2: return WEIR_POLL(p);
    case 3: return __ldcv(p);
    case 4: __nanosleep(10); return atomicOr(p, 0);
    case 5: return __shfl_sync(1u << threadIdx.x % 32, atomicMax(p, 0), threadIdx.x % 32);
    default: __threadfence(); return *p;
  }
}
__device__ void work(int lock, int how) {
  const unsigned me = 1u << threadIdx.x % 32;
  __threadfence();
  if (how == 0) WEIR_READ(&held[lock]) = WEIR_READ(&held[lock]) + 1;
  else if (how == 1) held[lock] += __activemask() != 0;
  else if (how == 2) held[lock] += __ballot_sync(me, 1) == me;
  else { held[lock] += 1; __syncwarp(me); }
  __threadfence();
}
extern "C" __global__ void run(const op* program, int length, int* out) {
  int sum = 0;
  for (const op* o = program + threadIdx.x * length; o->what != end; ++o) {
    switch (o->what) {
      case section:  // of all locks from `which` on
        for (int l = o->which; l < 4; ++l) while (atomicCAS(&locks[l], 0, 1) != 0) if (o->how & 8) __nanosleep(10);
        for (int l = o->which; l < 4; ++l) work(l, o->how % 4);
        for (int l = 3; l >= o->which; --l) atomicExch(&locks[l], 0);
        break;
      case set: __threadfence(); atomicExch(&flags[o->which], 1); break;
      case wait: while (poll(&flags[o->which], o->how) == 0); break;
      case all_vote: sum += __popc(__ballot_sync(~0u, 1)); break;
      case barrier: __syncthreads(); break;
      case leave: out[threadIdx.x] = sum; return;
    }
  }
  out[threadIdx.x] = sum;
}
extern "C" __global__ void reset(int* to) {
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) flags[i] = 0;
  if (threadIdx.x < 4) { to[threadIdx.x] = held[threadIdx.x]; held[threadIdx.x] = 0; }
}
)";

struct Op {
  int what, how, which;
};
enum { end, section, set, wait, all_vote, barrier, leave };

struct Program {
  std::vector<std::vector<Op>> threads;
  std::vector<int> votes, held = std::vector<int>(4);

  Program(unsigned seed, bool with_volatile) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
    const std::size_t warps = 1 + random() % 4, count = 32 * warps - random() % 20;
    threads.resize(count);
    votes.resize(count);
    std::vector<bool> gone(count);
    int flags = 0;
    for (int step = 0; step < 200; ++step) {
      const auto t = static_cast<std::size_t>(below(count));
      const auto give = [&](std::size_t thread, Op op) {
        if (!gone[thread]) threads[thread].push_back(op);
      };
      switch (below(16)) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4: {
          const int first = below(4), how = with_volatile ? below(16) : below(16) | 1;
          if (!gone[t])
            for (int l = first; l < 4; ++l) ++held[static_cast<std::size_t>(l)];
          give(t, {section, how, first});
          break;
        }
        case 5:
        case 6:
        case 7:
          if (!gone[t] && flags < 4000) give(t, {set, 0, flags++});
          break;
        case 8:
        case 9:
        case 10:
        case 11:
        case 12:
          for (int waits = below(3); flags != 0 && waits >= 0; --waits)
            give(static_cast<std::size_t>(below(count)), {wait, below(7), below(static_cast<std::size_t>(flags))});
          break;
        case 13: {
          const std::size_t first = t / 32 * 32, last = std::min(first + 32, count);
          int here = 0;
          for (std::size_t l = first; l < last; ++l) here += gone[l] ? 0 : 1;
          for (std::size_t l = first; l < last; ++l) {
            if (!gone[l]) votes[l] += here;
            give(l, {all_vote, 0, 0});
          }
          break;
        }
        case 14:
          for (std::size_t thread = 0; thread < count; ++thread) give(thread, {barrier, 0, 0});
          break;
        default:
          give(t, {leave, 0, 0});
          gone[t] = true;
      }
    }
  }
};

void run_random_programs(bool with_volatile, unsigned seed, int count) {
  CompileOptions options;
  options.name = "interpreter.cu";
  options.defines.emplace_back("WEIR_READ(p)", with_volatile ? "(*(volatile int*)(p))" : "(*(p))");
  options.defines.emplace_back("WEIR_POLL(p)", with_volatile ? "(*(volatile int*)(p))" : "atomicMin(p, 1)");
  const ModulePtr module = host().compile(interpreter, options);
  const KernelPtr run = module->untyped_kernel("run"), reset = module->untyped_kernel("reset");
  const auto held = upload(std::vector<int>(4));
  for (int i = 0; i < count; ++i, ++seed) {
    const Program program(seed, with_volatile);
    std::size_t length = 1;
    for (const auto& ops : program.threads) length = std::max(length, ops.size() + 1);
    std::vector<Op> flat(length * program.threads.size());
    for (std::size_t t = 0; t < program.threads.size(); ++t)
      std::copy(program.threads[t].begin(), program.threads[t].end(),
                flat.begin() + static_cast<std::ptrdiff_t>(t * length));
    const auto out = upload(std::vector<int>(program.threads.size()));
    launch(reset, {.grid = {1}, .block = {256}}, held);
    launch_in_time(fmt::format("random program {}{}", seed, with_volatile ? " with volatile" : ""), run,
                   {.grid = {1}, .block = {static_cast<unsigned>(program.threads.size())}}, upload(flat),
                   static_cast<int>(length), out);
    launch(reset, {.grid = {1}, .block = {256}}, held);
    CAPTURE(seed);
    CHECK(download(held) == program.held);
    CHECK(download(out) == program.votes);
  }
}

TEST_CASE("a lock is had by each thread in turn, whatever its holder waits for and the others spin at") {
  SUBCASE("without volatile accesses") { count_under_locks(false); }
  SUBCASE("with volatile accesses") { count_under_locks(true); }
}

TEST_CASE("random programs of locks, flags, votes and barriers end") {
  // WEIR_TEST_SECONDS=600 runs programs of ever new seeds for so long; WEIR_TEST_SEED=N begins with that seed;
  // WEIR_TEST_PROGRAMS=N runs N of each kind at once.
  const char* const given = std::getenv("WEIR_TEST_SECONDS");
  const auto end_of_test = std::chrono::steady_clock::now() + std::chrono::seconds(given != nullptr ? std::atoi(given) : 0);
  const char* const first = std::getenv("WEIR_TEST_SEED");
  const char* const programs = std::getenv("WEIR_TEST_PROGRAMS");
  const int count = programs != nullptr ? std::atoi(programs) : 20;
  run_random_programs(true, 3289133508U, 1);  // a lane that polls by shuffles is always ready; others wait for their warp
  unsigned seed = first != nullptr   ? static_cast<unsigned>(std::strtoul(first, nullptr, 10))
                  : given != nullptr ? std::random_device()()
                                     : 1;
  do {
    run_random_programs(false, seed, count);
    run_random_programs(true, seed, count);
    seed += static_cast<unsigned>(count);
  } while (std::chrono::steady_clock::now() < end_of_test);
}

TEST_CASE("a warp that polls by votes leaves time to one whose lanes wait for lanes that have returned") {
  const auto kernel = compile(R"(
__device__ int flag;
extern "C" __global__ void k(int* out) {
  if (threadIdx.x >= 32) {
    while (!__any_sync(~0u, atomicAdd(&flag, 0))) {}
  } else {
    if (threadIdx.x < 8) return;
    out[threadIdx.x] = __popc(__ballot_sync(~0u, 1));
    if (threadIdx.x == 9) atomicExch(&flag, 1);
  }
})")
                          ->untyped_kernel("k");
  const auto out = upload(std::vector<int>(64));
  launch_in_time("polling by votes", kernel, {.grid = {1}, .block = {64}}, out);
  CHECK(out.data()[9] == 24);
}

TEST_CASE("lanes that poll by votes leave time to lanes of their warp that wait at __activemask") {
  const auto kernel = compile(R"(
__device__ int flag;
extern "C" __global__ void k(int* out) {
  if (threadIdx.x < 16) {
    while (!__any_sync(0xffffu, atomicAdd(&flag, 0))) {}
  } else {
    out[threadIdx.x] = __activemask() != 0;
    if (threadIdx.x == 20) atomicExch(&flag, 1);
  }
})")
                          ->untyped_kernel("k");
  const auto out = upload(std::vector<int>(32));
  launch_in_time("polling by votes", kernel, {.grid = {1}, .block = {32}}, out);
  CHECK(out.data()[20] == 1);
}

TEST_CASE("a block that is stuck ends with its error although it has spun before") {
  const auto kernel = compile(R"(
__device__ int lock;
extern "C" __global__ void k(int* out) {
  while (atomicCAS(&lock, 0, 1) != 0) {}
  out[threadIdx.x] = 1;
  atomicExch(&lock, 0);
  if (threadIdx.x < 3) out[threadIdx.x] += __shfl_sync(~0u, 1, 0);
  __syncthreads();
})")
                          ->untyped_kernel("k");
  const Error error = launch_error(kernel, {.grid = {1}, .block = {64}}, upload(std::vector<int>(64)));
  CAPTURE(error.what());
  CHECK(error.errc() == Errc::device_fault);
  CHECK(has(error.what(), "__shfl_sync for lanes that do not call it"));
}

TEST_CASE("a block that polls ends if the block that it waits for is stuck") {
  const auto kernel = compile(R"(
__device__ int lock;
extern "C" __global__ void k(int* out) {
  if (threadIdx.x == 0) while (atomicCAS(&lock, 0, 1) != 0) {}
  if (threadIdx.x < 3) out[threadIdx.x] += __shfl_sync(~0u, 1, 0);
  __syncthreads();
  if (threadIdx.x == 0) atomicExch(&lock, 0);
})")
                          ->untyped_kernel("k");
  const Error error = launch_error(kernel, {.grid = {8}, .block = {64}}, upload(std::vector<int>(64)));
  CAPTURE(error.what());
  CHECK(error.errc() == Errc::device_fault);
  CHECK(has(error.what(), "__shfl_sync for lanes that do not call it"));
}

TEST_CASE("lanes that name no lanes wait for their whole warp, however long the block runs") {
  const Variable tier("WEIR_HOST_TIER", "fibers");
  const auto kernel = compile(R"(
struct four { int x, y, z, w; };
extern "C" __global__ void k(int* out) {
  int wrong = 0;
  for (int round = 0; round < 1000; ++round) {
    four sum = {(int)threadIdx.x, round, 1, (int)(threadIdx.x & 1)};
    for (int by = 16; by > 0; by /= 2) {
      const four other = __shfl_xor(sum, by);
      sum = {sum.x + other.x, sum.y + other.y, sum.z + other.z, sum.w + other.w};
    }
    if (threadIdx.x >= 128) continue;  // this warp lacks lanes, so that the others' turns come at any time
    wrong += sum.x != (int)(threadIdx.x / 32 * 32 + 15) * 32 + 16 || sum.y != 32 * round || sum.z != 32 || sum.w != 16;
  }
  out[threadIdx.x] = wrong;
})")
                          ->untyped_kernel("k");
  const auto out = upload(std::vector<int>(150, -1));
  launch_in_time("shuffles without masks", kernel, {.grid = {1}, .block = {150}}, out);
  CHECK(download(out) == std::vector<int>(150));
}

}  // namespace
}  // namespace weir::test::progress_test
