// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <functional>
#include <thread>

#include "collectives/host/reduce.hpp"
#include "weir/weir.hpp"

// The contract of communicators on host devices of one process.

using namespace weir;

namespace {

struct Four {
  explicit Four(const CommunicatorOptions& options = {}) {
    Backend& host = Registry::instance().open("host");
    for (int i = 0; i < 4; ++i) devices.push_back(&host.device(i));
    all = Communicator::from_devices(devices, options);
    for (Device* const device : devices) streams.push_back(device->create_stream());
  }
  void each(const std::function<void(Communicator&, Stream&)>& call) {
    Communicator::group([&] {
      for (std::size_t i = 0; i < all.size(); ++i) call(*all[i], *streams[i]);
    });
  }
  std::vector<Device*> devices;
  std::vector<CommunicatorPtr> all;
  std::vector<StreamPtr> streams;
};

template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  return Error(static_cast<Errc>(0), "", "", "nothing was thrown");
}

Error split_error(const std::vector<CommunicatorSplit>& ranks) {
  return error_of([&] { static_cast<void>(Communicator::split(ranks)); });
}

bool says(const Error& error, std::string_view text) {
  return std::string_view(error.what()).find(text) != std::string_view::npos;
}

int threads_of_this_process() {
  using Entries = std::filesystem::directory_iterator;
  return static_cast<int>(std::distance(Entries("/proc/self/task"), Entries()));
}

// The all_reduce of one element of each rank, by 16-bit and other floating-point types.
std::vector<float> all_reduced(Four& four, ElementType type, Reduction reduction, const std::vector<float>& of_ranks) {
  using namespace weir::collectives;
  std::vector<AllocationPtr> data;
  const auto bits = [&](float value) -> std::uint64_t {
    if (type == ElementType::float16) return float_to_half(value);
    if (type == ElementType::bfloat16) return float_to_bfloat16(value);
    if (type == ElementType::float32) return std::bit_cast<std::uint32_t>(value);
    return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  };
  const auto number = [&](std::uint64_t found) {
    if (type == ElementType::float16) return half_to_float(static_cast<std::uint16_t>(found));
    if (type == ElementType::bfloat16) return bfloat16_to_float(static_cast<std::uint16_t>(found));
    if (type == ElementType::float32) return std::bit_cast<float>(static_cast<std::uint32_t>(found));
    return static_cast<float>(std::bit_cast<double>(found));
  };
  for (std::size_t i = 0; i < 4; ++i) {
    data.push_back(four.devices[i]->allocate_bytes(sizeof(std::uint64_t)));
    const std::uint64_t value = bits(of_ranks[i]);
    four.streams[i]->copy_bytes(data[i]->data(), &value, sizeof(value));
    four.streams[i]->synchronize();
  }
  four.each([&](Communicator& c, Stream& s) {
    void* const memory = data[static_cast<std::size_t>(c.rank())]->data();
    c.all_reduce_raw({memory, memory, 1, type}, reduction, s);
  });
  std::vector<float> results;
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint64_t found = 0;
    weir::detail::read_bytes(*four.streams[i], &found, data[i]->data(), size_of(type));
    results.push_back(number(found));
  }
  return results;
}

