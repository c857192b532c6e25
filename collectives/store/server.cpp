// SPDX-License-Identifier: Apache-2.0
#include "collectives/store/server.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/store/asio.hpp"
#include "collectives/store/wire.hpp"
#include "core/base/host_name.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

namespace weir::store {
namespace {

using Frame = std::shared_ptr<const std::string>;
using std::chrono::milliseconds;

constexpr std::size_t max_strangers = 2048;    // connections that have not shown the token
constexpr std::size_t max_unsent = 4U << 20U;  // bytes for a client that does not read
constexpr std::size_t max_waiting = 4096;      // requests of one client
constexpr auto stranger_time = std::chrono::seconds(5);

bool is_same(const Ticket& a, const Ticket& b) {
  const auto* const x = reinterpret_cast<const unsigned char*>(&a);
  const auto* const y = reinterpret_cast<const unsigned char*>(&b);
  volatile unsigned char difference = 0;  // the time must not depend on where the first difference is
  for (std::size_t i = 0; i < sizeof(Ticket); ++i) difference = difference | (x[i] ^ y[i]);
  return difference == 0;
}

Ticket ticket_for(const std::string& token) {
  Ticket ticket;
  std::copy_n(token.begin(), std::min(token.size(), max_token), ticket.token.begin());
  return ticket;
}

std::string death(const std::error_code& error) {
  if (error == asio::error::eof || error == asio::error::connection_reset) return "died";
  return fmt::format("cannot be reached: its machine died, or the network to it broke ({})", error.message());
}

// One connection. Its rank is -1 until it has shown the token and said who it is.
struct Session {
  explicit Session(Tcp::socket s) : socket(std::move(s)), limit(socket.get_executor()) {}
  Tcp::socket socket;
  asio::steady_timer limit;
  Ticket ticket;
  std::uint32_t length = 0;
  std::string body;
  std::deque<Frame> unsent;
  std::size_t unsent_bytes = 0, waiting = 0;
  int rank = -1;
  bool is_over = false, takes_no_more = false;
};
using SessionPtr = std::shared_ptr<Session>;

// What the store has of one rank.
struct Place {
  SessionPtr session;  // null if it is not connected
  std::string who;     // "host node7, pid 81"
  std::string fate;    // why it is not connected any more
  std::map<std::string, std::string, std::less<>> values;
  std::size_t bytes = 0;
};

struct Waiter {
  SessionPtr session;
  std::uint64_t request;
};

struct Meeting {
  explicit Meeting(asio::io_context& io) : limit(io) {}
  std::string group;
  std::vector<int> members;
  milliseconds time{0};
  std::map<int, std::uint64_t> came;  // requests by rank
  asio::steady_timer limit;
};
using MeetingPtr = std::shared_ptr<Meeting>;

// An empty list means all ranks.
bool is_in(int rank, const std::vector<int>& members) {
  return members.empty() || std::find(members.begin(), members.end(), rank) != members.end();
}

std::string list(const std::vector<int>& members) {
  if (members.empty()) return "all ranks";
  if (members.size() > 16) return fmt::format("{} ranks", members.size());
  return fmt::format("[{}]", fmt::join(members, ", "));
}

}  // namespace

std::string own_name() { return fmt::format("host {}, pid {}", detail::host_name(), ::getpid()); }

// All members but the atomic ones are used only by the thread.
struct Server::State {
  State(const Admission& a, int ranks)
      : greeting{.run = a.run}, ticket(ticket_for(a.token)), places(static_cast<std::size_t>(ranks)),
        sockets(static_cast<std::size_t>(ranks)) {
    std::fill(sockets.begin(), sockets.end(), -1);
  }

  void accept();
  void welcome(const SessionPtr& s);
  void turn_away(const SessionPtr& s, std::string_view sentence, bool is_temporary = false);
  void discard(const SessionPtr& s);
  void read_frame(const SessionPtr& s);
  bool handle(const SessionPtr& s, Reader& in);
  bool hello(const SessionPtr& s, Reader& in);
  bool put(Place& place, Reader& in);
  void get(const SessionPtr& s, Reader& in);
  void meet(const SessionPtr& s, Reader& in);
  void refuse(const MeetingPtr& meeting, const std::string& sentence);
  std::string absent(const Meeting& meeting) const;
  void over(const SessionPtr& s, const std::string& why, bool in_order = false);
  void send(const SessionPtr& s, Frame frame);
  void write(const SessionPtr& s);
  void send_to_others(int rank, const Frame& frame);
  void answer(const SessionPtr& s, std::uint64_t request, bool good, std::string_view text);
  void answer_waiters(int rank, std::string_view key, bool good, std::string_view value);
  Place& place(int rank) { return places[static_cast<std::size_t>(rank)]; }
  const Place& place(int rank) const { return places[static_cast<std::size_t>(rank)]; }
  bool is_rank(int rank) const { return rank >= 0 && static_cast<std::size_t>(rank) < places.size(); }
  std::string name(int rank) const {
    return place(rank).who.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, place(rank).who);
  }

