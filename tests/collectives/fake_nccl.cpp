// SPDX-License-Identifier: Apache-2.0
// A stand-in for RCCL, and so for NCCL, for tests only. It runs real collectives among the ranks of one process, on a HIP
// runtime with memory that the host can access (the bridge with tests/cpu_cuda). A host function reports that the stream of
// a rank has arrived. Then the stream waits for a value, which the last rank writes, because HIP calls host functions one at
// a time. A capture does not allow this wait, so there it supports only one rank.
//
// The instructions are `fail` of tests/drivers/script.hpp, with functions without their "nccl", and:
//   async=N  from the N-th operation on, ncclCommGetAsyncError returns ncclRemoteError
//   slow=N   the N-th call of ncclGroupEnd takes slow_ms milliseconds
//   alone=1  communicators are made without ranks of other processes, which the stand-in cannot reach
//   hang=N   from the N-th operation on, operations wait for a peer forever, until they are aborted
//
// At the end of the process, it prints the number of communicators that were not destroyed, if there are any.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/host/reduce.hpp"
#include "collectives/nccl/api.hpp"
#include "tests/drivers/script.hpp"

namespace weir::nccl {
struct Group;
struct Comm {
  std::shared_ptr<Group> group;
  int rank = 0;
  bool blocking = true;
  std::atomic<bool> aborted{false};
};
}  // namespace weir::nccl

namespace {

using weir::ElementType;
using weir::Reduction;
using weir::nccl::Comm;
using weir::nccl::Config;
using weir::nccl::UniqueId;
using Kind = weir::CollectiveCall::Kind;

struct Call {
  Kind kind;
  const std::byte* send;
  std::byte* receive;
  std::size_t count;
  ElementType type;
  Reduction reduction;
  int peer;
  std::size_t bytes() const { return count * weir::size_of(type); }
};

// What one group enqueues on one stream. Never freed: a graph may run it again.
struct Batch {
  std::shared_ptr<weir::nccl::Group> group;
  int rank = 0;
  std::vector<Call> calls;
  bool hangs = false;
  std::size_t open = 0;           // calls that are not done
  std::uint32_t* done = nullptr;  // pinned memory, where the stream waits for a 1
  void finish() { __atomic_store_n(done, 1, __ATOMIC_SEQ_CST); }
};
struct Arrived {
  Batch* batch = nullptr;
  const Call* call = nullptr;
  const Call* operator->() const { return call; }
};

}  // namespace

struct weir::nccl::Group {
  int ranks = 0;
  std::mutex mutex;
  std::vector<Batch*> waiting;
  std::map<int, int> devices;  // of the ranks that have come
  bool aborted = false;
  struct Split {
    Comm* comm;
    int color, key;
    Comm** part;
  };
  std::map<int, Split> splits;  // of the ranks that have called ncclCommSplit
  std::vector<std::deque<Arrived>> collectives;
  std::map<std::pair<int, int>, std::pair<std::deque<Arrived>, std::deque<Arrived>>> pairs;
};

