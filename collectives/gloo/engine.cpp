// SPDX-License-Identifier: Apache-2.0
#include "collectives/gloo/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>
#include <stdexcept>
#include <utility>

#include "collectives/host/reduce.hpp"
#include "collectives/operation.hpp"
#include "collectives/threads.hpp"

namespace weir::gloo {

using std::chrono::milliseconds;
using Kind = CollectiveCall::Kind;

namespace {

// Ends the work of a step, because the engine has failed.
struct Failed {};

// Names a message. Gloo ends the process if a message is longer than its receive, so messages of different operations never
// match: they wait until the timeout, which says what the ranks have called.
std::uint64_t slot_of(std::initializer_list<std::uint64_t> what) {
  std::uint64_t slot = 0;
  for (const std::uint64_t value : what) {
    slot = (slot ^ value) * 0x9E3779B97F4A7C15U;
    slot ^= slot >> 32U;
  }
  return slot;
}

// The elements of one part when all ranks share the work. Few elements are left to few ranks, to save messages.
std::size_t shared_part(const CollectiveCall& c, int ranks) {
  constexpr std::size_t least_bytes = 4096;
  const auto n = static_cast<std::size_t>(ranks);
  return std::max((c.count + n - 1) / n, least_bytes / size_of(c.type));
}

// The place of a part. The last parts may be shorter or empty.
struct Range {
  Range(std::size_t total, std::size_t part, int number, std::size_t element) {
    const std::size_t first = std::min(total, part * static_cast<std::size_t>(number));
    begin = first * element;
    count = std::min(part, total - first);
    bytes = count * element;
  }
  std::size_t begin, count, bytes;
};

}  // namespace

std::string_view without_place(std::string_view error) {
  const std::size_t end = error.starts_with('[') ? error.find("] ") : std::string_view::npos;
  return end == std::string_view::npos ? error : error.substr(end + 2);
}

// --- Connecting -------------------------------------------------------------------------------------------------------

Engine::Engine(transport::Device& device, const Meeting& meeting)
    : rank_(meeting.rank),
      size_(static_cast<int>(meeting.members.size())),
      timeout_(meeting.timeout),
      context_(device.createContext(rank_, size_)),
      sent_(meeting.members.size()),
      received_(meeting.members.size()) {}

// Each rank publishes the address of one socket for each other rank.
void Engine::connect(const Meeting& meeting) {
  const auto begin = Clock::now();
  const auto until = std::min(meeting.deadline, begin + (timeout_.count() != 0 ? timeout_ : std::chrono::minutes(10)));
  const auto refuse = [&](const std::string& what, std::string_view why) {
    throw Error(Errc::communicator_failed, "Communicator::from_environment", fmt::format("gloo rank {} of {}", rank_, size_),
                fmt::format("{} not made within {} ms: {}", what,
                            std::chrono::duration_cast<milliseconds>(Clock::now() - begin).count(), why));
  };
  const auto connection_to = [&](int peer) {
    return fmt::format("the connection to {} was", meeting.peers.name_of(meeting.members[static_cast<std::size_t>(peer)]));
  };
  constexpr int ranks_of_value = 256;  // a value of the store is limited
  const auto key_of = [&](int peer) { return fmt::format("{} {}", meeting.key, peer / ranks_of_value); };
  if (size_ > 1 && until <= begin) refuse("the connections were", "the ranks took all the time to meet");
  // Gloo waits five times as long for a connection, and takes 0 for ever.
  context_->setTimeout(std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>((until - begin) / 5)));
  int peer = 0;
  try {
    std::size_t size = 0;
    std::vector<std::string> own(static_cast<std::size_t>(size_));
    for (peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      const std::vector<char> bytes = context_->createPair(peer)->address().bytes();
      own[static_cast<std::size_t>(peer)].assign(bytes.begin(), bytes.end());
      size = bytes.size();
    }
    if (size_ > 1) own[static_cast<std::size_t>(rank_)].resize(size);
    for (int first = 0; first < size_; first += ranks_of_value) {
      std::string addresses;
      for (int i = first; i < std::min(size_, first + ranks_of_value); ++i) addresses += own[static_cast<std::size_t>(i)];
      meeting.peers.publish(key_of(first), addresses);
    }
    for (peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      const auto value = meeting.peers.value_of(meeting.members[static_cast<std::size_t>(peer)], key_of(rank_), until);
      const std::size_t at = static_cast<std::size_t>(rank_ % ranks_of_value) * size;
      if (!value || value->size() < at + size) refuse(connection_to(peer), "it has ended, or was too late with its address");
      context_->getPair(peer)->connect(std::vector<char>(value->begin() + static_cast<std::ptrdiff_t>(at),
                                                         value->begin() + static_cast<std::ptrdiff_t>(at + size)));
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    refuse(connection_to(peer), fmt::format("{}; set GLOO_SOCKET_IFNAME to the interface that leads to the other machines",
                                            without_place(error.what())));
  }
  // A rank that returns may end at once, and the store with it. So all ranks must be connected first.
  deadline_ = until;
  try {
    barrier(0);
  } catch (const std::exception& error) {
    refuse("the connections of all ranks were", error.what());
  }
}

std::shared_ptr<Engine> Engine::start(transport::Device& device, const Meeting& meeting) {
  const std::shared_ptr<Engine> engine(new Engine(device, meeting));
  engine->connect(meeting);
  collectives::start_thread("Communicator::from_environment", "of a communicator", [engine] { engine->run(); }).detach();
  // The thread owns the engine. The pointer that is returned ends the thread when its last copy is destroyed.
  return {engine.get(), [engine](Engine*) {
            const std::lock_guard lock(engine->mutex_);
            engine->is_closing_ = true;
            engine->wake_.notify_all();
          }};
}

// --- Messages ---------------------------------------------------------------------------------------------------------

class Engine::Round {
 public:
  explicit Round(Engine& engine) : engine_(engine) {}

