// SPDX-License-Identifier: Apache-2.0
// A test case for two processes that mpirun starts: mpi_ranks CASE. Ranks 0 and 1 print their results.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "collectives/host/reduce.hpp"
#include "collectives/peers.hpp"
#include "weir/plugin/communicator.hpp"
#include "weir/weir.hpp"

namespace {

using namespace weir;
using namespace std::chrono_literals;

struct Rank {
  explicit Rank(std::chrono::milliseconds timeout = 0ms)
      : device(Registry::instance().open("host").device(0)),
        communicator(Communicator::from_mpi(device, {}, {.timeout = timeout})),
        stream(device.create_stream()),
        data(device.allocate<float>(1U << 20U)) {
    stream->fill(data, 1.0F);
  }
  int number() const { return communicator->rank(); }
  int peer() const { return 1 - number(); }

  Device& device;
  CommunicatorPtr communicator;
  StreamPtr stream;
  Buffer<float> data;
};

// In one piece, since both ranks write to one output.
void say(const Rank& rank, const std::string& text) {
  std::printf("%s", ("rank " + std::to_string(rank.number()) + ": " + text + "\n").c_str());
  std::fflush(stdout);
}

// Peers that exchange values as files in a folder of the job. Failures do not spread.
class FilePeers final : public collectives::Peers {
 public:
  explicit FilePeers(int rank) : folder_("/tmp/weir-mpi-ranks-" + std::to_string(::getppid())), rank_(rank) {
    std::filesystem::create_directory(folder_);
  }
  ~FilePeers() override {
    for (const std::string& file : files()) std::filesystem::remove(file);
    std::error_code not_empty;
    std::filesystem::remove(folder_, not_empty);
  }
  void publish(std::string_view key, std::string_view value) override {
    const std::string file = file_of(rank_, key);
    std::ofstream(file + ".partial") << value;
    std::filesystem::rename(file + ".partial", file);
  }
  void forget(std::string_view key) override { std::filesystem::remove(file_of(rank_, key)); }
  std::optional<std::string> value_of(int rank, std::string_view key, Clock::time_point deadline) override {
    for (;;) {
      if (std::ifstream in(file_of(rank, key)); in) return std::string{std::istreambuf_iterator<char>(in), {}};
      if (Clock::now() > deadline) return std::nullopt;
      std::this_thread::sleep_for(1ms);
    }
  }
  std::string name_of(int rank) override { return "rank " + std::to_string(rank); }
  std::shared_ptr<Peers> group(std::span<const int>, std::string_view) override { return nullptr; }
  std::uint64_t meet(std::span<const int>, Clock::time_point) override { return 0; }
  void announce(std::string_view) noexcept override {}
  void watch(std::function<void(const std::string&)>) override {}

  /// The values of this rank that nobody has removed.
  std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with(std::to_string(rank_) + " ")) all.push_back(entry.path());
    }
    return all;
  }

 private:
  std::string file_of(int rank, std::string_view key) const {
    return folder_ + "/" + std::to_string(rank) + " " + std::string(key);
  }
  const std::string folder_;
  const int rank_;
};

std::shared_ptr<FilePeers> connect(const Rank& rank) {
  const auto peers = std::make_shared<FilePeers>(rank.number());
  static_cast<CommunicatorImpl&>(*rank.communicator).set_peers(peers);
  return peers;
}

// What a call or, later, the communicator throws.
std::string error_of(const Rank& rank, const std::function<void()>& call) {
  try {
    call();
    rank.communicator->synchronize(*rank.stream);
    return "no error";
  } catch (const Error& error) {
    return std::string(to_string(error.errc())) + " | " + error.what();
  }
}

// The other rank waits for ever, unless the launcher ends it.
void leave(const Rank& rank, const std::function<void()>& how) {
  rank.communicator->barrier(*rank.stream);
  rank.communicator->synchronize(*rank.stream);
  if (rank.number() == 1) return how();
  rank.communicator->barrier(*rank.stream);
  rank.communicator->synchronize(*rank.stream);
}