// False if the stream still waits after 5 s.
bool comes_to_its_end(Stream& stream) {
  for (int i = 0; i < 1000 && !stream.is_complete(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return stream.is_complete();
}

}  // namespace

TEST_CASE("a communicator tells its rank, size, device, library and features") {
  Four four;
  CHECK(four.all[2]->rank() == 2);
  CHECK(four.all[2]->size() == 4);
  CHECK(&four.all[2]->device() == four.devices[2]);
  CHECK(four.all[2]->describe() == "host rank 2 of 4 on host:2");
  CHECK(four.all[0]->library() == std::string("host ") + version());
  CHECK(four.all[0]->native_handle() == nullptr);
  for (const auto f : {CommunicatorFeature::capture, CommunicatorFeature::avg, CommunicatorFeature::bfloat16,
                       CommunicatorFeature::timeout}) {
    CHECK(four.all[0]->supports(f));
  }
  CHECK_FALSE(four.all[0]->supports(static_cast<CommunicatorFeature>(99)));
}

TEST_CASE("a mistake is refused before anything is enqueued, and the communicator works on") {
  Four four;
  Communicator& comm = *four.all[1];
  Stream& stream = *four.streams[1];
  const auto x = four.devices[1]->allocate<float>(8);
  const auto y = four.devices[1]->allocate<float>(4);
  const auto refused = [&](Errc code, std::string_view text, auto&& call) {
    CAPTURE(text);
    const Error error = error_of(call);
    CAPTURE(error.what());
    CHECK(error.errc() == code);
    CHECK(says(error, text));
  };
  refused(Errc::wrong_device, "the stream is of host:0", [&] { comm.all_reduce(x, Reduction::sum, *four.streams[0]); });
  refused(Errc::length_mismatch, "Communicator::all_reduce", [&] { comm.all_reduce(y, x, Reduction::sum, stream); });
  refused(Errc::length_mismatch, "Communicator::all_gather", [&] { comm.all_gather(y, x, stream); });
  refused(Errc::length_mismatch, "Communicator::reduce_scatter", [&] { comm.reduce_scatter(x, y, Reduction::sum, stream); });
  refused(Errc::length_mismatch, "Communicator::all_to_all",
          [&] { comm.all_to_all(x.subspan(0, 7), x.subspan(0, 7), stream); });
  // The lengths are those of the caller, and the rule is the operation's.
  refused(Errc::length_mismatch, "8 elements are received, but 4 are sent; both need the same number",
          [&] { comm.all_reduce(y, x, Reduction::sum, stream); });
  refused(Errc::length_mismatch,
          "4 elements are received, but 4 are sent; with 4 ranks the received must be 4 times as many as the sent",
          [&] { comm.all_gather(y, y, stream); });
  refused(Errc::length_mismatch,
          "4 elements are received, but 8 are sent; with 4 ranks the sent must be 4 times as many as the received",
          [&] { comm.reduce_scatter(x, y, Reduction::sum, stream); });
  refused(Errc::length_mismatch,
          "3 elements are received, but 3 are sent; both need the same multiple of 4, the number of ranks",
          [&] { comm.all_to_all(y.subspan(0, 3), x.subspan(0, 3), stream); });
  refused(Errc::invalid_argument, "cannot be in place", [&] { comm.all_to_all(x, x, stream); });
  refused(Errc::invalid_argument, "rank 4 does not exist; the ranks are 0 to 3", [&] { comm.broadcast(x, 4, stream); });
  refused(Errc::invalid_argument, "rank -1 does not exist", [&] { comm.send(x, -1, stream); });
  refused(Errc::invalid_argument, "reduction", [&] { comm.all_reduce(x, static_cast<Reduction>(5), stream); });
  refused(Errc::invalid_argument, "element type",
          [&] { comm.all_reduce_raw({x.data(), x.data(), 1, static_cast<ElementType>(10)}, Reduction::sum, stream); });
  refused(Errc::invalid_argument, "what is received is null",
          [&] { comm.all_reduce_raw({x.data(), nullptr, 1, ElementType::float32}, Reduction::sum, stream); });
  refused(Errc::invalid_argument, "",
          [&] { comm.all_gather_raw({x.data(), x.data(), SIZE_MAX / 8, ElementType::float32}, stream); });
  const auto closed = four.devices[1]->create_stream();
  closed->close();
  refused(Errc::stream_closed, "Communicator::barrier", [&] { comm.barrier(*closed); });
  four.each([](Communicator& c, Stream& s) { c.barrier(s); });
  comm.synchronize(stream);
}

TEST_CASE("communicators are not made of no device, one device twice, or devices of a library that is not theirs") {
  Device& device = Registry::instance().open("host").device(0);
  const std::vector<Device*> twice = {&device, &device}, null = {nullptr}, none;
  CHECK(says(error_of([&] { Communicator::from_devices(none); }), "the list of devices is empty"));
  CHECK(says(error_of([&] { Communicator::from_devices(null); }), "device 0 is null"));
  CHECK(says(error_of([&] { Communicator::from_devices(twice); }), "host:0 is listed twice"));
  const std::vector<Device*> one = {&device};
  CHECK(says(error_of([&] { Communicator::from_devices(one, {.library = "nccl"}); }), "cannot use the library 'nccl'"));
  CHECK(says(error_of([&] { Communicator::from_devices(one, {.library = "ucc"}); }), "unknown library 'ucc'"));
  CHECK(says(error_of([&] { Communicator::from_devices(one, {.library = "gloo"}); }), "use from_environment"));
  CHECK(error_of([&] { Communicator::create_id(device); }).errc() == Errc::unsupported);
  CHECK(says(error_of([&] { (void)Communicator::from_id(device, 0, 2, {}); }), "from_environment or from_mpi"));
  CHECK(says(error_of([&] { (void)Communicator::from_id(device, 2, 2, {}); }), "exceed the number of ranks, 2"));
}

TEST_CASE("an operation waits for its stream's earlier work, and later work for it") {
  Four four;
  std::vector<Buffer<int>> data;
  for (Device* const device : four.devices) data.push_back(device->allocate<int>(1000));
  // The last rank's stream is held up by the host.
  std::atomic<bool> go{false};
  four.streams[3]->launch_host_function([&] {
    while (!go) std::this_thread::yield();
  });
  for (int i = 0; i < 4; ++i) four.streams[static_cast<std::size_t>(i)]->fill(data[static_cast<std::size_t>(i)], 1 << i);
  four.each([&](Communicator& c, Stream& s) { c.all_reduce(data[static_cast<std::size_t>(c.rank())], Reduction::sum, s); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(four.streams[0]->is_complete());
  go = true;
  for (std::size_t i = 0; i < 4; ++i) {
    for (const int value : four.streams[i]->read(data[i])) REQUIRE(value == 15);
  }
}

TEST_CASE("operations of one communicator keep their order on several streams") {
  Four four;
  std::vector<StreamPtr> second;
  std::vector<Buffer<int>> a, b;
  for (Device* const device : four.devices) {
    second.push_back(device->create_stream());
    a.push_back(device->allocate<int>(64));
    b.push_back(device->allocate<int>(64));
  }
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < 4; ++i) {
      four.streams[i]->fill(a[i], round);
      second[i]->fill(b[i], round + 7);
      // Ranks of which one stream is ahead, and ranks of which the other is.
      (i % 2 == 0 ? four.streams[i] : second[i])->launch_host_function([] {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      });
    }
    Communicator::group([&] {
      for (std::size_t i = 0; i < 4; ++i) four.all[i]->all_reduce(a[i], Reduction::sum, *four.streams[i]);
    });
    Communicator::group([&] {
      for (std::size_t i = 0; i < 4; ++i) four.all[i]->all_reduce(b[i], Reduction::max, *second[i]);
    });
    for (std::size_t i = 0; i < 4; ++i) {
      REQUIRE(four.streams[i]->read(a[i]).front() == 4 * round);
      REQUIRE(second[i]->read(b[i]).front() == round + 7);
    }
  }
  for (const CommunicatorPtr& comm : four.all) comm->check();
}

TEST_CASE("a group whose function throws enqueues nothing") {
  Four four;
  const auto x = four.devices[0]->allocate<int>(4);
  CHECK_THROWS_AS(Communicator::group([&] {
                    four.all[0]->all_reduce(x, Reduction::sum, *four.streams[0]);
                    throw std::runtime_error("stop");
                  }),
                  std::runtime_error);
  four.streams[0]->synchronize();  // would wait for the others for ever
  // An inner group's calls go with it, the outer one's stay.
  Communicator::group([&] {
    for (std::size_t i = 0; i < 4; ++i) four.all[i]->barrier(*four.streams[i]);
    try {
      Communicator::group([&] {
        four.all[0]->all_reduce(x, Reduction::sum, *four.streams[0]);
        throw std::runtime_error("stop");
      });
    } catch (const std::runtime_error&) {
    }
  });
  for (const StreamPtr& stream : four.streams) stream->synchronize();
}

TEST_CASE("a group one of whose streams is closed within it enqueues nothing") {
  Four four;
  const StreamPtr closed = four.devices[3]->create_stream();
  try {
    Communicator::group([&] {
      for (std::size_t i = 0; i < 3; ++i) four.all[i]->barrier(four.streams[i]);
      four.all[3]->barrier(closed);
      closed->close();
    });
    FAIL("a closed stream was taken");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::stream_closed);
    CHECK(error.operation() == "Communicator::barrier");
  }
  for (const StreamPtr& stream : four.streams) CHECK(stream->synchronize_for(std::chrono::seconds(60)));
}

