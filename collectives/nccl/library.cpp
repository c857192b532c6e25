// SPDX-License-Identifier: Apache-2.0
#include "collectives/nccl/library.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/base/library.hpp"
#include "collectives/nccl/communicator.hpp"
#include "weir/plugin/support.hpp"
#include "weir/device.hpp"

namespace weir::nccl {

namespace {

std::string version_text(int version) {
  // Since 2.9, release 2.28.9 is encoded as 22809. Earlier, 2.8.4 was 2804.
  if (version < 10000) return fmt::format("{}.{}.{}", version / 1000, version % 1000 / 100, version % 100);
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

constexpr const char* result_name(int result) {
  constexpr const char* names[] = {"ncclSuccess",       "ncclUnhandledCudaError", "ncclSystemError",
                                   "ncclInternalError", "ncclInvalidArgument",    "ncclInvalidUsage",
                                   "ncclRemoteError",   "ncclInProgress",         "ncclTimeout"};
  return result >= 0 && static_cast<std::size_t>(result) < std::size(names) ? names[result] : "ncclResult_t";
}

// Owns new communicators until they are handed over. The library may write to this array until the end of the group.
struct Handles {
  Handles(const Api& api_of_all, std::size_t count) : api(api_of_all), all(count) {}
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    for (const CommHandle comm : all) {
      if (comm != nullptr) api.CommAbort(comm);
    }
  }
  const Api& api;
  std::vector<CommHandle> all;
};

}  // namespace

Library::Library(const Vendor& vendor) : vendor_(vendor) {
  const auto throw_error = [&](Errc code, const std::string& cause) { throw Error(code, "", "", cause); };
  const std::optional<std::string> wanted = support::environment_path(vendor.variable);
  // If the process has loaded a copy of the library, use that: two copies would each assume that they own the GPUs.
  const std::string loaded = detail::loaded_library(vendor.names.back());
  std::vector<std::string> names;
  if (!loaded.empty()) {
    std::error_code error;
    if (wanted && !std::filesystem::equivalent(*wanted, loaded, error)) {
      throw_error(Errc::driver_failed,
                  fmt::format("{} is set to {}, but the process has already loaded {}; one process cannot use two copies, "
                              "so unset the variable, or make the other code load the same file",
                              vendor.variable, *wanted, loaded));
    }
    names.push_back(loaded);
  } else if (wanted) {
    names.push_back(*wanted);
  } else {
    names.assign(vendor.names.begin(), vendor.names.end());
  }
  std::vector<LoadAttempt> attempts;
  const std::optional<detail::Library> library = detail::Library::open(names, attempts);
  if (!library) {
    throw_error(
        Errc::driver_not_found,
        fmt::format("the library could not be opened: {}; {}, and set {} to its path or add its folder to LD_LIBRARY_PATH",
                    detail::list_attempts(attempts), vendor.remedy, vendor.variable));
  }
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = library->find_as<std::remove_reference_t<decltype(function)>>(name);
    if (function == nullptr) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
  };
#define WEIR_NCCL_FIND(name, parameters) find(api_.name, "nccl" #name);
  WEIR_NCCL_FUNCTIONS(WEIR_NCCL_FIND)
#undef WEIR_NCCL_FIND
  api_.CommSplit = library->find_as<decltype(api_.CommSplit)>("ncclCommSplit");
  find(api_.GetErrorString, "ncclGetErrorString");
  find(api_.GetLastError, "ncclGetLastError");
  if (!missing.empty()) {
    throw_error(Errc::driver_too_old,
           fmt::format("{} lacks {}; Weir needs release 2.14 or later: {}", library->path(), missing, vendor.remedy));
  }
  int version = 0;
  if (const int result = api_.GetVersion(&version); result != success) {
    throw Error(Errc::driver_failed, "", "", library->path() + " does not report its version",
                native_error(result, nullptr));
  }
  label_ = fmt::format("{} {} ({})", vendor.name, version_text(version), library->path());
}

NativeError Library::native_error(int result, CommHandle comm) const {
  std::string text = api_.GetErrorString(result);
  if (const char* const last = api_.GetLastError(comm); last != nullptr && *last != '\0') {
    std::string more(last);
    while (!more.empty() && (more.back() == '\n' || more.back() == ' ')) more.pop_back();
    text += ": " + more;
  }
  return {.code = result, .name = result_name(result), .message = std::move(text)};
}

CommunicatorId Library::create_id(Device& device) {
  const auto current = vendor_.make_current(device);
  UniqueId id;
  if (const int result = api_.GetUniqueId(&id); result != success) {
    throw Error(Errc::backend_failure, "Communicator::create_id", label_, "the library could not create an id",
                native_error(result, nullptr));
  }
  CommunicatorId made;
  static_assert(sizeof(id) == sizeof(made.bytes));
  std::memcpy(made.bytes.data(), &id, sizeof(id));
  return made;
}

std::vector<CommunicatorPtr> Library::create(const CommunicatorRequest& request) {
  UniqueId id;
  const CommunicatorId bytes = request.id != nullptr ? *request.id : create_id(*request.devices[0]);
  std::memcpy(&id, bytes.bytes.data(), sizeof(id));
  const bool blocking = request.timeout.count() == 0;
  Handles handles(api_, request.devices.size());
  std::vector<CommHandle>& comms = handles.all;
  const auto throw_error = [&](int result) {
    const bool misuse = result == invalid_argument || result == invalid_usage;
    if (result == in_progress) {
      throw Error(
          Errc::communicator_failed, "Communicator::from_id", label_,
          fmt::format("not all of the {} ranks have called this within {} ms", request.ranks, request.timeout.count()));
    }
    throw Error(misuse ? Errc::backend_failure : Errc::communicator_failed, "Communicator::from_id", label_,
                "the library could not create the communicator (for details set NCCL_DEBUG=WARN)",
                native_error(result, nullptr));
  };
  // Everything that can throw must come before the group begins. If a group ended early, the library would wait for the
  // missing ranks.
  std::vector<std::shared_ptr<void>> current(comms.size());  // the first device's is made last, and ended first
  try {
    for (std::size_t i = current.size(); i-- > 0;) current[i] = vendor_.make_current(*request.devices[i]);
  } catch (...) {
    for (std::shared_ptr<void>& made : current) made.reset();  // a vector's destructor may end them in another order
    throw;
  }
  int result = api_.GroupStart();
  for (std::size_t i = 0; i < comms.size() && (result == success || result == in_progress); ++i) {
    Config config;
    config.blocking = blocking ? 1 : 0;
    result = api_.CommInitRankConfig(&comms[i], request.ranks, id, request.first_rank + static_cast<int>(i), &config);
    current[i].reset();
  }
  for (std::shared_ptr<void>& left : current) left.reset();
  const int end = api_.GroupEnd();
  if (result == success || result == in_progress) result = end;
  if (result != success && result != in_progress) throw_error(result);
  if (!blocking) {
    const auto limit = std::min(std::chrono::steady_clock::now() + request.timeout, request.deadline);
    for (const CommHandle comm : comms) {
      if (const int state = settle(api_, comm, limit); state != success) throw_error(state);
    }
  }
  std::vector<CommunicatorPtr> all;
  all.reserve(comms.size());
  for (std::size_t i = 0; i < comms.size(); ++i) {
    all.push_back(make_ptr<Communicator>(*this, *request.devices[i], request.first_rank + static_cast<int>(i), request.ranks,
                                     comms[i], request.timeout));
    comms[i] = nullptr;  // the communicator owns it now
  }
  return all;
}

}  // namespace weir::nccl