  void send(const void* data, std::size_t bytes, int peer, std::uint64_t slot) {
    add(const_cast<void*>(data), bytes, peer, true).send(peer, slot);  // Gloo's type for both directions; it only reads
  }
  void receive(void* data, std::size_t bytes, int peer, std::uint64_t slot) {
    add(data, bytes, peer, false).recv(peer, slot);
  }
  /// Waits for all messages.
  void wait() {
    for (const Message& message : messages_) engine_.await(*message.buffer, message.peer, message.is_send);
  }

 private:
  struct Message {
    std::unique_ptr<transport::UnboundBuffer> buffer;  // as long as it lives, Gloo uses the memory
    int peer;
    bool is_send;
  };

  transport::UnboundBuffer& add(void* data, std::size_t bytes, int peer, bool is_send) {
    messages_.push_back({engine_.context_->createUnboundBuffer(data, bytes), peer, is_send});
    return *messages_.back().buffer;
  }

  Engine& engine_;
  std::vector<Message> messages_;
};

void Engine::await(transport::UnboundBuffer& buffer, int peer, bool is_send) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.has_failed()) throw Failed();
    awaited_ = &buffer;
  }
  const auto end = [this] {
    const std::lock_guard lock(mutex_);
    awaited_ = nullptr;
    if (failure_.has_failed()) throw Failed();
  };
  // Gloo takes -1 for its own default, and adds the time to now, so the longest one would overflow.
  auto limit = milliseconds(std::chrono::hours(24 * 365));
  if (deadline_ != Clock::time_point::max())
    limit = std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline_ - Clock::now()));
  try {
    is_send ? buffer.waitSend(limit) : buffer.waitRecv(limit);  // false if `fail` has ended it
  } catch (const std::exception& error) {
    end();
    throw std::runtime_error(fmt::format("the connection to rank {} was lost: {}", peer, without_place(error.what())));
  }
  end();
}

// --- Collectives ------------------------------------------------------------------------------------------------------

// Part i of `total` elements of every rank goes to rank i, which reduces it into `into`, in the order of the ranks.
void Engine::reduce_parts(const CollectiveCall& c, std::size_t total, std::size_t part, void* into, std::uint64_t slot) {
  const std::size_t element = size_of(c.type);
  const auto* const from = static_cast<const std::byte*>(c.send);
  const Range own(total, part, rank_, element);
  if (const std::size_t needed = own.bytes * static_cast<std::size_t>(size_ - 1); scratch_.size() < needed) {
    scratch_.clear();
    scratch_.resize(needed);
  }
  std::vector<const void*> sources(static_cast<std::size_t>(size_), from + own.begin);
  std::byte* room = scratch_.data();
  Round round(*this);
  for (int i = 1; i < size_; ++i) {
    const int peer = (rank_ + i) % size_;
    const Range theirs(total, part, peer, element);
    if (theirs.bytes != 0) round.send(from + theirs.begin, theirs.bytes, peer, slot);
    if (own.bytes == 0) continue;
    sources[static_cast<std::size_t>(peer)] = room;
    round.receive(room, own.bytes, peer, slot);
    room += own.bytes;
  }
  round.wait();
  if (own.count != 0) collectives::reduce(c.type, c.reduction, {&into, 1}, sources, own.count);
}