// The communicator fails, and another one of the same processes does not. `call`: of this rank. One line for each rank,
// since the ranks print in any order.
void fails_alone(const Rank& rank, const Rank& other, const std::function<void()>& call) {
  const std::string failure = error_of(rank, call);
  other.communicator->all_reduce(other.data, Reduction::sum, *other.stream);
  const std::string error = error_of(other, [] {});
  say(rank, failure + "; the other communicator: " + error + ", " + std::to_string(other.stream->read(other.data).back()));
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// What rank 0 uses while it waits, in parts of a core.
void waits(const Rank& rank, const std::string& name, const std::function<void()>& call) {
  rank.communicator->barrier(*rank.stream);
  rank.communicator->synchronize(*rank.stream);
  if (rank.number() == 1) std::this_thread::sleep_for(2600ms);
  call();
  if (rank.number() == 0) {
    std::this_thread::sleep_for(500ms);
    const double before = processor_seconds();
    std::this_thread::sleep_for(2000ms);
    const double used = (processor_seconds() - before) / 2;
    // Twice of what is promised, for a machine that is busy.
    say(rank, name + (used < 0.02 ? " waits cheaply: " : " is dear: ") + std::to_string(used * 100) + " % of a core");
  }
  rank.communicator->synchronize(*rank.stream);
}

template <class T>
void expect(const Rank& rank, const char* what, T found, T wanted) {
  if (found == wanted || (found != found && wanted != wanted)) return;
  say(rank, std::string(what) + " is " + std::to_string(found) + " instead of " + std::to_string(wanted));
  std::exit(EXIT_FAILURE);
}

// `of_ranks`: what ranks 0 and 1 send.
template <class T>
void expect_reduced(const Rank& rank, const char* what, ElementType type, Reduction reduction, std::array<T, 2> of_ranks,
                    T wanted) {
  const T sent[2] = {of_ranks[static_cast<std::size_t>(rank.number())], of_ranks[static_cast<std::size_t>(rank.number())]};
  const T unwritten[2] = {};
  const auto from = rank.device.allocate_bytes(sizeof(sent)), to = rank.device.allocate_bytes(sizeof(sent));
  T found[2];
  Communicator& comm = *rank.communicator;
  Stream& stream = *rank.stream;
  const auto begin = [&] {
    stream.copy_bytes(from->data(), sent, sizeof(sent));
    stream.copy_bytes(to->data(), unwritten, sizeof(sent));
  };
  const auto look = [&](std::size_t count) {
    weir::detail::read_bytes(stream, found, to->data(), sizeof(found));
    comm.check();
    for (std::size_t i = 0; i < count; ++i) expect(rank, what, found[i], wanted);
  };
  begin();
  comm.all_reduce_raw({from->data(), to->data(), 2, type}, reduction, stream);
  look(2);
  begin();
  comm.reduce_raw({from->data(), to->data(), 2, type}, reduction, 1, stream);
  look(rank.number() == 1 ? 2 : 0);
  begin();
  comm.reduce_scatter_raw({from->data(), to->data(), 1, type}, reduction, stream);
  look(1);
}

}  // namespace

