// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>

#include "collectives/from_first.hpp"
#include "collectives/libraries.hpp"
#include "collectives/peers.hpp"
#include "collectives/store/connection.hpp"
#include "core/runtime/thread_state.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/plugin/communicator.hpp"
#include "weir/plugin/support.hpp"

/// Creates communicators: from the devices of one process, or for one rank with an id or MPI.
namespace weir {

using collectives::open_library;

namespace {

constexpr std::string_view own_library(std::string_view backend) {
  if (backend == "cuda") return "nccl";
  if (backend == "hip") return "rccl";
  return "host";
}

// Returns the library in the options, or else the one for the device. `on_host`: the library for host devices.
std::string library_for(const char* operation, Device& device, const CommunicatorOptions& options,
                        std::string_view on_host) {
  const std::string& backend = device.backend().name();
  const std::string_view own = own_library(backend);
  if (options.library.empty()) return std::string(own == "host" ? on_host : own);
  if (options.library == own || options.library == "mpi") return options.library;
  if (own == "host" && options.library == "gloo") return options.library;
  constexpr std::string_view known[] = {"nccl", "rccl", "host", "gloo"};
  const bool is_known = std::find(std::begin(known), std::end(known), options.library) != std::end(known);
  throw Error(Errc::invalid_argument, operation, device.describe(),
              fmt::format("{} '{}'; for devices of the backend {} use {}{} or mpi, or let Weir choose",
                          is_known ? "these devices cannot use the library" : "unknown library", options.library, backend,
                          own, own == "host" ? ", gloo" : ""));
}

// Returns the library if its processes connect by an id.
CommunicatorLibrary& library_with_ids(const char* operation, Device& device, const CommunicatorOptions& options) {
  const std::string name = library_for(operation, device, options, "host");
  if (name == "nccl" || name == "rccl") return open_library(name, operation);
  throw Error(Errc::unsupported, operation, device.describe(),
              fmt::format("the library {} does not use ids; use Communicator::from_environment or from_mpi", name));
}

void check_devices(const char* operation, std::span<Device* const> devices) {
  const auto throw_error = [&](std::string_view cause) { throw Error(Errc::invalid_argument, operation, "", cause); };
  if (devices.empty()) throw_error("the list of devices is empty; pass at least one");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i] == nullptr) throw_error(fmt::format("device {} is null", i));
    if (&devices[i]->backend() != &devices[0]->backend()) {
      throw_error(fmt::format("{} and {} belong to different backends", devices[0]->describe(), devices[i]->describe()));
    }
    if (std::find(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(i), devices[i]) !=
        devices.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw_error(fmt::format("{} is listed twice; each rank needs its own device", devices[i]->describe()));
    }
  }
}

void check_ranks(const char* operation, std::size_t devices, int first, int ranks) {
  if (ranks < 1 || first < 0 || devices > static_cast<std::size_t>(ranks) || first > ranks - static_cast<int>(devices)) {
    throw Error(Errc::invalid_argument, operation, "",
                fmt::format("{} device{} from rank {} on exceed the number of ranks, {}", devices, devices == 1 ? "" : "s",
                            first, ranks));
  }
}

// A century, so that the end of the time can be calculated.
std::chrono::milliseconds timeout_of(const CommunicatorOptions& options) {
  return std::min<std::chrono::milliseconds>(options.timeout, std::chrono::hours(24 * 365 * 100));
}

// Threads that make communicators at the same time may have counted them in different orders.
void name_alike(std::span<const CommunicatorPtr> ranks) {
  const std::string name = static_cast<CommunicatorImpl&>(*ranks[0]).name();
  for (const CommunicatorPtr& rank : ranks) static_cast<CommunicatorImpl&>(*rank).set_name(name);
}

}  // namespace

