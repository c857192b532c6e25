// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// The functions of NCCL that Weir calls. RCCL has the same names, types and numbers, so one implementation is enough. They
/// are declared here so that the build needs neither vendor's header; tests compare the declarations with both headers.
namespace weir::nccl {

struct Comm;  // ncclComm
using CommHandle = Comm*;
using NativeStream = void*;  // cudaStream_t, hipStream_t

struct UniqueId {
  char internal[128];
};

/// The first fields of ncclConfig_t, which `size` and `version` identify. All releases since 2.14 accept them.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 1;
};

// Values of ncclResult_t.
inline constexpr int success = 0, invalid_argument = 4, invalid_usage = 5, in_progress = 7;
// Values of ncclDataType_t, in the order of ElementType; and of ncclRedOp_t, in the order of Reduction.
inline constexpr int data_types[] = {0, 1, 2, 3, 4, 5, 6, 9, 7, 8};
inline constexpr int reductions[] = {0, 1, 3, 2, 4};

/// X(name, parameters): NCCL's functions. All return an ncclResult_t.
#define WEIR_NCCL_FUNCTIONS(X)                                                                                           \
  X(GetVersion, (int* version))                                                                                          \
  X(GetUniqueId, (UniqueId * id))                                                                                        \
  X(CommInitRankConfig, (CommHandle * comm, int ranks, UniqueId id, int rank, Config* config))                           \
  X(CommFinalize, (CommHandle comm))                                                                                     \
  X(CommDestroy, (CommHandle comm))                                                                                      \
  X(CommAbort, (CommHandle comm))                                                                                        \
  X(CommGetAsyncError, (CommHandle comm, int* error))                                                                    \
  X(CommCount, (CommHandle comm, int* ranks))                                                                            \
  X(CommUserRank, (CommHandle comm, int* rank))                                                                          \
  X(GroupStart, ())                                                                                                      \
  X(GroupEnd, ())                                                                                                        \
  X(AllReduce,                                                                                                           \
    (const void* send, void* receive, std::size_t count, int type, int reduction, CommHandle comm, NativeStream stream)) \
  X(Broadcast,                                                                                                           \
    (const void* send, void* receive, std::size_t count, int type, int root, CommHandle comm, NativeStream stream))      \
  X(Reduce, (const void* send, void* receive, std::size_t count, int type, int reduction, int root, CommHandle comm,     \
             NativeStream stream))                                                                                       \
  X(AllGather, (const void* send, void* receive, std::size_t count, int type, CommHandle comm, NativeStream stream))     \
  X(ReduceScatter,                                                                                                       \
    (const void* send, void* receive, std::size_t count, int type, int reduction, CommHandle comm, NativeStream stream)) \
  X(Send, (const void* data, std::size_t count, int type, int peer, CommHandle comm, NativeStream stream))               \
  X(Recv, (void* data, std::size_t count, int type, int peer, CommHandle comm, NativeStream stream))

/// The library's functions, found at run time. `CommSplit` is null in releases before 2.18. `GetErrorString` and
/// `GetLastError` return texts.
struct Api {
#define WEIR_NCCL_MEMBER(name, parameters) int(*name) parameters = nullptr;
  WEIR_NCCL_FUNCTIONS(WEIR_NCCL_MEMBER)
#undef WEIR_NCCL_MEMBER
  int (*CommSplit)(CommHandle comm, int color, int key, CommHandle* part, Config* config) = nullptr;
  const char* (*GetErrorString)(int result) = nullptr;
  const char* (*GetLastError)(CommHandle comm) = nullptr;
};

}  // namespace weir::nccl