int main(int, char** argv) {
  int status = EXIT_SUCCESS;
  const std::map<std::string, std::function<void()>> cases = {
      {"return_3",
       [&] {
         const Rank rank;
         leave(rank, [&] { status = 3; });
       }},
      {"exit_3",
       [] {
         const Rank rank;
         leave(rank, [] { std::exit(3); });
       }},
      {"catch_in_main",
       [&] {
         try {
           const Rank rank;
           leave(rank, [] { throw std::runtime_error("stop"); });
         } catch (const std::runtime_error&) {
           status = EXIT_FAILURE;
         }
       }},
      {"different_counts",
       [] {
         const Rank rank(3000ms), other(60000ms);
         fails_alone(rank, other, [&] {
           const auto part = rank.data.subspan(0, rank.number() == 0 ? 64 : 32);
           rank.communicator->all_reduce(part, Reduction::sum, *rank.stream);
         });
       }},
      {"short_send",
       [] {
         const Rank rank(3000ms), other(60000ms);
         fails_alone(rank, other, [&] {
           if (rank.number() == 0)
             rank.communicator->send(rank.data.subspan(0, 32), 1, *rank.stream);
           else
             rank.communicator->receive(rank.data.subspan(0, 64), 0, *rank.stream);
         });
       }},
      {"late",  // rank 1 calls something else
       [] {
         const Rank rank(1000ms), other(60000ms);
         connect(rank);
         fails_alone(rank, other, [&] {
           rank.communicator->barrier(*rank.stream);
           if (rank.number() == 0)
             rank.communicator->all_reduce(rank.data, Reduction::sum, *rank.stream);
           else
             rank.communicator->receive(rank.data.subspan(0, 8), 0, *rank.stream);
         });
       }},
      {"late_alone",  // rank 1 does not come, and does not fail either
       [] {
         const Rank rank(1000ms), other(60000ms);
         connect(rank);
         fails_alone(rank, other, [&] {
           rank.communicator->barrier(*rank.stream);
           if (rank.number() == 0) rank.communicator->all_reduce(rank.data, Reduction::sum, *rank.stream);
         });
       }},
      {"check",  // WEIR_COMM_CHECK=1
       [] {
         const Rank rank(20000ms), other(60000ms);
         const auto peers = connect(rank);
         Communicator& communicator = *rank.communicator;
         for (int i = 0; i < 20; ++i) {
           communicator.all_reduce(rank.data.subspan(0, 8), Reduction::max, *rank.stream);
           communicator.broadcast(rank.data, i % 2, *rank.stream);
           Communicator::group([&] {
             communicator.send(rank.data.subspan(0, 8), rank.peer(), *rank.stream);
             communicator.receive(rank.data.subspan(8, 8), rank.peer(), *rank.stream);
           });
         }
         communicator.synchronize(*rank.stream);
         const std::size_t values = peers->files().size();
         fails_alone(rank, other, [&] {
           communicator.all_reduce(rank.data.subspan(0, rank.number() == 0 ? 64 : 32), Reduction::sum, *rank.stream);
         });
         say(rank, values <= 4 ? "keeps few values" : "keeps " + std::to_string(values) + " values");
       }},
      {"split_alone",
       [] {
         const Rank rank(500ms);
         if (rank.number() == 0) say(rank, error_of(rank, [&] { static_cast<void>(rank.communicator->split(0, 0)); }));
         std::this_thread::sleep_for(1500ms);
       }},
      {"numbers",
       [] {
         using enum ElementType;
         using enum Reduction;
         using std::array;
         const Rank rank;
         const float nan = NAN;
         for (const array<float, 2> values : {array{nan, 1.0F}, array{1.0F, nan}}) {
           const array<double, 2> doubles = {static_cast<double>(values[0]), static_cast<double>(values[1])};
           const auto halves = [&](auto convert) { return array{convert(values[0]), convert(values[1])}; };
           for (const Reduction reduction : {min, max}) {
             expect_reduced(rank, "float32", float32, reduction, values, 1.0F);
             expect_reduced(rank, "float64", float64, reduction, doubles, 1.0);
             expect_reduced(rank, "float16", float16, reduction, halves(collectives::float_to_half),
                            collectives::float_to_half(1));
             expect_reduced(rank, "bfloat16", bfloat16, reduction, halves(collectives::float_to_bfloat16),
                            collectives::float_to_bfloat16(1));
           }
           expect_reduced(rank, "float32", float32, sum, values, nan);
         }
         expect_reduced(rank, "float32", float32, max, {nan, nan}, nan);
         expect_reduced(rank, "float32", float32, min, {2.0F, -3.0F}, -3.0F);
         const std::uint16_t large = collectives::float_to_half(60000), two = collectives::float_to_half(2);
         expect_reduced(rank, "float16", float16, avg, {large, large}, large);
         expect_reduced(rank, "float16", float16, prod, {two, two}, collectives::float_to_half(4));
         say(rank, "numbers are right");
       }},
      {"two_threads",
       [] {
         const Rank rank(30000ms);
         // Rank 1 comes late, so that one thread of rank 0 waits in MPI while the other comes.
         if (rank.number() == 1) {
           std::this_thread::sleep_for(1000ms);
           const Rank second;
           return;
         }
         std::thread first([] { const Rank second; });
         std::this_thread::sleep_for(300ms);
         say(rank, error_of(rank, [] { const Rank third; }));
         first.join();
       }},
      {"waiting",
       [] {
         const Rank rank;
         const auto& data = rank.data;
         waits(rank, "a small all_reduce",
               [&] { rank.communicator->all_reduce(data.subspan(0, 1), Reduction::sum, *rank.stream); });
         waits(rank, "a large all_reduce", [&] { rank.communicator->all_reduce(data, Reduction::sum, *rank.stream); });
         waits(rank, "a large receive", [&] {
           if (rank.number() == 0)
             rank.communicator->receive(data, 1, *rank.stream);
           else
             rank.communicator->send(data, 0, *rank.stream);
         });
       }},
      {"large_messages",  // which meet first
       [] {
         const Rank rank;
         const auto received = rank.device.allocate<float>(rank.data.size());
         for (const std::size_t count : {std::size_t{1000}, rank.data.size()}) {
           Communicator::group([&] {
             for (const int peer : {0, 1}) {
               rank.communicator->send(rank.data.subspan(0, count / 2), peer, *rank.stream);
               rank.communicator->receive(received.subspan(static_cast<std::size_t>(peer) * count / 2, count / 2), peer,
                                          *rank.stream);
             }
             rank.communicator->all_reduce(rank.data, Reduction::max, *rank.stream);
           });
           rank.communicator->synchronize(*rank.stream);
           expect(rank, "what was received", rank.stream->read(received)[count - 1], 1.0F);
         }
         say(rank, "messages are right");
       }},
  };
  cases.at(argv[1])();
  return status;
}
