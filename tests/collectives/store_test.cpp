// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "collectives/store/asio.hpp"
#include "collectives/store/client.hpp"
#include "collectives/store/wire.hpp"
#include "weir/error.hpp"

// The store of from_environment: its server and its clients, in one process.

using namespace weir;
using namespace weir::store;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using collectives::Peers;

namespace {

const Admission admission{.run = 7, .token = "secret"};

std::shared_ptr<Client> join(const Server& server, int rank, int ranks, const Admission& with = admission,
                             std::chrono::milliseconds limit = 10s) {
  return Client::connect(with, {{"127.0.0.1", server.port()}}, rank, ranks, Clock::now() + limit);
}

struct Job {
  explicit Job(int ranks) : server(admission, ranks, std::vector<std::uint16_t>{0}, true) {
    for (int rank = 0; rank < ranks; ++rank) {
      clients.push_back(join(server, rank, ranks));
      peers.push_back(make_peers(clients.back(), "g"));
    }
  }
  ~Job() {
    for (const auto& client : clients) {
      if (client) client->end({});
    }
  }
  Server server;
  std::vector<std::shared_ptr<Client>> clients;
  std::vector<std::shared_ptr<Peers>> peers;
};

// All these ranks meet at once; their epochs, or "" with the sentence.
std::vector<std::string> meet(const std::vector<std::shared_ptr<Peers>>& peers, std::vector<std::vector<int>> members,
                              std::chrono::milliseconds limit = 10s) {
  std::vector<std::future<std::string>> results;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    results.push_back(std::async(std::launch::async, [&, i] {
      try {
        return std::to_string(peers[i]->meet(members[i], Clock::now() + limit));
      } catch (const Error& error) {
        CHECK(error.errc() == Errc::communicator_failed);
        return error.detail();
      }
    }));
  }
  std::vector<std::string> sentences;
  for (auto& result : results) sentences.push_back(result.get());
  return sentences;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
    return "nothing was thrown";
  } catch (const Error& error) {
    return error.detail();
  }
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
#define CHECK_CONTAINS(text, part)  \
  do {                              \
    const std::string found = text; \
    INFO(found);                    \
    CHECK(contains(found, part));   \
  } while (false)

// What the watch of one rank hears.
struct Heard {
  explicit Heard(Peers& p) : peers(p) {
    peers.watch([this](const std::string& sentence) { result.set_value(sentence); });
  }
  ~Heard() { peers.watch({}); }
  std::string sentence(std::chrono::milliseconds limit = 5s) {
    auto future = result.get_future();
    return future.wait_for(limit) == std::future_status::ready ? future.get() : "nothing";
  }
  Peers& peers;
  std::promise<std::string> result;
};

}  // namespace

TEST_CASE("store: values are read, waited for, replaced and forgotten") {
  Job job(2);
  Peers& a = *job.peers[0];
  Peers& b = *job.peers[1];
  a.publish("x", "1");
  CHECK(b.value_of(0, "x", Clock::now() + 5s) == "1");
  auto waits = std::async(std::launch::async, [&] { return a.value_of(1, "y", Clock::now() + 5s); });
  std::this_thread::sleep_for(20ms);
  b.publish("y", std::string(max_value, 'y'));
  CHECK(waits.get() == std::string(max_value, 'y'));
  b.publish("y", "2");
  CHECK(a.value_of(1, "y", Clock::now() + 5s) == "2");
  b.forget("y");
  b.publish("z", "");  // comes after
  CHECK(a.value_of(1, "z", Clock::now() + 5s) == "");
  CHECK(a.value_of(1, "y", Clock::now() + 20ms) == std::nullopt);
  b.publish("y", "3");  // the wait that is over gets nothing
  CHECK(a.value_of(1, "y", Clock::now() + 5s) == "3");
  // Groups have keys of their own, and ranks in the order of the members.
  const auto sub = a.group(std::vector<int>{1, 0}, "sub"), other = b.group(std::vector<int>{1, 0}, "sub");
  other->publish("y", "of the subgroup");
  CHECK(sub->value_of(0, "y", Clock::now() + 5s) == "of the subgroup");
  CHECK(a.value_of(1, "y", Clock::now() + 5s) == "3");
  CHECK_CONTAINS(sub->name_of(0), "rank 0 (host ");
  CHECK_CONTAINS(a.name_of(1), ", pid " + std::to_string(::getpid()) + ")");
  CHECK_CONTAINS(error_of([&] { a.publish("k", std::string(max_value + 1, 'x')); }), "a value at most 61440");
}

