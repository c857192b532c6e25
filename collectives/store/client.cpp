// SPDX-License-Identifier: Apache-2.0
#include "collectives/store/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "collectives/store/asio.hpp"
#include "collectives/store/wire.hpp"
#include "weir/error.hpp"

namespace weir::store {

using std::chrono::milliseconds;

struct Client::Socket {
  asio::io_context io{1};
  Tcp::socket tcp{io};

  // Runs the operation that has been started, until it ends or the deadline is over.
  bool run(Clock::time_point deadline, const std::error_code& error) {
    io.restart();
    io.run_until(deadline);
    if (!io.stopped()) {
      std::error_code ignored;
      tcp.close(ignored);
      io.run();
      return false;
    }
    return !error;
  }
};

// --- The connection ---------------------------------------------------------------------------------------------------

std::shared_ptr<Client> Client::connect(const Admission& admission, const std::vector<Address>& addresses, int rank,
                                        int ranks, Clock::time_point deadline) {
  const auto begin = Clock::now();
  Ticket ticket;
  std::copy_n(admission.token.begin(), std::min(admission.token.size(), max_token), ticket.token.begin());
  const std::string hello = Writer(Kind::hello).number(rank).number(ranks).text(own_name()).take();
  std::string obstacle = "no address was tried";
  auto pause = milliseconds(10);
  const auto fail = [&](const std::string& why) {
    const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - begin).count();
    throw Error(Errc::communicator_failed, "Communicator::from_environment", fmt::format("rank {} of {}", rank, ranks),
                fmt::format("the store on rank 0 was not reached within {} ms: {}", waited, why));
  };
  for (;; pause = std::min(pause * 2, milliseconds(250))) {
    for (const Address& address : addresses) {
      auto until = std::min(deadline, Clock::now() + std::chrono::seconds(5));
      const auto note = [&](std::string_view why) { obstacle = fmt::format("{}:{}: {}", address.host, address.port, why); };
      auto socket = std::make_unique<Socket>();
      std::error_code error;
      // getaddrinfo has no time-out of its own but the resolver's.
      const auto endpoints = Tcp::resolver(socket->io).resolve(address.host, std::to_string(address.port), error);
      if (error) {
        note(error.message());
        continue;
      }
      asio::async_connect(socket->tcp, endpoints, [&](const std::error_code& e, const Tcp::endpoint&) { error = e; });
      if (!socket->run(until, error)) {
        note(error != asio::error::operation_aborted ? error.message() : "it does not answer");
        continue;
      }
      keep_alive(socket->tcp);
      const auto read = [&](void* data, std::size_t size) {
        asio::async_read(socket->tcp, asio::buffer(data, size), [&](const std::error_code& e, std::size_t) { error = e; });
        return socket->run(until, error);
      };
      Greeting greeting;
      if (!read(&greeting, sizeof(greeting)) || greeting != Greeting{.run = admission.run}) {
        note("what listens there is not the store of this run");
        continue;
      }
      // This is the store. To give up now and come again would look like a death, however busy the machines are.
      until = deadline;
      std::string first(reinterpret_cast<const char*>(&ticket), sizeof(ticket));
      first += hello;
      asio::write(socket->tcp, asio::buffer(first), error);
      std::uint32_t length = 0;
      std::string body;
      if (error || !read(&length, sizeof(length)) || length == 0 || length > max_frame) {
        note("it ended the connection");
        continue;
      }
      body.resize(length);
      if (!read(body.data(), length)) {
        note("it ended the connection");
        continue;
      }
      Reader in(body);
      const Kind kind = in.kind();
      if (kind == Kind::refused) {
        const bool is_temporary = in.number<std::uint8_t>() != 0;
        note(in.text());
        if (!is_temporary) fail(obstacle);
        continue;
      }
      const std::shared_ptr<Client> client(new Client(std::move(socket), rank, ranks));
      const std::lock_guard lock(client->mutex_);
      client->names_[rank] = own_name();
      client->names_[0] = in.text();
      return client;
    }
    if (Clock::now() + pause >= deadline) fail(obstacle);
    std::this_thread::sleep_for(pause);
  }
}

Client::Client(std::unique_ptr<Socket> socket, int rank, int ranks)
    : socket_(std::move(socket)), rank_(rank), ranks_(ranks) {
  {
    const std::lock_guard lock(caller_.mutex);
    caller_.start([this] { call_watches(); });
  }
  try {
    const std::lock_guard lock(reader_.mutex);
    reader_.start([this] { read(); });
  } catch (...) {
    caller_.stop();
    throw;
  }
}