TEST_CASE("more operations are captured than a block of words holds") {
  Four four;
  std::vector<Buffer<int>> data;
  std::vector<GraphExecPtr> graphs;
  for (Device* const device : four.devices) data.push_back(device->allocate<int>(3));
  for (std::size_t i = 0; i < 4; ++i) {
    four.streams[i]->fill(data[i], 1);
    graphs.push_back(four.streams[i]
                         ->capture([&](Stream& s) {
                           for (int k = 0; k < 200; ++k) four.all[i]->all_reduce(data[i], Reduction::max, s);
                         })
                         ->instantiate());
  }
  for (int k = 0; k < 3; ++k) {
    for (std::size_t i = 0; i < 4; ++i) graphs[i]->launch(*four.streams[i]);
  }
  for (std::size_t i = 0; i < 4; ++i) CHECK(four.streams[i]->read(data[i])[0] == 1);
}

TEST_CASE("ranks that do not fit each other fail together, with the cause") {
  Four four;
  const auto x = four.devices[0]->allocate<float>(8);
  four.each([&](Communicator& c, Stream& s) {
    if (c.rank() == 2)
      c.broadcast_raw({x.data(), x.data(), 4, ElementType::float32}, 1, s);
    else
      c.all_reduce_raw({x.data(), x.data(), 8, ElementType::float32}, Reduction::sum, s);
  });
  for (std::size_t i = 0; i < 4; ++i) {
    const Error error = error_of([&] { four.all[i]->synchronize(*four.streams[i]); });
    CHECK(error.errc() == Errc::communicator_failed);
    CHECK(says(error,
               "the ranks call different operations: rank 0 all_reduce of 8 float32 by sum, rank 2 broadcast of 4 float32 "
               "with root 1"));
    CHECK(error_of([&] { four.all[i]->barrier(*four.streams[i]); }).errc() == Errc::communicator_failed);
  }
}

