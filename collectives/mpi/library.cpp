// SPDX-License-Identifier: Apache-2.0
#include "collectives/mpi/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <stdlib.h>

#include <algorithm>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/base/library.hpp"
#include "collectives/host/reduce.hpp"
#include "collectives/mpi/communicator.hpp"
#include "collectives/mpi/progress.hpp"
#include "weir/plugin/support.hpp"
#include "weir/device.hpp"
#include "weir/plugin/plugin.hpp"

namespace weir::mpi {
namespace {

[[noreturn]] void throw_mpi_error(Errc code, const std::string& cause) { throw Error(code, "", "", cause); }

std::string file_of(void* handle) {
  const link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return "the program";
  return *map->l_name != '\0' ? map->l_name : "the program";
}

// Opens the MPI that the process has loaded, or else the one in WEIR_MPI, or else the launcher's.
void* open_mpi() {
  if (::dlsym(RTLD_DEFAULT, "MPI_Init_thread") != nullptr) return ::dlopen(nullptr, RTLD_NOW);
  for (const char* const name : {"libmpi.so", "libmpich.so"}) {  // loaded, but without global symbols
    const std::string loaded = detail::loaded_library(name);
    if (loaded.empty()) continue;
    if (void* const handle = ::dlopen(loaded.c_str(), RTLD_NOW | RTLD_GLOBAL)) return handle;
  }
  std::vector<std::string> names = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi.so"};
  // MPICH's launcher sets PMI_RANK, Open MPI's sets OMPI_COMM_WORLD_RANK.
  if (support::environment("PMI_RANK") && !support::environment("OMPI_COMM_WORLD_RANK"))
    std::rotate(names.begin(), names.begin() + 1, names.begin() + 3);
  if (const auto wanted = support::environment_path("WEIR_MPI")) names = {*wanted};
  std::vector<LoadAttempt> attempts;
  for (const std::string& name : names) {
    // RTLD_GLOBAL, because MPI's own plugins need its symbols.
    if (void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE)) return handle;
    const char* const message = ::dlerror();
    attempts.push_back({name, message != nullptr ? message : "the loader gave no reason"});
  }
  throw_mpi_error(Errc::driver_not_found,
                  fmt::format("MPI could not be opened: {}; install it (Debian: libopenmpi3), or set WEIR_MPI to its path",
                              detail::list_attempts(attempts)));
}

// Reduction functions (MPI_User_function) for min and max that prefer a number to a NaN. MPI's own functions do not define
// that case.
template <ElementType type, Reduction reduction>
void reduce_numbers(void* from, void* into, int* count, void*) {
  void* const results[] = {into};
  const void* const sources[] = {into, from};
  collectives::reduce(type, reduction, results, sources, static_cast<std::size_t>(*count));
}

// MPI matches collective calls on a communicator by their order. If two threads called at the same time, the order would be
// random, and each could receive the other's data. So this refuses the second thread.
class OneAtATime {
 public:
  OneAtATime(Handle communicator, const std::string& library) : communicator_(communicator) {
    const std::lock_guard lock(mutex);
    if (std::find(in_use.begin(), in_use.end(), communicator) != in_use.end()) {
      throw Error(Errc::invalid_argument, "Communicator::from_mpi", library,
                  "another thread of this process is creating a communicator from the same MPI communicator, so the "
                  "processes could match the two differently; create one after the other, in the same order in all "
                  "processes, or use a separate MPI communicator for each thread (MPI_Comm_dup)");
    }
    in_use.push_back(communicator);
  }
  ~OneAtATime() {
    const std::lock_guard lock(mutex);
    std::erase(in_use, communicator_);
  }
  OneAtATime(const OneAtATime&) = delete;
  OneAtATime& operator=(const OneAtATime&) = delete;

 private:
  static inline std::mutex mutex;
  static inline std::vector<Handle> in_use;
  const Handle communicator_;
};

Api at_exit;  // functions for finalizing MPI at exit, if Weir initialized it

}  // namespace

Library::Library() {
  void* const handle = open_mpi();
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (function == nullptr) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
  };
#define WEIR_MPI_FIND(name, parameters) find(api_.name, "MPI_" #name);
  WEIR_MPI_FUNCTIONS(WEIR_MPI_FIND)