TEST_CASE("store: a meeting gives all the same new epoch, and fails alike") {
  Job job(3);
  const std::vector<int> all = {0, 1, 2};
  const auto first = meet(job.peers, {all, all, all}), second = meet(job.peers, {all, all, all});
  CHECK(first == std::vector<std::string>(3, "1"));
  CHECK(second == std::vector<std::string>(3, "2"));
  // A rank is missing: the others hear which, and can meet without it.
  const auto missing = meet({job.peers[0], job.peers[1]}, {all, all}, 200ms);
  CHECK(missing[0] == missing[1]);
  CHECK_CONTAINS(missing[0], "1 of 3 ranks did not come within ");
  CHECK_CONTAINS(missing[0], "rank 2 (host ");
  CHECK(meet({job.peers[0], job.peers[1]}, {{0, 1}, {0, 1}})[1] == "3");
  // Two lists that share a rank.
  const auto differ = meet({job.peers[0], job.peers[1]}, {{0, 1}, {1, 0}});
  CHECK(differ[0] == differ[1]);
  CHECK_CONTAINS(differ[0], "came with another list of members than rank ");
  // Disjoint groups meet at the same time.
  const auto apart = meet(job.peers, {{0}, {1, 2}, {1, 2}});
  CHECK(apart[1] == apart[2]);
  CHECK(apart[0] != apart[1]);
}

TEST_CASE("store: ranks that never connected are named") {
  Server server(admission, 20, std::vector<std::uint16_t>{0}, true);
  const auto client = join(server, 3, 20);
  const std::string sentence = meet({make_peers(client, "g")}, {{}}, 100ms)[0];
  CHECK_CONTAINS(sentence, "19 of 20 ranks did not come within ");
  CHECK_CONTAINS(sentence, "rank 0 (not connected), rank 1 (not connected), rank 2 (not connected), rank 4 (not connected)");
  CHECK_CONTAINS(sentence, "rank 8 (not connected) and 11 others");
}

TEST_CASE("store: the end of a connection is the notice of a death") {
  Job job(3);
  Heard zero(*job.peers[0]), two(*job.peers[2]);
  auto waits = std::async(std::launch::async, [&] { return job.peers[0]->value_of(1, "never", Clock::now() + 10s); });
  auto meets = std::async(std::launch::async, [&] { return meet({job.peers[2]}, {{0, 1, 2}})[0]; });
  std::this_thread::sleep_for(50ms);
  const auto begin = Clock::now();
  job.clients[1]->end("died");
  const std::string name = "rank 1 (host ";
  CHECK_CONTAINS(zero.sentence(), name);
  CHECK_CONTAINS(two.sentence(), "died");
  CHECK(waits.get() == std::nullopt);
  CHECK_CONTAINS(meets.get(), name);
  CHECK(Clock::now() - begin < 5s);
  CHECK_CONTAINS(meet({job.peers[0]}, {{0, 1}})[0], name);
  CHECK(job.peers[0]->value_of(1, "never", Clock::now() + 10s) == std::nullopt);
  Heard late(*job.peers[0]);  // also who comes later hears it
  CHECK_CONTAINS(late.sentence(), name);
  CHECK(job.peers[0]->is_dead(1));
  CHECK_FALSE(job.peers[0]->is_dead(2));
  CHECK(job.peers[0]->group(std::vector<int>{0, 1}, "both")->is_dead(1));
  const auto without = job.peers[0]->group(std::vector<int>{0, 2}, "without");
  Heard unconcerned(*without);
  CHECK(unconcerned.sentence(100ms) == "nothing");
}