TEST_CASE("a send and a receive of different lengths fail") {
  Four four;
  const auto x = four.devices[0]->allocate<float>(8);
  four.all[0]->send_raw(x.data(), 3, ElementType::float32, 1, *four.streams[0]);
  four.all[1]->receive_raw(x.data(), 4, ElementType::float32, 0, *four.streams[1]);
  const Error error = error_of([&] { four.all[1]->synchronize(*four.streams[1]); });
  CHECK(says(error, "rank 0 sends 3 float32 to rank 1, but that rank receives 4 float32"));
  four.streams[0]->synchronize();
}

TEST_CASE("a send that does not fit fails its whole group, and the streams go on") {
  Four four;
  const auto x = four.devices[0]->allocate<float>(8);
  four.all[1]->receive_raw(x.data(), 4, ElementType::float32, 0, *four.streams[1]);
  Communicator::group([&] {
    four.all[0]->send_raw(x.data(), 3, ElementType::float32, 1, *four.streams[0]);
    four.all[0]->send_raw(x.data(), 3, ElementType::float32, 2, *four.streams[0]);
    four.all[0]->barrier(*four.streams[0]);
  });
  for (std::size_t i = 0; i < 2; ++i) {
    REQUIRE(comes_to_its_end(*four.streams[i]));
    CHECK(
        says(error_of([&] { four.all[i]->check(); }), "rank 0 sends 3 float32 to rank 1, but that rank receives 4 float32"));
  }
}

TEST_CASE("sends and receives of a group can wait for each other on several streams") {
  Four four({.timeout = std::chrono::seconds(5)});
  std::vector<StreamPtr> second;
  std::vector<Buffer<int>> sent, received;
  for (Device* const device : four.devices) {
    second.push_back(device->create_stream());
    sent.push_back(device->allocate<int>(1000));
    received.push_back(device->allocate<int>(1000));
  }
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < 4; ++i) {
      four.streams[i]->fill(sent[i], 100 * round + static_cast<int>(i));
      second[i]->fill(received[i], -1);
    }
    four.each([&](Communicator& c, Stream& s) {
      const auto i = static_cast<std::size_t>(c.rank());
      c.send(sent[i], (c.rank() + 1) % 4, s);
      c.receive(received[i], (c.rank() + 3) % 4, *second[i]);
    });
    for (std::size_t i = 0; i < 4; ++i) {
      REQUIRE(second[i]->read(received[i]).back() == 100 * round + static_cast<int>((i + 3) % 4));
      four.all[i]->check();
    }
  }
}