Client::~Client() { end({}); }

void Client::end(std::string_view sentence) noexcept {
  caller_.stop();  // a communicator may be writing its flight record
  bool has_ended = false;
  {
    const std::lock_guard lock(mutex_);
    has_ended = std::exchange(has_ended_, true);
  }
  if (!has_ended) try {
      send(Writer(Kind::bye).text(sentence).take());
    } catch (const std::exception&) {  // out of memory: the store sees the end of the connection
    }
  std::error_code ignored;
  socket_->tcp.shutdown(Tcp::socket::shutdown_both, ignored);
  reader_.stop();
}

void Client::drop_in_child() noexcept { store::drop_in_child(socket_->tcp.native_handle()); }

void Client::send(std::string_view frame) {
  const std::lock_guard lock(writing_);
  write(frame);
}

// The reader reports an error. A signal handler of the program may interrupt the wait for room in the kernel's buffer.
void Client::write(std::string_view frame) {
  std::error_code error;
  do {
    frame.remove_prefix(asio::write(socket_->tcp, asio::buffer(frame), error));
  } while (error == asio::error::interrupted);
}

void Client::read() {
  std::error_code error;
  for (std::string body; !error;) {
    std::uint32_t length = 0;
    asio::read(socket_->tcp, asio::buffer(&length, sizeof(length)), error);
    if (error || length == 0 || length > max_frame) break;
    body.resize(length);
    asio::read(socket_->tcp, asio::buffer(body), error);
    if (!error) handle(body);
  }
  const bool is_end = error == asio::error::eof || error == asio::error::connection_reset;
  lose(is_end ? std::string("died")
              : fmt::format("cannot be reached: its machine died, or the network to it broke ({})", error.message()));
}

void Client::handle(std::string_view body) {
  Reader in(body);
  const Kind kind = in.kind();
  const std::lock_guard lock(mutex_);
  if (has_ended_) return;
  switch (kind) {
    case Kind::answer: {
      const auto found = requests_.find(in.number<std::uint64_t>());
      if (found == requests_.end()) return;
      const bool good = in.number<std::uint8_t>() != 0;
      found->second = Answer{good, std::string(in.text())};
      arrived_.notify_all();
      break;
    }
    case Kind::died: {
      const auto rank = in.number<std::int32_t>();
      dead_.emplace(rank, in.text());
      notify_watches();
      break;
    }
    case Kind::failed: {
      const std::string group(in.text());
      failed_.emplace(group, in.text());
      notify_watches();
      break;
    }
    case Kind::ended: {
      lost_ = in.text();
      if (lost_.empty()) has_ended_ = true;
      std::error_code ignored;
      socket_->tcp.shutdown(Tcp::socket::shutdown_both, ignored);
      break;
    }
    default: break;
  }
}

// Nothing more comes from the store. After an end in order nobody is told, and requests fail.
void Client::lose(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!has_ended_ && lost_.empty()) lost_ = fmt::format("rank 0 ({}), which keeps the store, {}", names_[0], why);
  if (lost_.empty()) has_ended_ = true;
  for (auto& [number, answer] : requests_) {
    if (!answer) answer = Answer{false, lost_text()};
  }
  arrived_.notify_all();
  notify_watches();
}

// --- Failures ---------------------------------------------------------------------------------------------------------

std::string Client::failure_of(const Watch& watch) const {
  for (const auto& [rank, sentence] : dead_) {
    if (watch.ranks.empty() || std::find(watch.ranks.begin(), watch.ranks.end(), rank) != watch.ranks.end()) return sentence;
  }
  if (const auto found = failed_.find(watch.group); found != failed_.end()) return found->second;
  return lost_;
}

void Client::notify_watches() {
  const std::lock_guard lock(caller_.mutex);
  std::erase_if(watches_, [&](const std::shared_ptr<Watch>& watch) {
    std::string sentence = failure_of(*watch);
    if (sentence.empty()) return false;
    calls_.emplace_back(watch, std::move(sentence));
    return true;
  });
  caller_.changed.notify_all();
}