TEST_CASE("store: a rank that leaves in order is not a death") {
  Job job(2);
  Heard zero(*job.peers[0]);
  job.clients[1]->end({});
  CHECK_CONTAINS(meet({job.peers[0]}, {{0, 1}})[0], "has left");
  CHECK(zero.sentence(100ms) == "nothing");
}

TEST_CASE("store: a failure that one rank announces reaches the others once") {
  Job job(3);
  Heard one(*job.peers[1]), two(*job.peers[2]);
  job.peers[0]->announce("too slow");
  CHECK_CONTAINS(one.sentence(), "has failed: too slow");
  CHECK_CONTAINS(two.sentence(), "rank 0 (host ");
}

TEST_CASE("store: when rank 0 dies, all hear it; when it leaves in order, nobody") {
  for (const bool in_order : {false, true}) {
    auto server = std::make_unique<Server>(admission, 2, std::vector<std::uint16_t>{0}, true);
    const auto client = join(*server, 1, 2);
    const auto peers = make_peers(client, "g");
    Heard heard(*peers);
    if (in_order) server->end({});
    server.reset();
    const std::string sentence = heard.sentence(in_order ? 100ms : 5000ms);
    INFO(sentence);
    CHECK(contains(sentence, ", which keeps the store, died") != in_order);
    CHECK(peers->value_of(0, "x", Clock::now() + 10s) == std::nullopt);
    CHECK_CONTAINS(meet({peers}, {{0, 1}})[0], "which keeps the store, ");
    CHECK_CONTAINS(peers->lost(), in_order ? ", which keeps the store, has left" : ", which keeps the store, died");
  }
}

TEST_CASE("store: ranks that end because rank 0 does are no deaths") {
  for (int i = 0; i < 20; ++i) {
    Server server(admission, 3, std::vector<std::uint16_t>{0}, true);
    const auto one = join(server, 1, 3), two = join(server, 2, 3);
    const auto peers = make_peers(one, "g");
    Heard heard(*peers);
    server.end({});
    CHECK(heard.sentence(5ms) == "nothing");
  }
}

TEST_CASE("store: another run, another token and another number of ranks are refused") {
  Server server(admission, 2, std::vector<std::uint16_t>{0}, true);
  const auto refusal = [&](const Admission& with, int rank, int ranks) {
    return error_of([&] { join(server, rank, ranks, with, 300ms); });
  };
  CHECK_CONTAINS(refusal({.run = 8, .token = "secret"}, 0, 2), "what listens there is not the store of this run");
  CHECK_CONTAINS(refusal({.run = 7, .token = "secreT"}, 0, 2), "its token is not the store's");
  CHECK_CONTAINS(refusal(admission, 0, 3), "it belongs to 3 ranks, but rank 0 to 2");
  CHECK_CONTAINS(refusal(admission, 2, 2), "rank 2 does not exist");
  const auto client = join(server, 1, 2);
  CHECK_CONTAINS(refusal(admission, 1, 2), "is here already");
}

TEST_CASE("store: the oldest values of a rank make room for new ones") {
  Job job(2);
  Heard one(*job.peers[1]);
  const std::string value(max_value, 'v');
  for (int i = 0; i < 40; ++i) job.peers[0]->publish("k" + std::to_string(i), value);
  CHECK(job.peers[1]->value_of(0, "k39", Clock::now() + 5s) == value);
  CHECK(job.peers[1]->value_of(0, "k30", Clock::now() + 5s) == value);
  CHECK(job.peers[1]->value_of(0, "k0", Clock::now() + 20ms) == std::nullopt);
  CHECK(one.sentence(20ms) == "nothing");
  // The names of groups do not grow with the number of their ancestors.
  auto descendant = job.peers[0];
  for (int i = 0; i < 200; ++i) descendant = descendant->group(std::vector<int>{0, 1}, std::to_string(i));
  descendant->publish("x", "1");
}