  const Greeting greeting;
  const Ticket ticket;
  asio::io_context io{1};
  Tcp::acceptor acceptor{io};
  asio::steady_timer accept_again{io};
  std::string trouble;  // why connections cannot be accepted
  std::set<SessionPtr> strangers;
  std::vector<Place> places;
  std::set<int> gone;                                                  // the places that have a fate
  std::map<std::pair<int, std::string>, std::vector<Waiter>> waiters;  // by rank and key
  std::vector<MeetingPtr> meetings;
  std::set<std::string, std::less<>> failed;  // groups
  std::uint64_t epoch = 0;
  bool is_ending = false;  // the clients close their connections because they were told to
  std::atomic<std::uint64_t> frames_received{0}, frames_sent{0};
  std::atomic<std::size_t> connected{0};
  std::vector<std::atomic<int>> sockets;  // by rank; -1: not connected
  std::thread thread;
};

// --- Connections ------------------------------------------------------------------------------------------------------

void Server::State::accept() {
  acceptor.async_accept([this](const std::error_code& error, Tcp::socket socket) {
    if (!acceptor.is_open()) return;
    if (error) {  // such as too many open files: the connection waits in the kernel's queue
      trouble = error.message();
      accept_again.expires_after(milliseconds(100));
      accept_again.async_wait([this](const std::error_code& stopped) {
        if (!stopped) accept();
      });
      return;
    }
    if (strangers.size() < max_strangers) {
      keep_alive(socket);
      const auto s = std::make_shared<Session>(std::move(socket));
      strangers.insert(s);
      welcome(s);
    }
    accept();
  });
}

void Server::State::welcome(const SessionPtr& s) {
  s->limit.expires_after(stranger_time);
  s->limit.async_wait([this, s](const std::error_code& stopped) {
    if (!stopped && s->rank < 0) over(s, {});  // it may have become a rank since the timer ran out
  });
  asio::async_write(s->socket, asio::buffer(&greeting, sizeof(greeting)),
                    [this, s](const std::error_code& error, std::size_t) {
                      if (error) over(s, error.message());
                    });
  asio::async_read(s->socket, asio::buffer(&s->ticket, sizeof(s->ticket)),
                   [this, s](const std::error_code& error, std::size_t) {
                     if (error) return over(s, error.message());
                     if (is_same(s->ticket, ticket)) return read_frame(s);
                     turn_away(s, "its token is not the store's; set WEIR_STORE_TOKEN alike on all ranks");
                   });
}

// The connection stays open until the client has read the sentence, or its time is over. What it sends is not read.
void Server::State::turn_away(const SessionPtr& s, std::string_view sentence, bool is_temporary) {
  send(s, std::make_shared<std::string>(Writer(Kind::refused).number(is_temporary).text(sentence).take()));
  discard(s);
}

void Server::State::discard(const SessionPtr& s) {
  s->body.resize(4096);
  s->socket.async_read_some(asio::buffer(s->body), [this, s](const std::error_code& error, std::size_t) {
    if (error) return over(s, error.message());
    discard(s);
  });
}

void Server::State::read_frame(const SessionPtr& s) {
  const auto read_body = [this, s](const std::error_code& error, std::size_t) {
    if (error) return over(s, death(error));
    ++frames_received;
    Reader in(s->body);
    if (!handle(s, in)) return over(s, "sent the store a message that is not valid");
  };
  const auto read_length = [this, s, read_body](const std::error_code& error, std::size_t) {
    if (error) return over(s, death(error));
    if (s->length == 0 || s->length > max_frame) return over(s, "sent the store a message that is too long");
    s->body.resize(s->length);
    asio::async_read(s->socket, asio::buffer(s->body), read_body);
  };
  asio::async_read(s->socket, asio::buffer(&s->length, sizeof(s->length)), read_length);
}