TEST_CASE("a rank that does not come makes the others fail after the timeout") {
  Four four({.timeout = std::chrono::milliseconds(200)});
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < 3; ++i) four.all[i]->barrier(*four.streams[i]);
  for (std::size_t i = 0; i < 3; ++i) {
    const Error error = error_of([&] { four.all[i]->synchronize(*four.streams[i]); });
    CHECK(error.errc() == Errc::communicator_failed);
    CHECK(says(error, "has waited for 200 ms for rank 3"));
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  CHECK(took >= std::chrono::milliseconds(200));
  CHECK(took < std::chrono::seconds(5));
  CHECK(error_of([&] { four.all[3]->barrier(*four.streams[3]); }).errc() == Errc::communicator_failed);
}

TEST_CASE("abort ends what waits, on all ranks") {
  Four four;
  for (std::size_t i = 0; i < 3; ++i) four.all[i]->barrier(*four.streams[i]);
  four.all[3]->abort();
  four.all[3]->abort();
  for (std::size_t i = 0; i < 3; ++i) {
    const Error error = error_of([&] { four.all[i]->synchronize(*four.streams[i]); });
    CHECK(says(error, "rank 3 has failed or called Communicator::abort"));
  }
  CHECK(says(error_of([&] { four.all[3]->check(); }), "Communicator::abort was called"));
}

TEST_CASE("communicators may go while their work is under way") {
  std::vector<StreamPtr> streams;
  std::vector<Buffer<int>> data;
  {
    Four four;
    streams = four.streams;
    for (Device* const device : four.devices) data.push_back(device->allocate<int>(1 << 20));
    for (std::size_t i = 0; i < 4; ++i) streams[i]->fill(data[i], 3);
    four.each(
        [&](Communicator& c, Stream& s) { c.all_reduce(data[static_cast<std::size_t>(c.rank())], Reduction::sum, s); });
  }
  for (std::size_t i = 0; i < 4; ++i) CHECK(streams[i]->read(data[i]).back() == 12);
}

TEST_CASE("a stream that waits for a rank which never called goes on once the communicators have gone") {
  StreamPtr stream;
  {
    Four four;
    stream = four.streams[1];
    four.all[1]->barrier(*stream);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_FALSE(stream->is_complete());
  }
  stream->synchronize();
}

TEST_CASE("a communicator that goes before it has called what the others wait for makes them fail, without a timeout") {
  Four four;
  const auto x = four.devices[0]->allocate<float>(8);
  four.all[2]->barrier(*four.streams[2]);  // of the work under way it is a part all the same
  for (std::size_t i = 0; i < 2; ++i) four.all[i]->barrier(*four.streams[i]);
  four.all[2].reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(four.streams[0]->is_complete());
  four.all[3]->barrier(*four.streams[3]);
  for (const std::size_t i : {0U, 1U, 3U}) four.all[i]->synchronize(*four.streams[i]);
  SUBCASE("in an operation of all ranks") {
    for (const std::size_t i : {0U, 1U, 3U}) {
      four.all[i]->all_reduce_raw({x.data(), x.data(), 8, ElementType::float32}, Reduction::sum, *four.streams[i]);
      REQUIRE(comes_to_its_end(*four.streams[i]));
      const Error error = error_of([&] { four.all[i]->check(); });
      CHECK(error.errc() == Errc::communicator_failed);
      CHECK(says(error, "all_reduce of 8 float32 by sum of rank 0 waits for rank 2, whose communicator was destroyed"));
      if (i == 0) break;  // the others have failed, too
    }
    CHECK(error_of([&] { four.all[3]->check(); }).errc() == Errc::communicator_failed);
  }
  SUBCASE("in a receive") {
    four.all[3]->receive_raw(x.data(), 8, ElementType::float32, 2, *four.streams[3]);
    REQUIRE(comes_to_its_end(*four.streams[3]));
    CHECK(says(error_of([&] { four.all[3]->check(); }), "receive of 8 float32 of rank 3 waits for rank 2"));
  }
}

TEST_CASE("a rank's call that waits when a peer goes fails") {
  Four four;
  four.all[0]->barrier(*four.streams[0]);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(four.streams[0]->is_complete());
  four.all[1].reset();
  REQUIRE(comes_to_its_end(*four.streams[0]));
  CHECK(says(error_of([&] { four.all[0]->check(); }), "barrier of rank 0 waits for rank 1"));
}