namespace {

// The sockets of this process that are connected to the port, or bound to it.
std::vector<int> sockets_of(std::uint16_t port) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int number = std::stoi(entry.path().filename());
    for (const auto query : {::getsockname, ::getpeername}) {
      sockaddr_in address{};
      socklen_t size = sizeof(address);
      if (query(number, reinterpret_cast<sockaddr*>(&address), &size) != 0 || ntohs(address.sin_port) != port) continue;
      found.push_back(number);
      break;
    }
  }
  return found;
}

}  // namespace

TEST_CASE("store: no child process keeps a connection open") {
  Job job(2);
  const std::vector<int> sockets = sockets_of(job.server.port());
  CHECK(sockets.size() == 5);  // both ends of two connections, and where the store listens
  for (const int socket : sockets) CHECK((::fcntl(socket, F_GETFD) & FD_CLOEXEC) != 0);
  const pid_t child = ::fork();
  if (child == 0) {  // other threads are gone, so this calls only what a signal handler may
    job.server.drop_in_child();
    for (const auto& client : job.clients) client->drop_in_child();
    int left = 0;
    for (const int socket : sockets) {
      int type = 0;
      socklen_t size = sizeof(type);
      if (::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0) ++left;
    }
    ::_exit(left);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(meet(job.peers, {{0, 1}, {0, 1}})[1] == "1");
}

TEST_CASE("store: the end of a client waits for a watch that is running") {
  Server server(admission, 2, std::vector<std::uint16_t>{0}, true);
  const auto client = join(server, 1, 2);
  join(server, 0, 2)->end("died");
  std::atomic<int> state{0};
  const auto peers = make_peers(client, "g");
  peers->watch([&](const std::string&) {
    state = 1;
    std::this_thread::sleep_for(200ms);
    state = 2;
  });
  while (state == 0) std::this_thread::yield();
  client->end({});
  CHECK(state == 2);
}

TEST_CASE("store: garbage does not disturb it") {
  Job job(2);
  asio::io_context io;
  std::vector<Tcp::socket> garbage;
  const Tcp::endpoint endpoint(asio::ip::address_v4::loopback(), job.server.port());
  std::error_code ignored;
  for (int i = 0; i < 1000; ++i) {
    garbage.emplace_back(io);
    garbage.back().connect(endpoint);
    const std::string text(static_cast<std::size_t>(i), 'g');
    asio::write(garbage.back(), asio::buffer(text), ignored);
    if (i % 3 == 0) garbage.back().close();
  }
  const auto begin = Clock::now();
  CHECK(meet(job.peers, {{0, 1}, {0, 1}})[0] == "1");
  job.peers[0]->publish("x", "1");
  CHECK(job.peers[1]->value_of(0, "x", Clock::now() + 5s) == "1");
  CHECK(Clock::now() - begin < 2s);
  // Who has the token, and sends what no client sends, is thrown out. A length beyond the limit allocates nothing.
  for (const std::uint32_t length : {0xFFFFFFFFU, 0U, 5U}) {
    Tcp::socket other(io);
    other.connect(endpoint);
    Ticket ticket;
    std::copy_n(admission.token.begin(), admission.token.size(), ticket.token.begin());
    asio::write(other, asio::buffer(&ticket, sizeof(ticket)));
    asio::write(other, asio::buffer(&length, sizeof(length)));
    asio::write(other,
                asio::buffer("\x09"
                             "abcd",
                             5),
                ignored);
    std::string answer(100, '\0');
    while (!ignored) other.read_some(asio::buffer(answer), ignored);
    ignored = {};
  }
  CHECK(meet(job.peers, {{0, 1}, {0, 1}})[1] == "2");
}