namespace {

using weir::nccl::Group;
using weir::test::Script;

Script& script() { return Script::instance(); }
std::atomic<int> operations{0};
std::mutex error_mutex;
std::string last_error;

/// The result of this call of a function: 0, or what the script says.
int result_of(const std::string& function) {
  const int result = script().failure_of(function);
  if (result == 0) return 0;
  const std::lock_guard lock(error_mutex);
  last_error = "scripted failure of " + function;
  return result;
}

/// Whether the script has the word, and as many operations were enqueued as it says.
bool reached(const char* word) {
  const int number = script().number(word, 0);
  return number != 0 && operations >= number;
}

// --- Work -------------------------------------------------------------------------------------------------------------

void carry_out(const std::vector<Arrived>& calls) {
  const std::size_t n = calls.size();
  const Call& first = *calls[0].call;
  const std::size_t bytes = first.bytes();
  const auto reduce = [&](std::size_t offset) {
    std::vector<std::byte> result(bytes);
    void* const into[] = {result.data()};
    std::vector<const void*> sources;
    for (const Arrived& call : calls) sources.push_back(call->send + offset);
    weir::collectives::reduce(first.type, first.reduction, into, sources, first.count);
    return result;
  };
  switch (first.kind) {
    case Kind::all_reduce:
    case Kind::reduce: {
      const auto result = reduce(0);
      for (std::size_t i = 0; i < n; ++i) {
        if (first.kind == Kind::all_reduce || static_cast<int>(i) == first.peer)
          std::memcpy(calls[i]->receive, result.data(), bytes);
      }
      break;
    }
    case Kind::reduce_scatter:
      for (std::size_t i = 0; i < n; ++i) {
        const auto result = reduce(i * bytes);
        std::memcpy(calls[i]->receive, result.data(), bytes);
      }
      break;
    case Kind::broadcast:
      for (const Arrived& call : calls)
        std::memmove(call->receive, calls[static_cast<std::size_t>(first.peer)]->send, bytes);
      break;
    case Kind::all_gather:
      for (std::size_t i = 0; i < n; ++i) {
        for (const Arrived& call : calls) std::memmove(call->receive + i * bytes, calls[i]->send, bytes);
      }
      break;
    default: std::memmove(calls[1]->receive, calls[0]->send, bytes);
  }
  for (const Arrived& call : calls) {
    if (--call.batch->open == 0) call.batch->finish();
  }
}

void arrive(void* data) {
  Batch& batch = *static_cast<Batch*>(data);
  Group& group = *batch.group;
  const std::lock_guard lock(group.mutex);
  if (group.aborted) return batch.finish();
  batch.open = batch.calls.size();
  group.waiting.push_back(&batch);
  if (batch.hangs) return;
  for (const Call& call : batch.calls) {
    if (call.kind != Kind::send && call.kind != Kind::receive) {
      group.collectives[static_cast<std::size_t>(batch.rank)].push_back({&batch, &call});
      continue;
    }
    const bool sends = call.kind == Kind::send;
    auto& [sent, received] = group.pairs[sends ? std::pair(batch.rank, call.peer) : std::pair(call.peer, batch.rank)];
    (sends ? sent : received).push_back({&batch, &call});
    if (sent.empty() || received.empty()) continue;
    carry_out({sent.front(), received.front()});
    sent.pop_front();
    received.pop_front();
  }
  const auto complete = [&] {
    for (const auto& queue : group.collectives) {
      if (queue.empty()) return false;
    }
    return true;
  };
  while (complete()) {
    std::vector<Arrived> calls;
    for (auto& queue : group.collectives) {
      calls.push_back(queue.front());
      queue.pop_front();
    }
    carry_out(calls);
  }
}

constexpr int remote_error = 6;  // ncclRemoteError
constexpr unsigned hip_wait_equal = 1;  // hipStreamWaitValueEq

template <class F>
F hip(const char* name) {
  static void* const runtime = ::dlopen(std::getenv("WEIR_HIP_RUNTIME"), RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<F>(runtime != nullptr ? ::dlsym(runtime, name) : nullptr);
}

struct Open {
  int depth = 0;
  std::vector<std::pair<std::pair<Comm*, void*>, Call>> calls;
};
thread_local Open open;

// A word that is 0. Words come in blocks, since memory cannot be allocated in a capture.
std::uint32_t* take_word() {
  constexpr std::size_t block = 16384;
  static std::mutex mutex;
  static std::uint32_t* words = nullptr;
  static std::size_t used = block;
  const std::lock_guard lock(mutex);
  if (used == block) {
    hip<int (*)(void**, std::size_t, unsigned)>("hipHostMalloc")(reinterpret_cast<void**>(&words), block * sizeof(*words),
                                                                 0);
    std::memset(words, 0, block * sizeof(*words));
    used = 0;
  }
  return &words[used++];
}

int flush() {
  auto calls = std::move(open.calls);
  open.calls.clear();
  int result = 0;
  while (!calls.empty()) {
    const auto where = calls.front().first;
    if (where.first->aborted) {  // the library has freed it
      std::fprintf(stderr, "a communicator was used after ncclCommAbort\n");
      std::_Exit(70);
    }
    auto* const batch = new Batch;
    batch->group = where.first->group;
    batch->rank = where.first->rank;
    batch->done = take_word();
    batch->hangs = reached("hang");
    decltype(calls) others;
    for (auto& call : calls) {
      if (call.first == where)
        batch->calls.push_back(call.second);
      else
        others.push_back(call);
    }
    calls.swap(others);
    const auto launch = hip<int (*)(void*, void (*)(void*), void*)>("hipLaunchHostFunc");
    const auto wait = hip<int (*)(void*, void*, std::uint32_t, unsigned, std::uint32_t)>("hipStreamWaitValue32");
    int captures = 0;
    hip<int (*)(void*, int*)>("hipStreamIsCapturing")(where.second, &captures);
    if (launch(where.second, arrive, batch) != 0) result = 1;
    if (captures == 0 && wait(where.second, batch->done, 1, hip_wait_equal, 0xFFFFFFFF) != 0) result = 1;
  }
  return result;
}

int add(const char* function, Comm* comm, void* stream, Kind kind, const void* send, void* receive, std::size_t count,
        int type, int reduction, int peer) {
  if (const int result = result_of(function); result != 0) return result;
  Call call{
      kind, static_cast<const std::byte*>(send), static_cast<std::byte*>(receive), count, ElementType::int8, Reduction::sum,
      peer};
  for (std::size_t i = 0; i < std::size(weir::nccl::data_types); ++i) {
    if (weir::nccl::data_types[i] == type) call.type = static_cast<ElementType>(i);
  }
  for (std::size_t i = 0; i < std::size(weir::nccl::reductions); ++i) {
    if (weir::nccl::reductions[i] == reduction) call.reduction = static_cast<Reduction>(i);
  }
  ++operations;
  open.calls.push_back({{comm, stream}, call});
  return open.depth == 0 ? flush() : 0;
}

// Communicators that were made and not ended.
struct Living {
  std::atomic<int> count{0};
  ~Living() {
    if (count != 0) std::fprintf(stderr, "%d communicators were left\n", count.load());
  }
};
Living living;

std::mutex groups_mutex;
std::map<std::string, std::shared_ptr<Group>> groups;

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE int ncclGetVersion(int* version) {
  *version = 22907;
  return result_of("GetVersion");
}
FAKE const char* ncclGetErrorString(int result) { return result == 0 ? "no error" : "scripted error"; }
FAKE const char* ncclGetLastError(Comm*) { return last_error.c_str(); }

FAKE int ncclGetUniqueId(UniqueId* id) {
  static int number = 0;
  std::memset(id, 0, sizeof(*id));
  std::snprintf(id->internal, sizeof(id->internal), "fake %d", ++number);
  return result_of("GetUniqueId");
}

FAKE int ncclCommInitRankConfig(Comm** comm, int ranks, UniqueId id, int rank, Config* config) {
  if (const int result = result_of("CommInitRankConfig"); result != 0) return result;
  if (config->magic != 0xcafebeef || config->version != 21400) return weir::nccl::invalid_argument;
  std::shared_ptr<Group> group;
  {
    const std::lock_guard lock(groups_mutex);
    auto& slot = groups[std::string(id.internal, sizeof(id.internal))];
    if (!slot) slot = std::make_shared<Group>();
    group = slot;
  }
  take_word();
  int device = -1;
  hip<int (*)(int*)>("hipGetDevice")(&device);
  const std::lock_guard lock(group->mutex);
  for (const auto& [other, its] : group->devices) {
    if (its == device) return weir::nccl::invalid_usage;  // "Duplicate GPU detected"
  }
  group->devices[rank] = device;
  group->ranks = ranks;
  group->collectives.resize(static_cast<std::size_t>(ranks));
  *comm = new Comm{group, rank, config->blocking != 0, {}};
  ++living.count;
  return config->blocking != 0 ? 0 : weir::nccl::in_progress;
}

FAKE int ncclCommGetAsyncError(Comm* comm, int* error) {
  *error = reached("async") ? remote_error : 0;
  if (*error != 0) return 0;
  const std::lock_guard lock(comm->group->mutex);
  const bool has_all = static_cast<int>(comm->group->devices.size()) == comm->group->ranks;
  if (!has_all && script().number("alone", 0) == 0) *error = weir::nccl::in_progress;
  if (comm->group->splits.contains(comm->rank)) *error = weir::nccl::in_progress;
  return result_of("CommGetAsyncError");
}

FAKE int ncclCommCount(Comm* comm, int* ranks) {
  *ranks = comm->group->ranks;
  return result_of("CommCount");
}
FAKE int ncclCommUserRank(Comm* comm, int* rank) {
  *rank = comm->rank;
  return result_of("CommUserRank");
}
#ifndef FAKE_NCCL_WITHOUT_SPLIT
// Ends when the last rank calls it. A blocking communicator does not wait for that here, so one thread must call for all.
FAKE int ncclCommSplit(Comm* comm, int color, int key, Comm** part, Config* config) {
  if (const int result = result_of("CommSplit"); result != 0) return result;
  if (config != nullptr || color < -1) return weir::nccl::invalid_argument;
  Group& group = *comm->group;
  const std::lock_guard lock(group.mutex);
  group.splits[comm->rank] = {comm, color, key, part};
  if (static_cast<int>(group.splits.size()) < group.ranks) return comm->blocking ? 0 : weir::nccl::in_progress;
  std::map<int, std::multimap<int, Group::Split>> members;  // by color and key; equal keys stay in the order of ranks
  for (const auto& [rank, split] : group.splits) {
    if (split.color >= 0) members[split.color].emplace(split.key, split);
  }
  for (const auto& [its_color, its] : members) {
    const auto made = std::make_shared<Group>();
    made->ranks = static_cast<int>(its.size());
    made->collectives.resize(its.size());
    for (const auto& [its_key, split] : its) {
      const int rank = static_cast<int>(made->devices.size());
      made->devices[rank] = group.devices[split.comm->rank];
      *split.part = new Comm{made, rank, split.comm->blocking, {}};
      ++living.count;
    }
  }
  group.splits.clear();
  return comm->blocking ? 0 : weir::nccl::in_progress;
}
#endif

FAKE int ncclCommFinalize(Comm*) { return result_of("CommFinalize"); }
FAKE int ncclCommDestroy(Comm*) {
  --living.count;
  return result_of("CommDestroy");
}
FAKE int ncclCommAbort(Comm* comm) {
  --living.count;
  const std::lock_guard lock(comm->group->mutex);
  comm->group->aborted = true;
  comm->aborted = true;
  for (Batch* const batch : comm->group->waiting) batch->finish();
  return result_of("CommAbort");
}

FAKE int ncclGroupStart() {
  ++open.depth;
  return result_of("GroupStart");
}
FAKE int ncclGroupEnd() {
  static std::atomic<int> calls{0};
  const int scripted = result_of("GroupEnd");
  if (++calls == script().number("slow", 0))
    std::this_thread::sleep_for(std::chrono::milliseconds(script().number("slow_ms", 0)));
  const int result = --open.depth == 0 ? flush() : 0;
  return scripted != 0 ? scripted : result;
}

FAKE int ncclAllReduce(const void* send, void* receive, std::size_t count, int type, int op, Comm* comm, void* stream) {
  return add("AllReduce", comm, stream, Kind::all_reduce, send, receive, count, type, op, 0);
}
FAKE int ncclBroadcast(const void* send, void* receive, std::size_t count, int type, int root, Comm* comm, void* stream) {
  return add("Broadcast", comm, stream, Kind::broadcast, send, receive, count, type, 0, root);
}
FAKE int ncclReduce(const void* send, void* receive, std::size_t count, int type, int op, int root, Comm* comm,
                    void* stream) {
  return add("Reduce", comm, stream, Kind::reduce, send, receive, count, type, op, root);
}
FAKE int ncclAllGather(const void* send, void* receive, std::size_t count, int type, Comm* comm, void* stream) {
  return add("AllGather", comm, stream, Kind::all_gather, send, receive, count, type, 0, 0);
}
FAKE int ncclReduceScatter(const void* send, void* receive, std::size_t count, int type, int op, Comm* comm, void* stream) {
  return add("ReduceScatter", comm, stream, Kind::reduce_scatter, send, receive, count, type, op, 0);
}
FAKE int ncclSend(const void* data, std::size_t count, int type, int peer, Comm* comm, void* stream) {
  return add("Send", comm, stream, Kind::send, data, nullptr, count, type, 0, peer);
}
#ifndef FAKE_NCCL_WITHOUT_RECV
FAKE int ncclRecv(void* data, std::size_t count, int type, int peer, Comm* comm, void* stream) {
  return add("Recv", comm, stream, Kind::receive, nullptr, data, count, type, 0, peer);
}
#endif
