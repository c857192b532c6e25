// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>

#include "collectives/libraries.hpp"
#include "core/runtime/thread_state.hpp"
#include "weir/backend.hpp"
#include "weir/plugin/support.hpp"
#include "weir/plugin/communicator.hpp"
#include "weir/device.hpp"

/// Creates communicators: from the devices of one process, or for one rank with an id, a rendezvous file or MPI.
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
  constexpr std::string_view known[] = {"nccl", "rccl", "host"};
  const bool is_known = std::find(std::begin(known), std::end(known), options.library) != std::end(known);
  throw Error(
      Errc::invalid_argument, operation, device.describe(),
      fmt::format("{} '{}'; for devices of the backend {} use {} or mpi, or let Weir choose",
                  is_known ? "these devices cannot use the library" : "unknown library", options.library, backend, own));
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

std::string system_text(int error) { return std::generic_category().message(error); }

// Writes the file atomically, so that readers never see an incomplete file.
void write_id(const char* operation, const std::string& path, const CommunicatorId& id) {
  const std::string partial = fmt::format("{}.{}", path, ::getpid());
  const auto throw_error = [&](const char* what) {
    const int error = errno;
    ::unlink(partial.c_str());
    throw Error(Errc::invalid_argument, operation, path, fmt::format("{}: {}", what, system_text(error)));
  };
  const int file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) throw_error("the file cannot be written");
  const bool written = ::write(file, id.bytes.data(), id.bytes.size()) == static_cast<ssize_t>(id.bytes.size());
  if (::close(file) != 0 || !written) throw_error("the file cannot be written");
  // link() fails if the file exists. Then it comes from another run, and its id is no longer valid.
  if (::link(partial.c_str(), path.c_str()) != 0) {
    throw_error(errno == EEXIST
                    ? "the file exists, perhaps from an earlier run; remove it, or use a different path for each run"
                    : "the file cannot be written");
  }
  ::unlink(partial.c_str());
}

CommunicatorId read_id(const char* operation, const std::string& path, std::chrono::milliseconds timeout) {
  const auto begin = std::chrono::steady_clock::now();
  CommunicatorId id;
  for (;;) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
      const ssize_t size = ::read(file, id.bytes.data(), id.bytes.size());
      ::close(file);
      if (size == static_cast<ssize_t>(id.bytes.size())) return id;
      throw Error(Errc::invalid_argument, operation, path,
                  "the file does not contain an id; use a different path for each run");
    }
    if (errno != ENOENT) {
      throw Error(Errc::invalid_argument, operation, path, "the file cannot be read: " + system_text(errno));
    }
    if (timeout.count() != 0 && std::chrono::steady_clock::now() - begin > timeout) {
      throw Error(
          Errc::communicator_failed, operation, path,
          fmt::format("rank 0 has not written the file within {} ms; check that it is running and uses the same folder",
                      timeout.count()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

std::vector<CommunicatorPtr> Communicator::from_devices(std::span<Device* const> devices,
                                                        const CommunicatorOptions& options) {
  const char* const operation = "Communicator::from_devices";
  detail::enter(operation);
  check_devices(operation, devices);
  const std::string library = library_for(operation, *devices[0], options, "host");
  if (library == "mpi") {
    throw Error(Errc::invalid_argument, operation, "library mpi", "with MPI each process has one rank; use from_mpi");
  }
  return open_library(library, operation)
      .create({.devices = devices, .ranks = static_cast<int>(devices.size()), .timeout = options.timeout});
}

CommunicatorId Communicator::create_id(Device& device, const CommunicatorOptions& options) {
  const char* const operation = "Communicator::create_id";
  detail::enter(operation);
  return open_library(library_for(operation, device, options, "host"), operation).create_id(device);
}

std::vector<CommunicatorPtr> Communicator::from_id(std::span<Device* const> devices, int first_rank, int ranks,
                                                   const CommunicatorId& id, const CommunicatorOptions& options) {
  const char* const operation = "Communicator::from_id";
  detail::enter(operation);
  check_devices(operation, devices);
  check_ranks(operation, devices.size(), first_rank, ranks);
  return open_library(library_for(operation, *devices[0], options, "host"), operation)
      .create({.devices = devices, .first_rank = first_rank, .ranks = ranks, .id = &id, .timeout = options.timeout});
}

CommunicatorPtr Communicator::from_id(Device& device, int rank, int ranks, const CommunicatorId& id,
                                      const CommunicatorOptions& options) {
  Device* const one = &device;
  return from_id(std::span(&one, 1), rank, ranks, id, options).front();
}

CommunicatorPtr Communicator::from_file(Device& device, int rank, int ranks, const std::string& path,
                                        const CommunicatorOptions& options) {
  const char* const operation = "Communicator::from_file";
  detail::enter(operation);
  check_ranks(operation, 1, rank, ranks);
  // If the library does not support ids, each rank throws here, so that no rank waits for the file.
  const std::string name = library_for(operation, device, options, "host");
  CommunicatorLibrary& library = open_library(name, operation);
  if (name == "host" || name == "mpi") library.create_id(device);
  if (rank != 0) return from_id(device, rank, ranks, read_id(operation, path, options.timeout), options);
  const CommunicatorId id = create_id(device, options);
  write_id(operation, path, id);
  struct Removal {
    const std::string& file;
    ~Removal() { ::unlink(file.c_str()); }
  } const removal{path};
  return from_id(device, rank, ranks, id, options);
}

CommunicatorPtr Communicator::from_mpi(Device& device, const MpiCommunicator& communicator,
                                       const CommunicatorOptions& options) {
  const char* const operation = "Communicator::from_mpi";
  detail::enter(operation);
  const std::string library = library_for(operation, device, options, "mpi");
  if (library == "host") {
    throw Error(Errc::invalid_argument, operation, device.describe(),
                "the library host works only within one process; use mpi");
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
                 .timeout = options.timeout})
        .front();
  }
  // If rank 0 cannot make an id, it sends the error instead, so that the other ranks do not wait.
  struct Message {
    CommunicatorId id;
    bool is_there = false;
  } message;
  std::exception_ptr failure;
  if (place.rank == 0) {
    try {
      message = {create_id(device, options), true};
    } catch (...) {
      failure = std::current_exception();
    }
  }
  mpi.mpi_broadcast(communicator, std::as_writable_bytes(std::span(&message, 1)));
  if (failure) std::rethrow_exception(failure);
  if (!message.is_there) {
    throw Error(Errc::communicator_failed, operation, device.describe(), "rank 0 could not create an id; see its error");
  }
  return from_id(device, place.rank, place.size, message.id, options);
}

}  // namespace weir
