// SPDX-License-Identifier: Apache-2.0
// A program that creates communicators for all devices of a backend, performs the given steps and prints the result of each:
// story BACKEND STEP…
#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "weir/weir.hpp"

int main(int argc, char** argv) {
  using namespace weir;
  const std::string name = argv[1];
  std::vector<CommunicatorPtr> comms;
  std::vector<StreamPtr> streams;
  std::vector<Buffer<float>> data;
  const CommunicatorOptions short_time{.timeout = std::chrono::milliseconds(300)};
  const auto make = [&](const CommunicatorOptions& options) {
    Backend& backend = Registry::instance().open(name);
    std::vector<Device*> devices;
    for (int i = 0; i < backend.device_count(); ++i) devices.push_back(&backend.device(i));
    comms = Communicator::from_devices(devices, options);
    for (Device* const device : devices) {
      streams.push_back(device->create_stream());
      data.push_back(device->allocate<float>(1000));
      streams.back()->fill(data.back(), 1.0F);
    }
    std::printf("made: %s\n", comms[0]->library().c_str());
  };
  const auto each = [&](const std::function<void(Communicator&, Stream&, const Buffer<float>&)>& call) {
    Communicator::group([&] {
      for (std::size_t i = 0; i < comms.size(); ++i) call(*comms[i], *streams[i], data[i]);
    });
  };
  using Call = std::function<void(Communicator&, Stream&, const Buffer<float>&)>;
  const auto but_last = [&](const Call& call) {
    each([&](Communicator& c, Stream& s, const Buffer<float>& x) {
      if (c.rank() != c.size() - 1) call(c, s, x);
    });
  };
  const auto by_last = [&](const Call& call) {
    each([&](Communicator& c, Stream& s, const Buffer<float>& x) {
      c.rank() == c.size() - 1 ? call(c, s, x) : c.all_reduce(x, Reduction::sum, s);
    });
  };
  // Makes them where the system has memory for so many bytes more: a thread's stack has 8 MiB.
  const auto make_within = [&](std::size_t more) {
    Registry::instance().open(name);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit before{};
    ::getrlimit(RLIMIT_AS, &before);
    const rlimit low{pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + more, before.rlim_max};
    ::setrlimit(RLIMIT_AS, &low);
    try {
      Backend& backend = Registry::instance().open(name);
      std::vector<Device*> devices;
      for (int i = 0; i < backend.device_count(); ++i) devices.push_back(&backend.device(i));
      comms = Communicator::from_devices(devices);
    } catch (...) {
      ::setrlimit(RLIMIT_AS, &before);
      throw;
    }
    ::setrlimit(RLIMIT_AS, &before);
    for (const CommunicatorPtr& c : comms) {
      streams.push_back(c->device().create_stream());
      data.push_back(c->device().allocate<float>(1000));
    }
  };
  const std::map<std::string, std::function<void()>> steps = {
      {"make_without_threads", [&] { make_within(std::size_t{2} << 20U); }},
      {"make_with_one_thread", [&] { make_within(std::size_t{12} << 20U); }},
      {"make", [&] { make({}); }},
      {"make_short", [&] { make(short_time); }},
      {"init_mpi",
       [] {
         void* const mpi = ::dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
         if (mpi == nullptr) throw Error(Errc::driver_not_found, "dlopen", "libmpi.so.40", ::dlerror());
         reinterpret_cast<int (*)(int*, char***)>(::dlsym(mpi, "MPI_Init"))(nullptr, nullptr);
       }},
      {"from_mpi",
       [&] {
         Device& device = Registry::instance().open(name).device(0);
         comms = {Communicator::from_mpi(device)};
         streams = {device.create_stream()};
         data.clear();
         data.push_back(device.allocate<float>(1000));
         std::printf("%s\n", comms[0]->describe().c_str());
       }},
      {"from_mpi_null",  // of a split that this process is not in
       [&] {
         void* const mpi = ::dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
         if (mpi == nullptr) throw Error(Errc::driver_not_found, "dlopen", "libmpi.so.40", ::dlerror());
         comms = {Communicator::from_mpi(Registry::instance().open(name).device(0), ::dlsym(mpi, "ompi_mpi_comm_null"))};
       }},
      {"make_alone",
       [&] {
         Device& device = Registry::instance().open(name).device(0);
         comms = {Communicator::from_id(device, 0, 2, Communicator::create_id(device), short_time)};
       }},
      {"all_reduce",
       [&] { each([](Communicator& c, Stream& s, const Buffer<float>& x) { c.all_reduce(x, Reduction::sum, s); }); }},
      {"all_to_all",
       [&] {
         std::vector<Buffer<float>> to;
         for (const CommunicatorPtr& c : comms) to.push_back(c->device().allocate<float>(1000));
         each([&](Communicator& c, Stream& s, const Buffer<float>& x) {
           c.all_to_all(x, to[static_cast<std::size_t>(c.rank())], s);
         });
         for (const StreamPtr& s : streams) s->synchronize();
       }},
      {"split",  // each rank alone
       [&] {
         std::vector<CommunicatorSplit> ranks;
         for (const CommunicatorPtr& c : comms) ranks.push_back({c.get(), c->rank(), 0});
         comms = Communicator::split(ranks);
         std::printf("%s\n", comms.back()->describe().c_str());
       }},
      {"all_reduce_but_last",
       [&] { but_last([](Communicator& c, Stream& s, auto& x) { c.all_reduce(x, Reduction::sum, s); }); }},
      {"last_broadcasts", [&] { by_last([](Communicator& c, Stream& s, auto& x) { c.broadcast(x, 0, s); }); }},
      {"last_has_less",
       [&] { by_last([](Communicator& c, Stream& s, auto& x) { c.all_reduce(x.subspan(1), Reduction::sum, s); }); }},
      {"last_has_ints",
       [&] {
         by_last([](Communicator& c, Stream& s, auto& x) {
           c.all_reduce_raw({x.data(), x.data(), x.size(), ElementType::int32}, Reduction::sum, s);
         });
       }},
      {"last_takes_max", [&] { by_last([](Communicator& c, Stream& s, auto& x) { c.all_reduce(x, Reduction::max, s); }); }},
      {"roots",
       [&] { each([](Communicator& c, Stream& s, const Buffer<float>& x) { c.broadcast(x, c.rank() == 0 ? 0 : 1, s); }); }},
      {"send_short",  // from rank 0 to rank 1
       [&] {
         Communicator::group([&] {
           comms[0]->send(data[0].subspan(1), 1, *streams[0]);
           comms[1]->receive(data[1], 0, *streams[1]);
         });
       }},
      {"send_alone", [&] { comms[0]->send(data[0], 1, *streams[0]); }},
      {"full_disk",  // for files of more than 1 KiB
       [] {
         ::signal(SIGXFSZ, SIG_IGN);
         const rlimit small{1024, 1024};
         ::setrlimit(RLIMIT_FSIZE, &small);
       }},
      {"record", [&] { std::printf("%s", comms[0]->flight_record().c_str()); }},
      {"check_each",
       [&] {
         for (const CommunicatorPtr& c : comms) {
           try {
             c->check();
           } catch (const Error& error) {
             std::printf("%s\n", error.what());
           }
         }
       }},
      {"rebuild",
       [&] {
         const int both[] = {0, 1};
         comms[0] = comms[0]->rebuild(both);
       }},
      {"split_alone", [&] { static_cast<void>(comms[0]->split(0, 0)); }},
      {"fill_without_order",
       [&] {
         static StreamPtr other;
         streams[0]->synchronize();
         other = comms[0]->device().create_stream();
         other->fill(data[0], 2.0F);
       }},
      {"fill_in_order",
       [&] {
         const StreamPtr other = comms[0]->device().create_stream();
         other->wait(*streams[0]);
         other->fill(data[0], 2.0F);
         streams[0]->wait(*other);
       }},
      {"barrier", [&] { each([](Communicator& c, Stream& s, const Buffer<float>&) { c.barrier(s); }); }},
      {"launch",
       [&] {
         std::vector<GraphExecPtr> graphs;
         for (const StreamPtr& s : streams) s->begin_capture();
         each([](Communicator& c, Stream& s, const Buffer<float>& x) { c.all_reduce(x, Reduction::sum, s); });
         for (const StreamPtr& s : streams) graphs.push_back(s->end_capture()->instantiate());
         for (std::size_t i = 0; i < graphs.size(); ++i) graphs[i]->launch(*streams[i]);
         for (std::size_t i = 0; i < graphs.size(); ++i) comms[i]->watch(*streams[i]);
         for (const StreamPtr& s : streams) s->synchronize();
       }},
      {"synchronize",
       [&] {
         for (std::size_t i = 0; i < comms.size(); ++i) comms[i]->synchronize(*streams[i]);
       }},
      {"wait_for_failure",
       [&] {
         for (int i = 0; i < 500; ++i) {
           comms[0]->check();
           std::this_thread::sleep_for(std::chrono::milliseconds(10));
         }
       }},
      {"check", [&] { comms[0]->check(); }},
      {"check_beside",  // another thread's all_reduce, which takes long
       [&] {
         std::thread other(
             [&] { each([](Communicator& c, Stream& s, const Buffer<float>& x) { c.all_reduce(x, Reduction::sum, s); }); });
         std::this_thread::sleep_for(std::chrono::milliseconds(200));
         const auto begin = std::chrono::steady_clock::now();
         comms[0]->check();
         const bool is_quick = std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(400);
         other.join();
         std::printf("the check was %s\n", is_quick ? "quick" : "slow");
       }},
      {"abort_beside",  // during another thread's all_reduce, which takes long
       [&] {
         std::thread other(
             [&] { each([](Communicator& c, Stream& s, const Buffer<float>& x) { c.all_reduce(x, Reduction::sum, s); }); });
         std::this_thread::sleep_for(std::chrono::milliseconds(20));
         comms[0]->abort();
         other.join();
       }},
      {"check_last", [&] { comms.back()->check(); }},
      {"abort", [&] { comms[0]->abort(); }},
      {"value", [&] { std::printf("element: %g\n", static_cast<double>(streams[0]->read(data[0])[999])); }},
      {"drop", [&] { comms.clear(); }},
      {"drop_by_exception",
       [&] {
         try {
           const auto dropped = std::move(comms);
           throw std::runtime_error("on purpose");
         } catch (const std::runtime_error&) {
         }
       }},
  };
  for (int i = 2; i < argc; ++i) {
    try {
      steps.at(argv[i])();
      std::printf("%s: ok\n", argv[i]);
    } catch (const Error& error) {
      std::printf("%s: %s | %s\n", argv[i], std::string(to_string(error.errc())).c_str(), error.what());
    }
    std::fflush(stdout);
  }
  return 0;
}