// A communicator may take long to fail, and may ask for names then, so this is not the reader's thread.
void Client::call_watches() {
  std::unique_lock lock(caller_.mutex);
  for (;;) {
    caller_.changed.wait(lock, [this] { return caller_.is_stopping || !calls_.empty(); });
    if (caller_.is_stopping) return;
    const auto calls = std::exchange(calls_, {});
    lock.unlock();
    for (const auto& [watch, sentence] : calls) {
      const std::lock_guard in_call(watch->mutex);
      if (const auto call = std::exchange(watch->call, {})) call(sentence);
    }
    lock.lock();
  }
}

void Client::add(const std::shared_ptr<Watch>& watch) {
  const std::lock_guard lock(mutex_);
  watches_.push_back(watch);
  notify_watches();
}

void Client::remove(const std::shared_ptr<Watch>& watch) noexcept {
  {
    const std::lock_guard lock(mutex_);
    std::erase(watches_, watch);
  }
  const std::lock_guard lock(watch->mutex);  // waits for a running call
  watch->call = {};
}

void Client::report(std::string_view group, std::string_view sentence) {
  {
    const std::lock_guard lock(mutex_);
    if (!failed_.emplace(group, sentence).second) return;
  }
  send(Writer(Kind::failed).text(group).text(sentence.substr(0, max_value)).take());
}

// --- Requests ---------------------------------------------------------------------------------------------------------

std::uint64_t Client::new_request() {
  const std::lock_guard lock(mutex_);
  auto& answer = requests_[++last_request_];
  if (std::string lost = lost_text(); !lost.empty()) answer = Answer{false, std::move(lost)};
  return last_request_;
}

std::optional<Client::Answer> Client::wait_for(std::uint64_t request, Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  std::optional<Answer>& slot = requests_[request];
  const auto has_come = [&] { return slot.has_value(); };
  if (deadline == Clock::time_point::max())
    arrived_.wait(lock, has_come);
  else
    arrived_.wait_until(lock, deadline, has_come);
  std::optional<Answer> answer = std::move(slot);
  requests_.erase(request);
  return answer;
}

void Client::put(std::string_view key, std::string_view value) {
  if (key.empty() || key.size() > max_key || value.size() > max_value) {
    throw Error(Errc::invalid_argument, "Peers::publish", fmt::format("key '{}'", key.substr(0, 64)),
                fmt::format("a key has 1 to {} bytes, a value at most {}; these have {} and {}", max_key, max_value,
                            key.size(), value.size()));
  }
  const std::lock_guard lock(writing_);
  drop(key);
  kept_.emplace_back(key, key.size() + value.size());
  kept_bytes_ += kept_.back().second;
  while (kept_bytes_ > max_of_rank) {
    const std::string oldest = kept_.front().first;
    drop(oldest);
    write(Writer(Kind::forget).text(oldest).take());
  }
  write(Writer(Kind::put).text(key).text(value).take());
}

void Client::forget(std::string_view key) {
  const std::lock_guard lock(writing_);
  drop(key);
  write(Writer(Kind::forget).text(key).take());
}

void Client::drop(std::string_view key) {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& kept) { return kept.first == key; });
  if (found == kept_.end()) return;
  kept_bytes_ -= found->second;
  kept_.erase(found);
}

std::optional<Client::Answer> Client::get(int rank, std::string_view key, Clock::time_point deadline) {
  const std::uint64_t request = new_request();
  send(Writer(Kind::get).number(request).number(rank).text(key).take());
  std::optional<Answer> answer = wait_for(request, deadline);
  if (!answer) send(Writer(Kind::cancel).number(request).number(rank).text(key).take());
  return answer;
}

Client::Answer Client::meet(std::string_view group, std::span<const int> members, Clock::time_point deadline) {
  const std::uint64_t request = new_request();
  const bool is_limited = deadline != Clock::time_point::max();
  const auto time = is_limited ? std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count() : 0;
  send(Writer(Kind::meet)
           .number(request)
           .text(group)
           .number(is_limited ? std::max<std::int64_t>(time, 1) : std::int64_t{0})
           .ranks(members)
           .take());
  // The store answers at the deadline of the first that came, so a little later at most.
  std::optional<Answer> answer = wait_for(request, is_limited ? deadline + std::chrono::seconds(2) : deadline);
  return answer ? *answer : Answer{false, name_of(0) + ", which keeps the store, does not answer"};
}

bool Client::is_dead(int rank) const {
  const std::lock_guard lock(mutex_);
  return dead_.contains(rank);
}

std::string Client::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_text();
}

std::string Client::lost_text() const {
  return has_ended_ && lost_.empty() ? "rank 0, which keeps the store, has left" : lost_;
}