#undef WEIR_MPI_FIND
  const std::string file = file_of(handle);
  if (!missing.empty())
    throw_mpi_error(Errc::driver_too_old, fmt::format("{} lacks {}; Weir needs MPI 3.0 or later", file, missing));

  // In Open MPI and derived MPIs, handles are addresses of objects.
  const auto address = [&](const char* name) { return reinterpret_cast<Handle>(::dlsym(handle, name)); };
  api_.world = address("ompi_mpi_comm_world");
  if (api_.world != 0) {
    const char* const types[] = {"ompi_mpi_int8_t",  "ompi_mpi_uint8_t",  "ompi_mpi_int32_t",  "ompi_mpi_uint32_t",
                                 "ompi_mpi_int64_t", "ompi_mpi_uint64_t", "ompi_mpi_uint16_t", "ompi_mpi_uint16_t",
                                 "ompi_mpi_float",   "ompi_mpi_double"};
    for (std::size_t i = 0; i < std::size(types); ++i) api_.types[i] = address(types[i]);
    const char* const operations[] = {"ompi_mpi_op_sum", "ompi_mpi_op_prod", "ompi_mpi_op_min", "ompi_mpi_op_max"};
    for (std::size_t i = 0; i < std::size(operations); ++i) api_.operations[i] = address(operations[i]);
    api_.self = address("ompi_mpi_comm_self");
    api_.null = address("ompi_mpi_comm_null");
    api_.errors_return = address("ompi_mpi_errors_return");
    api_.in_place = reinterpret_cast<void*>(1);
  } else if (::dlsym(handle, "MPIR_Dup_fn") != nullptr) {
    // In MPICH and the MPIs with its ABI (Intel MPI, MVAPICH, Cray MPI), handles are numbers that the ABI fixes.
    constexpr Handle types[] = {0x4c000137, 0x4c00013b, 0x4c000439, 0x4c00043d, 0x4c00083a,
                                0x4c00083e, 0x4c00023c, 0x4c00023c, 0x4c00040a, 0x4c00080b};
    for (std::size_t i = 0; i < std::size(types); ++i) api_.types[i] = types[i];
    constexpr Handle operations[] = {0x58000003, 0x58000004, 0x58000002, 0x58000001};
    for (std::size_t i = 0; i < std::size(operations); ++i) api_.operations[i] = operations[i];
    api_.world = 0x44000000;
    api_.self = 0x44000001;
    api_.null = 0x04000000;
    api_.errors_return = 0x54000001;
    api_.in_place = reinterpret_cast<void*>(-1);
  } else {
    throw_mpi_error(Errc::unsupported,
                    file + " is neither Open MPI nor an MPI with MPICH's ABI; set WEIR_MPI to one of these");
  }
  initialize();
  make_operations();
  // MPICH allows these queries only after initialization.
  const auto asks = [&](const char* name) {
    const auto query = reinterpret_cast<int (*)()>(::dlsym(handle, name));
    return query != nullptr && query() == 1;
  };
  api_.takes_cuda_memory = asks("MPIX_Query_cuda_support");
  api_.takes_hip_memory = asks("MPIX_Query_rocm_support") || asks("MPIX_Query_hip_support");
  char text[8192] = {};
  int length = 0;
  api_.Get_library_version(text, &length);
  std::string version(text, std::string_view(text).find_first_of(",\n"));
  std::replace(version.begin(), version.end(), '\t', ' ');
  label_ = fmt::format("mpi {}{}{} ({})", version, api_.takes_cuda_memory ? " with CUDA" : "",
                       api_.takes_hip_memory ? " with ROCm" : "", file);
}

void Library::initialize() {
  int is_initialized = 0, is_finalized = 0, level = 0;
  api_.Initialized(&is_initialized);
  api_.Finalized(&is_finalized);
  if (is_finalized != 0) throw_mpi_error(Errc::driver_failed, "MPI_Finalize was called; create communicators before");
  if (is_initialized == 0) {
    check(api_.Init_thread(nullptr, nullptr, thread_multiple, &level), "MPI_Init_thread");
    // MPI reports errors without a communicator on one of these two (in Open MPI, all errors of non-blocking collectives).
    // Their default handlers would end the process. With these handlers, only the communicator fails.
    check(api_.Comm_set_errhandler(api_.world, api_.errors_return), "MPI_Comm_set_errhandler");
    check(api_.Comm_set_errhandler(api_.self, api_.errors_return), "MPI_Comm_set_errhandler");
    // The library that initializes MPI must finalize it. But MPI_Finalize waits for the other ranks. After a communicator
    // has failed it would hang, and the launcher would not see the error status. The functions are copied, because this
    // object is destroyed if its constructor throws.
    at_exit = api_;
    const auto finalize = [](int status, void*) {
      int over = 0;
      at_exit.Finalized(&over);
      if (over == 0 && Progress::instance().stop() && status == EXIT_SUCCESS) at_exit.Finalize();
    };
    if (::on_exit(finalize, nullptr) != 0) throw_mpi_error(Errc::out_of_memory, "on_exit failed: memory is exhausted");
  } else {
    check(api_.Query_thread(&level), "MPI_Query_thread");
  }
  if (level < thread_multiple) {
    throw_mpi_error(Errc::unsupported, fmt::format("MPI was initialized with thread level {}, but collectives run on their "
                                                   "own thread; call MPI_Init_thread with MPI_THREAD_MULTIPLE ({})",
                                                   level, thread_multiple));
  }
}