std::vector<CommunicatorPtr> Communicator::from_devices(std::span<Device* const> devices,
                                                        const CommunicatorOptions& options) {
  const char* const operation = "Communicator::from_devices";
  detail::enter(operation);
  check_devices(operation, devices);
  const std::string library = library_for(operation, *devices[0], options, "host");
  if (library == "mpi" || library == "gloo") {
    throw Error(Errc::invalid_argument, operation, "library " + library,
                library == "mpi" ? "with MPI each process has one rank; use from_mpi"
                                 : "with Gloo each process has one rank; use from_environment");
  }
  std::vector<CommunicatorPtr> all =
      open_library(library, operation)
          .create({.devices = devices, .ranks = static_cast<int>(devices.size()), .timeout = timeout_of(options)});
  name_alike(all);
  if (library == "host" || all.size() == 1) return all;  // the host's ranks see each other's calls anyway
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    names.push_back(fmt::format("rank {} ({})", rank, devices[rank]->describe()));
  const auto peers = collectives::make_process_peers(std::move(names));
  for (std::size_t rank = 0; rank < all.size(); ++rank) static_cast<CommunicatorImpl&>(*all[rank]).set_peers(peers[rank]);
  return all;
}

CommunicatorId Communicator::create_id(Device& device, const CommunicatorOptions& options) {
  const char* const operation = "Communicator::create_id";
  detail::enter(operation);
  return library_with_ids(operation, device, options).create_id(device);
}

std::vector<CommunicatorPtr> Communicator::from_id(std::span<Device* const> devices, int first_rank, int ranks,
                                                   const CommunicatorId& id, const CommunicatorOptions& options) {
  const char* const operation = "Communicator::from_id";
  detail::enter(operation);
  check_devices(operation, devices);
  check_ranks(operation, devices.size(), first_rank, ranks);
  return library_with_ids(operation, *devices[0], options)
      .create({.devices = devices, .first_rank = first_rank, .ranks = ranks, .id = &id, .timeout = timeout_of(options)});
}

CommunicatorPtr Communicator::from_id(Device& device, int rank, int ranks, const CommunicatorId& id,
                                      const CommunicatorOptions& options) {
  Device* const one = &device;
  return from_id(std::span(&one, 1), rank, ranks, id, options).front();
}

CommunicatorPtr Communicator::from_mpi(Device& device, const MpiCommunicator& communicator,
                                       const CommunicatorOptions& options) {
  const char* const operation = "Communicator::from_mpi";
  detail::enter(operation);
  const std::string library = library_for(operation, device, options, "mpi");
  if (library == "host" || library == "gloo") {
    throw Error(Errc::invalid_argument, operation, device.describe(),
                library == "host" ? "the library host works only within one process; use mpi"
                                  : "the library gloo does not use MPI; use mpi, or from_environment");
  }
  CommunicatorLibrary& mpi = open_library("mpi", operation);
  const CommunicatorLibrary::MpiPlace place = mpi.mpi_place(communicator);
  Device* const one = &device;
  if (library == "mpi") {
    return mpi
        .create({.devices = {&one, 1},
                 .first_rank = place.rank,
                 .ranks = place.size,
                 .mpi = &communicator,
                 .timeout = timeout_of(options)})
        .front();
  }
  const auto id = collectives::made_by_first(
      place.rank, [&] { return create_id(device, options); },
      [&](auto& message) { mpi.mpi_broadcast(communicator, std::as_writable_bytes(std::span(&message, 1))); });
  if (!id)
    throw Error(Errc::communicator_failed, operation, device.describe(), "rank 0 could not create an id; see its error");
  return from_id(device, place.rank, place.size, *id, options);
}

// --- With the store ---------------------------------------------------------------------------------------------------