// Every rank sends its part of `c.receive` to all others except rank `complete`, which has all parts.
void Engine::gather_parts(const CollectiveCall& c, std::size_t total, std::size_t part, std::uint64_t slot, int complete) {
  const std::size_t element = size_of(c.type);
  auto* const data = static_cast<std::byte*>(c.receive);
  const Range own(total, part, rank_, element);
  Round round(*this);
  for (int i = 1; i < size_; ++i) {
    const int peer = (rank_ + i) % size_;
    const Range theirs(total, part, peer, element);
    if (own.bytes != 0 && peer != complete) round.send(data + own.begin, own.bytes, peer, slot);
    if (theirs.bytes != 0 && rank_ != complete) round.receive(data + theirs.begin, theirs.bytes, peer, slot);
  }
  round.wait();
}

// The root sends small data to all ranks. It splits large data: each rank receives one part, and sends it to all others.
void Engine::broadcast(const CollectiveCall& c, std::uint64_t slot) {
  constexpr std::size_t large_bytes = std::size_t{64} << 10U;
  const std::size_t element = size_of(c.type), bytes = c.count * element;
  auto* const data = static_cast<std::byte*>(c.receive);
  const bool is_root = rank_ == c.peer;
  if (is_root && c.send != c.receive) std::memcpy(data, c.send, bytes);
  const bool is_large = bytes > large_bytes;
  const std::size_t part = is_large ? shared_part(c, size_) : c.count;
  Round round(*this);
  for (int peer = 0; peer < size_; ++peer) {
    const Range range(c.count, part, is_large ? (is_root ? peer : rank_) : 0, element);
    if (range.bytes == 0 || peer == rank_) continue;
    if (is_root) round.send(data + range.begin, range.bytes, peer, slot);
    if (peer == c.peer) round.receive(data + range.begin, range.bytes, peer, slot);
  }
  round.wait();
  if (is_large) gather_parts(c, c.count, part, slot + 1, c.peer);
}

// A dissemination barrier: log2(size) rounds.
void Engine::barrier(std::uint64_t slot) {
  for (int distance = 1; distance < size_; distance *= 2) {
    Round round(*this);
    round.send(nullptr, 0, (rank_ + distance) % size_, slot + static_cast<std::uint64_t>(distance));
    round.receive(nullptr, 0, (rank_ + size_ - distance) % size_, slot + static_cast<std::uint64_t>(distance));
    round.wait();
  }
}

void Engine::run_collective(const CollectiveCall& c) {
  const std::uint64_t slot = slot_of({++collectives_, static_cast<std::uint64_t>(c.kind), static_cast<std::uint64_t>(c.type),
                                      collectives::reduces(c) ? static_cast<std::uint64_t>(c.reduction) : 0,
                                      collectives::has_root(c) ? static_cast<std::uint64_t>(c.peer) : 0, c.count});
  const auto ranks = static_cast<std::size_t>(size_), rank = static_cast<std::size_t>(rank_);
  const std::size_t bytes = c.count * size_of(c.type);
  const auto* const from = static_cast<const std::byte*>(c.send);
  auto* const to = static_cast<std::byte*>(c.receive);
  switch (c.kind) {
    case Kind::all_reduce: {
      const std::size_t part = shared_part(c, size_);
      reduce_parts(c, c.count, part, to + Range(c.count, part, rank_, size_of(c.type)).begin, slot);
      return gather_parts(c, c.count, part, slot + 1);
    }
    case Kind::reduce: {
      const std::size_t part = shared_part(c, size_);
      const Range own(c.count, part, rank_, size_of(c.type));
      const bool is_root = rank_ == c.peer;
      std::vector<std::byte> result(is_root ? 0 : own.bytes);
      reduce_parts(c, c.count, part, is_root ? to + own.begin : result.data(), slot);
      Round round(*this);
      if (!is_root && own.bytes != 0) round.send(result.data(), own.bytes, c.peer, slot + 1);
      for (int peer = 0; is_root && peer < size_; ++peer) {
        const Range theirs(c.count, part, peer, size_of(c.type));
        if (peer != rank_ && theirs.bytes != 0) round.receive(to + theirs.begin, theirs.bytes, peer, slot + 1);
      }
      return round.wait();
    }
    case Kind::reduce_scatter: return reduce_parts(c, ranks * c.count, c.count, to, slot);
    case Kind::broadcast: return broadcast(c, slot);
    case Kind::all_gather:
      if (from != to + rank * bytes) std::memcpy(to + rank * bytes, from, bytes);
      return gather_parts(c, ranks * c.count, c.count, slot);
    case Kind::all_to_all: {
      std::memcpy(to + rank * bytes, from + rank * bytes, bytes);
      Round round(*this);
      for (int i = 1; i < size_; ++i) {
        const int next = (rank_ + i) % size_, previous = (rank_ + size_ - i) % size_;
        round.send(from + static_cast<std::size_t>(next) * bytes, bytes, next, slot);
        round.receive(to + static_cast<std::size_t>(previous) * bytes, bytes, previous, slot);
      }
      return round.wait();
    }
    case Kind::barrier: return barrier(slot);
    default: return;
  }
}