std::string Client::name_of(int rank) {
  const auto text = [&](const std::string& who) { return fmt::format("rank {} ({})", rank, who); };
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = names_.find(rank); found != names_.end()) return text(found->second);
  }
  const std::optional<Answer> answer = get(rank, "", Clock::now() + std::chrono::seconds(1));
  if (!answer || !answer->good) return fmt::format("rank {}", rank);
  const std::lock_guard lock(mutex_);
  return text(names_.insert_or_assign(rank, answer->text).first->second);
}

// --- Peers ------------------------------------------------------------------------------------------------------------

namespace {

// Keys of the store begin with the group's name.
class TcpPeers final : public collectives::Peers {
 public:
  // `ranks`: those of the store, by rank of this group; empty: all, with the same numbers.
  TcpPeers(std::shared_ptr<Client> client, std::string name, std::vector<int> ranks)
      : client_(std::move(client)), name_(std::move(name)), ranks_(std::move(ranks)) {}
  ~TcpPeers() override {
    if (watch_) client_->remove(watch_);
  }

  void publish(std::string_view key, std::string_view value) override { client_->put(full(key), value); }
  void forget(std::string_view key) override { client_->forget(full(key)); }
  std::optional<std::string> value_of(int rank, std::string_view key, Clock::time_point deadline) override {
    std::optional<Client::Answer> answer = client_->get(in_store(rank), full(key), deadline);
    if (!answer || !answer->good) return std::nullopt;
    return std::move(answer->text);
  }
  std::string name_of(int rank) override {
    const std::string name = client_->name_of(in_store(rank));
    const std::size_t who = name.find('(');
    return who == std::string::npos ? fmt::format("rank {}", rank) : fmt::format("rank {} {}", rank, name.substr(who));
  }
  bool is_dead(int rank) override { return client_->is_dead(in_store(rank)); }
  std::string lost() override { return client_->lost(); }
  std::shared_ptr<Peers> group(std::span<const int> members, std::string_view name) override {
    return std::make_shared<TcpPeers>(client_, std::string(name), in_store(members));
  }
  std::uint64_t meet(std::span<const int> members, Clock::time_point deadline) override {
    const Client::Answer answer = client_->meet(name_, in_store(members), deadline);
    if (!answer.good) throw Error(Errc::communicator_failed, "Peers::meet", name_, answer.text);
    std::uint64_t epoch = 0;
    const char* const end = answer.text.data() + answer.text.size();
    if (const auto [rest, error] = std::from_chars(answer.text.data(), end, epoch); error != std::errc() || rest != end)
      throw Error(Errc::communicator_failed, "Peers::meet", name_, "the store's answer is not a number");
    return epoch;
  }
  void announce(std::string_view cause) noexcept override try {
    client_->report(name_, fmt::format("{} has failed: {}", client_->name_of(client_->rank()), cause));
  } catch (const std::exception&) {  // out of memory: the others notice later
  }
  void watch(std::function<void(const std::string&)> on_failure) override {
    const std::lock_guard lock(mutex_);
    if (watch_) client_->remove(watch_);
    watch_ = nullptr;
    if (!on_failure) return;
    watch_ = std::make_shared<Client::Watch>();
    watch_->group = name_;
    watch_->ranks = ranks_;
    watch_->call = std::move(on_failure);
    client_->add(watch_);
  }

 private:
  std::string full(std::string_view key) const { return fmt::format("{}:{}", name_, key); }
  int in_store(int rank) const { return ranks_.empty() ? rank : ranks_.at(static_cast<std::size_t>(rank)); }
  // All ranks in their order stay an empty list, which is short for any number of ranks.
  std::vector<int> in_store(std::span<const int> members) const {
    std::vector<int> result;
    for (const int member : members) result.push_back(in_store(member));
    bool is_all = result.size() == static_cast<std::size_t>(client_->ranks());
    for (std::size_t i = 0; is_all && i < result.size(); ++i) is_all = result[i] == static_cast<int>(i);
    if (is_all) result.clear();
    return result;
  }

  const std::shared_ptr<Client> client_;
  const std::string name_;
  const std::vector<int> ranks_;
  std::mutex mutex_;
  std::shared_ptr<Client::Watch> watch_;
};

}  // namespace

std::shared_ptr<collectives::Peers> make_peers(std::shared_ptr<Client> client, std::string name) {
  return std::make_shared<TcpPeers>(std::move(client), std::move(name), std::vector<int>());
}

}  // namespace weir::store