void Library::make_operations() {
  using enum ElementType;
  using Function = void (*)(void*, void*, int*, void*);
  constexpr Function functions[2][2] = {{reduce_numbers<float32, Reduction::min>, reduce_numbers<float32, Reduction::max>},
                                        {reduce_numbers<float64, Reduction::min>, reduce_numbers<float64, Reduction::max>}};
  for (std::size_t type = 0; type < 2; ++type) {
    for (std::size_t i = 0; i < 2; ++i)
      check(api_.Op_create(functions[type][i], 1, &number_operations_[type][i]), "MPI_Op_create");
  }
}

Handle Library::operation(ElementType type, Reduction reduction) const noexcept {
  const bool is_floating = type == ElementType::float32 || type == ElementType::float64;
  if (is_floating && (reduction == Reduction::min || reduction == Reduction::max))
    return number_operations_[type == ElementType::float32 ? 0 : 1][reduction == Reduction::min ? 0 : 1];
  return api_.operations[reduction == Reduction::avg ? 0 : static_cast<std::size_t>(reduction)];
}

NativeError Library::native_error(int code) const {
  char text[1024] = {};
  int length = 0;
  api_.Error_string(code, text, &length);
  return {.code = code, .name = "MPI error", .message = text};
}

void Library::check(int code, const char* function) const {
  if (code != 0) throw Error(Errc::backend_failure, function, label_, "MPI reported an error", native_error(code));
}

Handle Library::handle_of(const MpiCommunicator& communicator) const {
  if (communicator.is_world) return api_.world;
  if (communicator.bits != 0 && communicator.bits != api_.null) return communicator.bits;
  throw Error(Errc::invalid_argument, "Communicator::from_mpi", label_,
              "the communicator is MPI_COMM_NULL, which MPI_Comm_split returns to processes outside the new communicator; "
              "call from_mpi only in its processes");
}

CommunicatorLibrary::MpiPlace Library::mpi_place(const MpiCommunicator& communicator) {
  MpiPlace place;
  check(api_.Comm_rank(handle_of(communicator), &place.rank), "MPI_Comm_rank");
  check(api_.Comm_size(handle_of(communicator), &place.size), "MPI_Comm_size");
  return place;
}

void Library::mpi_broadcast(const MpiCommunicator& communicator, std::span<std::byte> bytes) {
  const OneAtATime one(handle_of(communicator), label_);
  check(api_.Bcast(bytes.data(), static_cast<int>(bytes.size()), api_.types[0], 0, handle_of(communicator)), "MPI_Bcast");
}

std::vector<CommunicatorPtr> Library::create(const CommunicatorRequest& request) {
  const auto shared = std::make_shared<Shared>(*this, request.first_rank, request.ranks, request.timeout);
  {
    const OneAtATime one(handle_of(*request.mpi), label_);
    const Handle parent = handle_of(*request.mpi);
    if (request.members.empty()) {
      check(api_.Comm_dup(parent, &shared->comm), "MPI_Comm_dup");
    } else {  // only the members call this, so the others may be dead
      Handle all = 0, members = 0;
      check(api_.Comm_group(parent, &all), "MPI_Comm_group");
      check(api_.Group_incl(all, static_cast<int>(request.members.size()), request.members.data(), &members),
            "MPI_Group_incl");
      const int made = api_.Comm_create_group(parent, members, 0, &shared->comm);
      api_.Group_free(&all);
      api_.Group_free(&members);
      check(made, "MPI_Comm_create_group");
    }
  }
  // With MPI's default error handler, an error would end the process.
  check(api_.Comm_set_errhandler(shared->comm, api_.errors_return), "MPI_Comm_set_errhandler");
  return {make_ptr<Communicator>(*this, *request.devices[0], shared)};
}

}  // namespace weir::mpi

WEIR_PLUGIN_NOTE("comm_mpi", WEIR_VERSION_STRING)
weir::CommunicatorLibrary* weir_open_communicator_library() { return new weir::mpi::Library; }