void Server::State::send(const SessionPtr& s, Frame frame) {
  if (s->is_over || s->takes_no_more) return;
  s->unsent_bytes += frame->size();
  if (s->unsent_bytes > max_unsent) return over(s, "does not read the store's messages");
  s->unsent.push_back(std::move(frame));
  if (s->unsent.size() == 1) write(s);
}

void Server::State::write(const SessionPtr& s) {
  asio::async_write(s->socket, asio::buffer(*s->unsent.front()), [this, s](const std::error_code& error, std::size_t) {
    if (error) {  // what the client has sent before, perhaps a goodbye, is still read
      s->takes_no_more = true;
      return;
    }
    ++frames_sent;
    s->unsent_bytes -= s->unsent.front()->size();
    s->unsent.pop_front();
    if (!s->unsent.empty() && !s->is_over) write(s);
  });
}

void Server::State::send_to_others(int rank, const Frame& frame) {
  for (std::size_t other = 0; other < places.size(); ++other) {
    if (static_cast<int>(other) == rank || !places[other].session) continue;
    const SessionPtr s = places[other].session;
    send(s, frame);
  }
}

// A connection has ended. For a rank, that is the notice of its death, unless it has said goodbye.
void Server::State::over(const SessionPtr& s, const std::string& why, bool in_order) {
  if (s->is_over) return;
  s->is_over = true;
  if (s->rank >= 0) sockets[static_cast<std::size_t>(s->rank)] = -1;
  s->limit.cancel();
  std::error_code ignored;
  s->socket.close(ignored);
  strangers.erase(s);
  if (s->rank < 0 || place(s->rank).session != s) return;
  const int rank = s->rank;
  place(rank).session = nullptr;
  place(rank).fate = in_order ? fmt::format("{} has left", name(rank)) : fmt::format("{} {}", name(rank), why);
  gone.insert(rank);
  --connected;
  for (auto& [key, waiting] : waiters) std::erase_if(waiting, [&](const Waiter& w) { return w.session == s; });
  std::vector<std::string> keys;
  for (auto it = waiters.lower_bound({rank, {}}); it != waiters.end() && it->first.first == rank; ++it)
    keys.push_back(it->first.second);
  for (const std::string& key : keys) answer_waiters(rank, key, false, {});
  for (const MeetingPtr& meeting : std::vector(meetings)) {
    meeting->came.erase(rank);
    if (is_in(rank, meeting->members)) refuse(meeting, place(rank).fate);
  }
  if (!in_order && !is_ending)
    send_to_others(rank, std::make_shared<std::string>(Writer(Kind::died).number(rank).text(place(rank).fate).take()));
}

// --- Requests ---------------------------------------------------------------------------------------------------------

// Returns false for a message that no client of Weir sends.
bool Server::State::handle(const SessionPtr& s, Reader& in) {
  const Kind kind = in.kind();
  if (s->rank < 0) return kind == Kind::hello && hello(s, in);
  Place& own = place(s->rank);
  switch (kind) {
    case Kind::put:
      if (!put(own, in)) return false;
      break;
    case Kind::forget: {
      const auto found = own.values.find(in.text());
      if (found == own.values.end()) break;
      own.bytes -= found->first.size() + found->second.size();
      own.values.erase(found);
      break;
    }
    case Kind::get: get(s, in); break;
    case Kind::cancel: {
      const auto request = in.number<std::uint64_t>();
      const auto rank = in.number<std::int32_t>();
      const auto found = waiters.find({rank, std::string(in.text())});
      if (found == waiters.end()) break;
      s->waiting -= std::erase_if(found->second, [&](const Waiter& w) { return w.session == s && w.request == request; });
      if (found->second.empty()) waiters.erase(found);
      break;
    }
    case Kind::meet: meet(s, in); break;
    case Kind::failed: {
      const std::string_view group = in.text(), sentence = in.text();
      // All ranks may report the same failure; the first is enough.
      if (in.is_good() && failed.emplace(group).second)
        send_to_others(s->rank, std::make_shared<std::string>(Writer(Kind::failed).text(group).text(sentence).take()));
      break;
    }
    case Kind::bye: {
      const std::string sentence(in.text());
      over(s, sentence, sentence.empty());
      break;
    }
    default: return false;
  }
  if (!in.is_good()) return false;
  if (!s->is_over) read_frame(s);
  return true;
}