namespace {

using Clock = std::chrono::steady_clock;

// Without a timeout a meeting ends all the same: ranks that were never started would not come.
Clock::time_point meeting_deadline(const CommunicatorOptions& options) {
  return Clock::now() + (options.timeout.count() != 0 ? timeout_of(options) : std::chrono::minutes(10));
}

// The position of a rank in a new communicator.
struct Position {
  int rank = 0, ranks = 1;
  const MpiCommunicator* mpi = nullptr;  // null: the library connects by id, or Gloo by the store
  std::span<const int> members = {};     // of `mpi`
  std::uint64_t epoch = 0;               // of the ranks' meeting
};

// Creates a communicator whose ranks have met.
CommunicatorPtr create_among(const char* operation, Device& device, const std::string& library_name,
                             const Position& position, const std::shared_ptr<collectives::Peers>& peers,
                             Clock::time_point deadline, const CommunicatorOptions& options) {
  CommunicatorLibrary& library = open_library(library_name, operation);
  const auto fail = [&](const char* cause) {
    throw Error(Errc::communicator_failed, operation, device.describe(), fmt::format("{} {}", peers->name_of(0), cause));
  };
  std::optional<CommunicatorId> id;
  if (position.mpi == nullptr && library_name != "gloo") {
    id = collectives::made_by_first(
        position.rank, [&] { return library.create_id(device); },
        [&](auto& message) {
          if (position.rank == 0) return peers->publish("id", {reinterpret_cast<const char*>(&message), sizeof(message)});
          const auto bytes = peers->value_of(0, "id", deadline);
          if (!bytes || bytes->size() != sizeof(message)) fail("has ended, or was too late with the id");
          std::memcpy(&message, bytes->data(), sizeof(message));
        });
    if (!id) fail("could not create an id; see its error");
  }
  Device* const one = &device;
  CommunicatorPtr made = library
                             .create({.devices = {&one, 1},
                                      .first_rank = position.rank,
                                      .ranks = position.ranks,
                                      .id = id ? &*id : nullptr,
                                      .mpi = position.mpi,
                                      .members = position.members,
                                      .peers = peers.get(),
                                      .timeout = timeout_of(options),
                                      .deadline = deadline})
                             .front();
  auto& impl = static_cast<CommunicatorImpl&>(*made);
  impl.set_name(fmt::format("epoch{}", position.epoch));
  impl.set_peers(peers);
  return made;
}

std::uint64_t meet(const char* operation, collectives::Peers& peers, std::span<const int> members, const std::string& object,
                   Clock::time_point deadline) {
  try {
    return peers.meet(members, deadline);
  } catch (const Error& error) {
    throw Error(error.errc(), operation, object, error.detail());
  }
}

std::string place_of(const LaunchEnvironment& launch) {
  return fmt::format("rank {} of {} ({})", launch.rank, launch.ranks, launch.launcher);
}

constexpr const char* mpi_remedy = "start the program by mpirun of MPICH or Open MPI, or by srun --mpi=pmix or --mpi=pmi2";
constexpr const char* without_store = "its ranks share no store; create it by Communicator::from_environment";

// Whether the launcher starts MPI.
bool starts_mpi() {
  return support::environment("PMI_RANK") || support::environment("PMIX_RANK") ||
         support::environment("OMPI_COMM_WORLD_RANK") || support::environment("MV2_COMM_WORLD_RANK");
}

// Opens Gloo, for processes whose launcher does not start MPI.
void open_gloo(const char* operation, const LaunchEnvironment& launch) {
  try {
    open_library("gloo", operation);
  } catch (const Error& error) {
    throw Error(Errc::unsupported, operation, place_of(launch),
                fmt::format("the processes have no library for their collectives: host devices of several processes need "
                            "Gloo, or MPI, which {} does not start; install MPICH or Open MPI, and {}; or install Gloo: {}",
                            launch.launcher == "shell" ? "this shell" : launch.launcher, mpi_remedy, error.detail()));
  }
}

// Opens MPI, and checks that its ranks are the launcher's: a process that MPI's launcher has not started is alone in MPI.
CommunicatorLibrary& open_mpi(const char* operation, const LaunchEnvironment& launch) {
  if (!starts_mpi()) {
    throw Error(Errc::unsupported, operation, place_of(launch),
                fmt::format("the library mpi needs a launcher that starts MPI, which {} does not; install MPICH or Open "
                            "MPI, and {}",
                            launch.launcher == "shell" ? "this shell" : launch.launcher, mpi_remedy));
  }
  CommunicatorLibrary& mpi = open_library("mpi", operation);
  const CommunicatorLibrary::MpiPlace place = mpi.mpi_place({});
  if (place.rank != launch.rank || place.size != launch.ranks) {
    throw Error(Errc::invalid_environment, operation, place_of(launch),
                fmt::format("in MPI this process is rank {} of {}, so another MPI than the launcher's was opened "
                            "(WEIR_MPI), or the launcher did not start MPI; {}",
                            place.rank, place.size, mpi_remedy));
  }
  return mpi;
}

}  // namespace

