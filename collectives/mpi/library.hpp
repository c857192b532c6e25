// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "weir/plugin/communicator.hpp"

/// Opens MPI at run time, without the header of any MPI. A handle is a pointer in some MPIs and a number in others. Here it
/// has 64 bits: both fit, and both are passed in the same register.
namespace weir::mpi {

using Handle = std::uint64_t;

/// X(name, parameters): MPI's functions. All return an error code; 0 is success.
#define WEIR_MPI_FUNCTIONS(X)                                                                                              \
  X(Initialized, (int* flag))                                                                                              \
  X(Finalized, (int* flag))                                                                                                \
  X(Init_thread, (int* argc, char*** argv, int wanted, int* provided))                                                     \
  X(Query_thread, (int* provided))                                                                                         \
  X(Finalize, ())                                                                                                          \
  X(Error_string, (int code, char* text, int* length))                                                                     \
  X(Get_library_version, (char* text, int* length))                                                                        \
  X(Comm_dup, (Handle comm, Handle * copy))                                                                                \
  X(Comm_split, (Handle comm, int color, int key, Handle* part))                                                           \
  X(Comm_free, (Handle * comm))                                                                                            \
  X(Comm_group, (Handle comm, Handle * group))                                                                             \
  X(Group_incl, (Handle group, int count, const int* ranks, Handle* subgroup))                                             \
  X(Group_free, (Handle * group))                                                                                          \
  X(Comm_create_group, (Handle comm, Handle group, int tag, Handle* made))                                                 \
  X(Comm_rank, (Handle comm, int* rank))                                                                                   \
  X(Comm_size, (Handle comm, int* size))                                                                                   \
  X(Comm_set_errhandler, (Handle comm, Handle handler))                                                                    \
  X(Op_create, (void (*function)(void*, void*, int*, void*), int commutes, Handle* op))                                    \
  X(Bcast, (void* data, int count, Handle type, int root, Handle comm))                                                    \
  X(Iallreduce, (const void* send, void* receive, int count, Handle type, Handle op, Handle comm, Handle* request))        \
  X(Ireduce, (const void* send, void* receive, int count, Handle type, Handle op, int root, Handle comm, Handle* request)) \
  X(Ireduce_scatter_block,                                                                                                 \
    (const void* send, void* receive, int count, Handle type, Handle op, Handle comm, Handle* request))                    \
  X(Ibcast, (void* data, int count, Handle type, int root, Handle comm, Handle* request))                                  \
  X(Iallgather, (const void* send, int sent, Handle send_type, void* receive, int received, Handle receive_type,           \
                 Handle comm, Handle* request))                                                                            \
  X(Ialltoall, (const void* send, int sent, Handle send_type, void* receive, int received, Handle receive_type,            \
                Handle comm, Handle* request))                                                                             \
  X(Isend, (const void* data, int count, Handle type, int to, int tag, Handle comm, Handle* request))                      \
  X(Irecv, (void* data, int count, Handle type, int from, int tag, Handle comm, Handle* request))                          \
  X(Ibarrier, (Handle comm, Handle * request))                                                                             \
  X(Test, (Handle * request, int* flag, void* status))                                                                     \
  X(Get_count, (const void* status, Handle type, int* count))

struct Api {
#define WEIR_MPI_MEMBER(name, parameters) int(*name) parameters = nullptr;
  WEIR_MPI_FUNCTIONS(WEIR_MPI_MEMBER)
#undef WEIR_MPI_MEMBER
  // Values that differ between MPIs.
  Handle world = 0, self = 0, null = 0, errors_return = 0;
  Handle types[10] = {};      ///< in the order of ElementType; the two 16-bit types are moved as integers
  Handle operations[4] = {};  ///< sum, prod, min, max
  void* in_place = nullptr;
  bool takes_cuda_memory = false, takes_hip_memory = false;
};

inline constexpr int thread_multiple = 3;

class Library final : public CommunicatorLibrary {
 public:
  /// Opens the MPI that the process has loaded, or else the one in WEIR_MPI, or else the first installed one. Initializes it
  /// if necessary. Throws `driver_not_found`, `driver_too_old`, `driver_failed`, or `unsupported` for an unknown MPI or one
  /// without MPI_THREAD_MULTIPLE.
  Library();

  const Api& api() const noexcept { return api_; }
  /// Describes the library: "mpi Open MPI v4.1.4 (/usr/lib/…)".
  const std::string& label() const noexcept { return label_; }
  /// Returns MPI's operation for reducing elements of this type. Not for 16-bit types.
  Handle operation(ElementType type, Reduction reduction) const noexcept;
  NativeError native_error(int code) const;
  void check(int code, const char* function) const;

  std::vector<CommunicatorPtr> create(const CommunicatorRequest& request) override;
  MpiPlace mpi_place(const MpiCommunicator& communicator) override;
  void mpi_broadcast(const MpiCommunicator& communicator, std::span<std::byte> bytes) override;

 private:
  Handle handle_of(const MpiCommunicator& communicator) const;
  void initialize();
  void make_operations();

  Api api_;
  std::string label_;
  Handle number_operations_[2][2] = {};  // min and max for float32 and float64
};

}  // namespace weir::mpi