bool Server::State::hello(const SessionPtr& s, Reader& in) {
  const auto rank = in.number<std::int32_t>();
  const auto ranks = in.number<std::int32_t>();
  const std::string who(in.text().substr(0, max_key));
  if (!in.is_good()) return false;
  const auto refuse = [&](const std::string& sentence, bool is_temporary = false) {
    turn_away(s, sentence, is_temporary);
    return true;
  };
  if (static_cast<std::size_t>(ranks) != places.size())
    return refuse(fmt::format("it belongs to {} ranks, but rank 0 to {}", ranks, places.size()));
  if (!is_rank(rank)) return refuse(fmt::format("rank {} does not exist", rank));
  // A rank that was here before may not have been noticed to be gone.
  if (place(rank).session) return refuse(fmt::format("{} is here already", name(rank)), true);
  s->limit.cancel();
  strangers.erase(s);
  gone.erase(rank);
  ++connected;
  s->rank = rank;
  sockets[static_cast<std::size_t>(rank)] = s->socket.native_handle();
  Place& own = place(rank);
  own = Place{.session = s, .who = who, .fate = {}, .values = {}, .bytes = 0};
  send(s, std::make_shared<std::string>(Writer(Kind::welcome).text(own_name()).take()));
  answer_waiters(rank, "", true, who);
  read_frame(s);
  return true;
}

bool Server::State::put(Place& own, Reader& in) {
  const std::string_view key = in.text(), value = in.text();
  if (!in.is_good() || key.empty() || key.size() > max_key || value.size() > max_value) return false;
  const auto found = own.values.find(key);
  const std::size_t before = found == own.values.end() ? 0 : key.size() + found->second.size();
  const std::size_t now = key.size() + value.size();
  if (own.bytes - before + now > max_of_rank) return false;
  own.values.insert_or_assign(std::string(key), std::string(value));
  own.bytes += now - before;
  answer_waiters(static_cast<int>(&own - places.data()), key, true, value);
  return true;
}

// The empty key is the rank's name.
void Server::State::get(const SessionPtr& s, Reader& in) {
  const auto request = in.number<std::uint64_t>();
  const auto rank = in.number<std::int32_t>();
  const std::string_view key = in.text();
  if (!is_rank(rank)) return answer(s, request, false, {});
  const Place& other = place(rank);
  if (key.empty() && !other.who.empty()) return answer(s, request, true, other.who);
  if (const auto found = other.values.find(key); found != other.values.end()) return answer(s, request, true, found->second);
  if (!other.fate.empty() || s->waiting >= max_waiting) return answer(s, request, false, {});
  ++s->waiting;
  waiters[{rank, std::string(key)}].push_back({s, request});
}

void Server::State::answer(const SessionPtr& s, std::uint64_t request, bool good, std::string_view text) {
  send(s, std::make_shared<std::string>(Writer(Kind::answer).number(request).number(good).text(text).take()));
}

void Server::State::answer_waiters(int rank, std::string_view key, bool good, std::string_view value) {
  auto found = waiters.extract({rank, std::string(key)});
  if (found.empty()) return;
  for (const Waiter& w : found.mapped()) {
    --w.session->waiting;
    answer(w.session, w.request, good, value);
  }
}

// --- Meetings ---------------------------------------------------------------------------------------------------------

void Server::State::meet(const SessionPtr& s, Reader& in) {
  const auto request = in.number<std::uint64_t>();
  const std::string group(in.text());
  const milliseconds time(in.number<std::int64_t>());
  const std::vector<int> members = in.ranks();
  if (!in.is_good() || !is_in(s->rank, members) ||
      !std::all_of(members.begin(), members.end(), [&](int r) { return is_rank(r); })) {
    return answer(s, request, false, "the list of members is not valid");
  }
  MeetingPtr meeting;
  for (const MeetingPtr& other : std::vector(meetings)) {
    if (other->group != group) continue;
    if (other->members == members) {
      meeting = other;
      continue;
    }
    const bool overlaps = std::any_of(members.begin(), members.end(), [&](int r) { return is_in(r, other->members); });
    if (!overlaps && !members.empty()) continue;
    const std::string sentence = fmt::format("{} came with another list of members than {}: {} and {}", name(s->rank),
                                             name(other->came.begin()->first), list(members), list(other->members));
    refuse(other, sentence);
    return answer(s, request, false, sentence);
  }
  if (!meeting) {
    meeting = std::make_shared<Meeting>(io);
    meeting->group = group;
    meeting->members = members;
    meeting->time = time;
    meetings.push_back(meeting);
    if (time.count() > 0) {
      meeting->limit.expires_after(time);
      meeting->limit.async_wait([this, meeting](const std::error_code& stopped) {
        if (!stopped) refuse(meeting, absent(*meeting));
      });
    }
  }
  meeting->came[s->rank] = request;
  for (const int rank : gone) {
    if (is_in(rank, members)) return refuse(meeting, place(rank).fate);
  }
  if (meeting->came.size() < (members.empty() ? places.size() : members.size())) return;
  meeting->limit.cancel();
  std::erase(meetings, meeting);
  const std::string number = std::to_string(++epoch);
  for (const auto& [rank, its] : meeting->came) {
    if (const SessionPtr member = place(rank).session) answer(member, its, true, number);
  }
}