TEST_CASE("communicators and streams may go within a group that uses them") {
  Four four;
  std::vector<Buffer<int>> data;
  for (std::size_t i = 0; i < 4; ++i) {
    data.push_back(four.devices[i]->allocate<int>(1000));
    four.streams[i]->fill(data[i], 1);
    four.streams[i]->synchronize();
  }
  Communicator::group([&] {
    for (std::size_t i = 0; i < 4; ++i) {
      four.all[i]->all_reduce(data[i], Reduction::sum, *four.streams[i]);
      four.all[i].reset();
      four.streams[i].reset();
    }
    // So that what lies where the objects were is something else.
    Four other;
    other.each([](Communicator& c, Stream& s) { c.barrier(s); });
  });
  for (std::size_t i = 0; i < 4; ++i) {
    four.devices[i]->synchronize();
    CHECK(four.devices[i]->create_stream()->read(data[i]).back() == 4);
  }
  // An inner group that throws lets its objects go, and those of the outer one stay.
  Four again;
  CommunicatorPtr inner = again.all[0];
  const auto owners = inner->use_count();
  Communicator::group([&] {
    again.each([](Communicator& c, Stream& s) { c.barrier(s); });
    CHECK_THROWS_AS(Communicator::group([&] {
                      inner->barrier(*again.streams[0]);
                      throw std::runtime_error("stop");
                    }),
                    std::runtime_error);
    CHECK(inner->use_count() == owners + 1);
  });
  for (std::size_t i = 0; i < 4; ++i) again.all[i]->synchronize(*again.streams[i]);
}

TEST_CASE("any number of communicators shares the threads of one") {
  const Four first;
  const int before = threads_of_this_process();
  std::vector<std::unique_ptr<Four>> all;
  for (int i = 0; i < 100; ++i) all.push_back(std::make_unique<Four>());
  CHECK(threads_of_this_process() <= before + 4);  // the host backend may start some of its own
  // All of them wait at once, and end, whichever rank comes last.
  const auto x = first.devices[0]->allocate<float>(4);
  for (std::size_t k = 0; k < all.size(); ++k) {
    for (std::size_t i = 0; i < 4; ++i) {
      if (i != k % 4) all[k]->all[i]->barrier(*all[k]->streams[i]);
    }
  }
  for (std::size_t k = all.size(); k-- > 0;) all[k]->all[k % 4]->barrier(*all[k]->streams[k % 4]);
  for (const auto& four : all) {
    for (std::size_t i = 0; i < 4; ++i) {
      REQUIRE(comes_to_its_end(*four->streams[i]));
      four->all[i]->check();
    }
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which take more of it themselves
namespace {
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
}  // namespace

TEST_CASE("a stream that waits for a rank uses less than a hundredth of a core") {
  Four four;
  four.all[0]->barrier(*four.streams[0]);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(2000));
  CHECK(processor_seconds() - before < 0.04);  // twice that, for a machine that is busy
  CHECK_FALSE(four.streams[0]->is_complete());
}
#endif

TEST_CASE("split: threads of the ranks meet, and each gets its part") {
  Four four;
  const int colors[] = {0, 5, 0, -1}, keys[] = {3, 0, 1, 0};
  std::vector<CommunicatorPtr> parts(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) threads.emplace_back([&, i] { parts[i] = four.all[i]->split(colors[i], keys[i]); });
  for (std::thread& thread : threads) thread.join();
  CHECK(parts[0]->describe() == "host rank 1 of 2 on host:0");
  CHECK(parts[1]->describe() == "host rank 0 of 1 on host:1");
  CHECK(parts[2]->describe() == "host rank 0 of 2 on host:2");
  CHECK(parts[3] == nullptr);
  four.all.clear();  // the parts do not need it
  const auto data = four.devices[0]->allocate<int>(1), other = four.devices[2]->allocate<int>(1);
  four.streams[0]->fill(data, 1);
  four.streams[2]->fill(other, 2);
  parts[0]->all_reduce(data, Reduction::sum, *four.streams[0]);
  parts[2]->all_reduce(other, Reduction::sum, *four.streams[2]);
  CHECK(four.streams[0]->read(data).front() == 3);
}

TEST_CASE("split: a rank that does not come, or has gone, is named") {
  Four late({.timeout = std::chrono::milliseconds(100)});
  const Error error = split_error({{late.all[0].get()}, {late.all[2].get()}});
  CHECK(error.errc() == Errc::communicator_failed);
  CHECK_MESSAGE(says(error, "split of rank 0 has waited for 100 ms for rank 1, 3"), error.what());
  Four gone;
  std::thread thread([&] {
    const Error ended = error_of([&] { static_cast<void>(gone.all[0]->split(0, 0)); });
    CHECK_MESSAGE(says(ended, "split waits for rank 3, whose communicator was destroyed"), ended.what());
  });
  gone.all[3].reset();
  thread.join();
}

TEST_CASE("split: a list that is not of different ranks of one communicator is refused") {
  Four four;
  CHECK(says(split_error({}), "Communicator::split: the list of ranks is empty"));
  CHECK(says(split_error({{}}), "communicator 0 is null"));
  CHECK(says(split_error({{four.all[0].get()}, {four.all[0].get()}}), "different ranks of one communicator"));
  Four other;
  CHECK(says(split_error({{four.all[0].get()}, {other.all[1].get()}}), "different ranks of one communicator"));
  const Error grouped = error_of([&] { Communicator::group([&] { static_cast<void>(four.all[0]->split(0, 0)); }); });
  CHECK(says(grouped, "a group cannot contain a split"));
}

TEST_CASE("min and max prefer a number to what is none, whichever rank has it") {
  Four four;
  for (const ElementType type : {ElementType::float16, ElementType::bfloat16, ElementType::float32, ElementType::float64}) {
    CAPTURE(to_string(type));
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CAPTURE(rank);
      std::vector<float> values = {1, 2, 3, 4};
      values[rank] = NAN;
      for (const float found : all_reduced(four, type, Reduction::min, values)) CHECK(found == (rank == 0 ? 2 : 1));
      for (const float found : all_reduced(four, type, Reduction::max, values)) CHECK(found == (rank == 3 ? 3 : 4));
      std::vector<float> none(4, NAN);
      for (const float found : all_reduced(four, type, Reduction::max, none)) CHECK(std::isnan(found));
      none[rank] = -5;
      for (const float found : all_reduced(four, type, Reduction::max, none)) CHECK(found == -5);
      for (const float found : all_reduced(four, type, Reduction::sum, values)) CHECK(std::isnan(found));
    }
  }
}