// --- Steps ------------------------------------------------------------------------------------------------------------

void Engine::begin(const std::vector<CollectiveCall>& calls, collectives::StepEnd end) {
  const std::lock_guard lock(mutex_);
  steps_.push_back({calls, end, Clock::now()});
  wake_.notify_all();
}

// Sends and receives of a step may depend on each other, so all are under way before the first is waited for.
void Engine::run_calls(const Step& step) {
  deadline_ = timeout_.count() != 0 ? step.since + timeout_ : Clock::time_point::max();
  for (const CollectiveCall& call : step.calls) recorder_->mark_started(call.number);
  current_ = step.calls.front().number;
  Round messages(*this);
  std::deque<const CollectiveCall*> to_self, from_self;
  for (const CollectiveCall& c : step.calls) {
    if (!collectives::is_paired(c)) continue;
    const bool is_send = c.kind == Kind::send;
    if (c.peer == rank_) {
      (is_send ? to_self : from_self).push_back(&c);
      continue;
    }
    const std::uint64_t slot =
        slot_of({++(is_send ? sent_ : received_)[static_cast<std::size_t>(c.peer)], static_cast<std::uint64_t>(Kind::send),
                 static_cast<std::uint64_t>(c.type), c.count});
    const std::size_t bytes = c.count * size_of(c.type);
    is_send ? messages.send(c.send, bytes, c.peer, slot) : messages.receive(c.receive, bytes, c.peer, slot);
  }
  for (; !to_self.empty() && !from_self.empty(); to_self.pop_front(), from_self.pop_front()) {
    const CollectiveCall &from = *to_self.front(), &to = *from_self.front();
    if (from.count != to.count || from.type != to.type)
      throw std::runtime_error(fmt::format("rank {} sends {} {} to itself, but receives {} {}", rank_, from.count,
                                           to_string(from.type), to.count, to_string(to.type)));
    std::memcpy(to.receive, from.send, from.count * size_of(from.type));
  }
  if (!to_self.empty() || !from_self.empty())
    throw std::runtime_error(
        fmt::format("rank {} sends to itself or receives from itself without the other; put both into "
                    "one group",
                    rank_));
  for (const CollectiveCall& call : step.calls) {
    if (collectives::is_paired(call)) continue;
    current_ = call.number;
    run_collective(call);
    recorder_->mark_done(call.number);
  }
  for (const CollectiveCall& call : step.calls) {
    if (collectives::is_paired(call)) current_ = call.number;
  }
  messages.wait();
  for (const CollectiveCall& call : step.calls) recorder_->mark_done(call.number);
}

void Engine::run() {
  bool is_closed = false;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return is_closing_ || !steps_.empty(); });
    if (steps_.empty()) return;
    Step step = std::move(steps_.front());
    steps_.pop_front();
    if (!failure_.has_failed()) {
      lock.unlock();
      try {
        run_calls(step);
      } catch (const Failed&) {
      } catch (const std::bad_alloc&) {
        fail("host memory is exhausted: no memory for " + std::string(to_string(step.calls.front().kind)));
      } catch (const std::exception& error) {
        if (Clock::now() >= deadline_) {
          fail("an operation has not ended within the timeout", current_);
        } else {
          // When a rank dies, its connections end before the store reports the death. That report has the better text.
          lock.lock();
          wake_.wait_for(lock, std::chrono::seconds(1), [this] { return failure_.has_failed(); });
          lock.unlock();
          fail(error.what());
        }
      }
      lock.lock();
    }
    lock.unlock();
    step.end();
    if (failure_.has_failed()) {
      for (int peer = 0; !is_closed && peer < size_; ++peer) {
        if (peer != rank_) context_->getPair(peer)->close();
      }
      is_closed = true;
      failure_.tell();
    }
    lock.lock();
  }
}

// --- Failing ----------------------------------------------------------------------------------------------------------

void Engine::fail(std::string_view why, std::uint64_t late) noexcept {
  const std::lock_guard lock(mutex_);
  if (!failure_.set(why, late)) return;
  if (awaited_ != nullptr) {
    awaited_->abortWaitSend();
    awaited_->abortWaitRecv();
  }
  wake_.notify_all();
}

}  // namespace weir::gloo