// Ends a meeting alike for all that came.
void Server::State::refuse(const MeetingPtr& meeting, const std::string& sentence) {
  if (std::erase(meetings, meeting) == 0) return;
  meeting->limit.cancel();
  for (const auto& [rank, request] : meeting->came) {
    if (const SessionPtr s = place(rank).session) answer(s, request, false, sentence);
  }
}

std::string Server::State::absent(const Meeting& meeting) const {
  constexpr std::size_t most = 8;
  std::string list;
  std::size_t missing = 0;
  const std::size_t count = meeting.members.empty() ? places.size() : meeting.members.size();
  for (std::size_t i = 0; i < count; ++i) {
    const int rank = meeting.members.empty() ? static_cast<int>(i) : meeting.members[i];
    if (meeting.came.contains(rank)) continue;
    if (++missing > most) continue;
    list += fmt::format("{}{}{}", list.empty() ? "" : ", ", name(rank), place(rank).session ? "" : " (not connected)");
  }
  if (missing > most) list += fmt::format(" and {} others", missing - most);
  return fmt::format("{} of {} ranks did not come within {} ms: {}{}", missing, count, meeting.time.count(), list,
                     trouble.empty() ? "" : "; the store could not accept connections: " + trouble);
}

// --- The server -------------------------------------------------------------------------------------------------------

Server::Server(const Admission& admission, int ranks, std::span<const std::uint16_t> ports, bool only_here)
    : state_(std::make_unique<State>(admission, ranks)) {
  Tcp::acceptor& acceptor = state_->acceptor;
  std::error_code error;
  const auto listen = [&](const Tcp::endpoint& endpoint) {
    std::error_code ignored;
    acceptor.close(ignored);
    acceptor.open(endpoint.protocol(), error);
    if (!error && endpoint.protocol() == Tcp::v6() && !only_here) acceptor.set_option(asio::ip::v6_only(false), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(4096, error);
    return !error;
  };
  const bool listens = std::any_of(ports.begin(), ports.end(), [&](std::uint16_t port) {
    if (only_here) return listen({asio::ip::address_v4::loopback(), port});
    return listen({Tcp::v6(), port}) || listen({Tcp::v4(), port});
  });
  if (!listens) {
    throw Error(Errc::communicator_failed, "Communicator::from_environment", "the store",
                fmt::format("rank 0 cannot listen on port{} {} to {}: {}; free one of them", ports.size() == 1 ? "" : "s",
                            ports.front(), ports.back(), error.message()));
  }
  close_on_exec(acceptor.native_handle());
  state_->accept();
  const support::SignalsBlocked blocked;
  state_->thread = std::thread([state = state_.get()] { state->io.run(); });
}

Server::~Server() {
  state_->io.stop();
  state_->thread.join();
}

std::uint16_t Server::port() const noexcept {
  std::error_code ignored;
  return state_->acceptor.local_endpoint(ignored).port();
}

void Server::drop_in_child() noexcept {
  for (const std::atomic<int>& socket : state_->sockets) {
    if (const int number = socket; number >= 0) store::drop_in_child(number);
  }
  store::drop_in_child(state_->acceptor.native_handle());
}

void Server::end(const std::string& sentence) noexcept try {
  asio::post(state_->io, [state = state_.get(), sentence] {
    state->is_ending = true;
    state->send_to_others(0, std::make_shared<std::string>(Writer(Kind::ended).text(sentence).take()));
  });
  // The clients close their connections when they have read it.
  for (int i = 0; i < 100 && state_->connected != 0; ++i) std::this_thread::sleep_for(milliseconds(10));
} catch (const std::exception&) {  // out of memory: the clients see the end of their connections
}

Server::Counts Server::counts() const { return {state_->frames_received, state_->frames_sent}; }

}  // namespace weir::store