TEST_CASE("half and bfloat16 are reduced as floats and rounded once") {
  Four four;
  const auto check = [&](ElementType type, Reduction reduction, const std::vector<float>& values, float wanted) {
    for (const float found : all_reduced(four, type, reduction, values)) CHECK(found == wanted);
  };
  check(ElementType::float16, Reduction::avg, {60000, 60000, 60000, 60000}, 60000);
  check(ElementType::float16, Reduction::sum, {2048, 1, 1, 1}, 2052);
  check(ElementType::float16, Reduction::prod, {60000, 60000, 0.5F, 0.0F}, 0);
  check(ElementType::bfloat16, Reduction::avg, {256, 1, 1, 1}, 65);
  check(ElementType::bfloat16, Reduction::sum, {256, 1, 1, 1}, 260);
}

TEST_CASE("half and bfloat16 are rounded as IEEE rounds") {
  using namespace weir::collectives;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (const float value = half_to_float(half); !std::isnan(value)) REQUIRE(float_to_half(value) == half);
    if (const float value = bfloat16_to_float(half); !std::isnan(value)) REQUIRE(float_to_bfloat16(value) == half);
  }
  CHECK(std::isnan(half_to_float(float_to_half(NAN))));
  CHECK(std::isnan(bfloat16_to_float(float_to_bfloat16(NAN))));
  CHECK(float_to_half(65519.996F) == 0x7BFF);
  CHECK(float_to_half(65520.0F) == 0x7C00);
  CHECK(float_to_half(1.0F + 0x1p-11F) == 0x3C00);  // a tie goes to the even one
  CHECK(float_to_half(1.0F + 3 * 0x1p-11F) == 0x3C02);
  CHECK(float_to_half(0x1p-25F) == 0);
  CHECK(float_to_half(0x1.8p-25F) == 1);
  CHECK(float_to_half(-0x1p-24F) == 0x8001);
  CHECK(float_to_bfloat16(1.0F + 0x1p-8F) == 0x3F80);
  CHECK(float_to_bfloat16(1.0F + 3 * 0x1p-8F) == 0x3F82);
}