CommunicatorPtr Communicator::from_environment(Device& device, const CommunicatorOptions& options) {
  const char* const operation = "Communicator::from_environment";
  detail::enter(operation);
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const LaunchEnvironment launch = LaunchEnvironment::read();
  if (launch.ranks == 1) {
    Device* const one = &device;
    if (options.library == "mpi") return from_mpi(device, {}, options);
    const bool is_gloo = library_for(operation, device, options, "host") == "gloo";
    return from_devices({&one, 1}, {.library = is_gloo ? "" : options.library, .timeout = options.timeout}).front();
  }
  // MPI's variables that torchrun has inherited are not those of its processes.
  const bool has_mpi = starts_mpi() && launch.launcher != "torchrun";
  const std::string library = library_for(operation, device, options, has_mpi ? "mpi" : "gloo");
  if (library == "host") {
    throw Error(Errc::invalid_argument, operation, device.describe(),
                "the library host works only within one process; use gloo or mpi");
  }
  if (library == "gloo" && options.library.empty()) open_gloo(operation, launch);
  const MpiCommunicator world;
  store::Broadcast broadcast;
  if (library == "mpi" || !store::has_address(launch)) {
    if (library != "mpi" && !starts_mpi()) {
      throw Error(Errc::invalid_environment, operation, place_of(launch),
                  "MASTER_ADDR and MASTER_PORT are not both set, so rank 0 cannot be found; set them, on one machine to "
                  "localhost and a free port");
    }
    CommunicatorLibrary& mpi = open_mpi(operation, launch);
    broadcast = [&](std::span<std::byte> bytes) { mpi.mpi_broadcast(world, bytes); };
  }
  // MPI's own start has no limit, and may take long on a busy machine.
  const Clock::time_point deadline = meeting_deadline(options);
  const auto all = store::connect(launch, broadcast, deadline);
  const std::uint64_t epoch = meet(operation, *all, {}, place_of(launch), deadline);
  std::vector<int> ranks(static_cast<std::size_t>(launch.ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  return create_among(operation, device, library,
                      {.rank = launch.rank,
                       .ranks = launch.ranks,
                       .mpi = library == "mpi" ? &world : nullptr,
                       .members = {},
                       .epoch = epoch},
                      all->group(ranks, fmt::format("{}", epoch)), deadline, options);
}

std::vector<int> Communicator::survivors() const {
  const auto all = static_cast<const CommunicatorImpl&>(*this).peers();
  if (!all) throw Error(Errc::unsupported, "Communicator::survivors", describe(), without_store);
  std::vector<int> result;
  for (int rank = 0; rank < size_; ++rank) {
    if (!all->is_dead(rank)) result.push_back(rank);
  }
  return result;
}

CommunicatorPtr Communicator::rebuild(std::span<const int> members, const CommunicatorOptions& options) {
  const char* const operation = "Communicator::rebuild";
  detail::enter(operation);
  const auto refuse = [&](Errc code, std::string_view cause) { throw Error(code, operation, describe(), cause); };
  const auto all = impl().peers();
  if (!all || !all->can_meet()) refuse(Errc::unsupported, without_store);
  const auto own = std::find(members.begin(), members.end(), rank_);
  if (own == members.end())
    refuse(Errc::invalid_argument, fmt::format("the list of members does not contain rank {}", rank_));
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i] < 0 || members[i] >= size_)
      refuse(Errc::invalid_argument, fmt::format("rank {} does not exist; the ranks are 0 to {}", members[i], size_ - 1));
    if (std::count(members.begin(), members.end(), members[i]) != 1)
      refuse(Errc::invalid_argument, fmt::format("rank {} is in the list of members twice", members[i]));
  }
  const std::string library = library_.substr(0, library_.find(' '));
  impl().fail("Communicator::rebuild was called");
  const Clock::time_point deadline = meeting_deadline(options);
  const std::uint64_t epoch = meet(operation, *all, members, describe(), deadline);
  MpiCommunicator parent;
  if (library == "mpi") parent = MpiCommunicator(native_handle());
  return create_among(operation, *device_, library,
                      {.rank = static_cast<int>(own - members.begin()),
                       .ranks = static_cast<int>(members.size()),
                       .mpi = library == "mpi" ? &parent : nullptr,
                       .members = members,
                       .epoch = epoch},
                      all->group(members, fmt::format("{}", epoch)), deadline, options);
}

}  // namespace weir
