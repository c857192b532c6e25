// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_FEATURE_H
#define WEIR_C_FEATURE_H

#include "weir/c/base.h"

/// @file
/// The C interface: features, the capabilities that some backend, device or driver version lacks. docs/features.md
/// lists them.

WEIR_C_BEGIN

/// The capabilities that some devices lack, with the numbers of C++. Later releases append to the list.
typedef enum weir_feature WEIR_C_ENUM {
  WEIR_FEATURE_STREAM_PRIORITIES = 0,           ///< streams whose work is preferred over other streams'
  WEIR_FEATURE_PER_THREAD_DEFAULT_STREAM = 1,   ///< weir_stream_get_per_thread
  WEIR_FEATURE_NATIVE_CONTEXT = 2,              ///< weir_stream_native_context
  WEIR_FEATURE_STREAM_ID = 3,                   ///< weir_stream_id from the driver, as profilers show it
  WEIR_FEATURE_SYNCHRONIZATION_POLICY = 4,      ///< how a host thread waits in weir_stream_synchronize
  WEIR_FEATURE_ACCESS_POLICY_WINDOW = 5,        ///< an L2 persistence window on a stream
  WEIR_FEATURE_HOST_FUNCTIONS = 6,              ///< weir_stream_launch_host_function
  WEIR_FEATURE_STREAM_CALLBACKS = 7,            ///< weir_stream_add_callback, which also runs when the stream has failed
  WEIR_FEATURE_EVENT_TIMING = 8,                ///< weir_event_elapsed_time
  WEIR_FEATURE_BLOCKING_SYNC_EVENTS = 9,        ///< events whose weir_event_synchronize puts the host thread to sleep
  WEIR_FEATURE_INTERPROCESS_EVENTS = 10,        ///< events shared with another process
  WEIR_FEATURE_INTERPROCESS_MEMORY = 11,        ///< device memory shared with another process
  WEIR_FEATURE_GRAPH_CAPTURE = 12,              ///< weir_stream_begin_capture and weir_stream_end_capture
  WEIR_FEATURE_CAPTURE_INTO_GRAPH = 13,         ///< weir_stream_resume_capture: continuing a capture in a graph that exists
  WEIR_FEATURE_HOST_FUNCTIONS_IN_CAPTURE = 14,  ///< host functions as graph nodes
  WEIR_FEATURE_MEMORY_OPERATIONS_IN_CAPTURE = 15,  ///< write and wait values and their batches as graph nodes
  WEIR_FEATURE_GRAPH_UPDATE = 16,                  ///< weir_graph_exec_update
  WEIR_FEATURE_GRAPH_UPLOAD = 17,                  ///< weir_graph_exec_upload
  WEIR_FEATURE_GRAPH_DEBUG_DOT = 18,               ///< weir_graph_debug_dot
  WEIR_FEATURE_GRAPH_CLONE = 19,                   ///< weir_graph_clone
  WEIR_FEATURE_GRAPH_MEMORY_NODES = 20,            ///< stream-ordered allocation inside a capture
  WEIR_FEATURE_GRAPH_CHILD_NODES = 21,             ///< weir_stream_add_child_graph
  WEIR_FEATURE_GRAPH_CONDITIONAL_NODES = 22,       ///< weir_stream_capture_if and weir_stream_capture_while
  WEIR_FEATURE_GRAPH_NODE_CHANGES = 23,            ///< weir_graph_exec_apply: changes of single nodes
  WEIR_FEATURE_GRAPH_SWITCH_NODES = 24,            ///< weir_stream_capture_switch, weir_stream_capture_if_else
  WEIR_FEATURE_EXTERNAL_EVENTS = 25,       ///< event records and waits as graph nodes that order graphs against other work
  WEIR_FEATURE_CROSS_DEVICE_CAPTURE = 26,  ///< one capture that spans several devices
  WEIR_FEATURE_WRITE_VALUE_32 = 27,        ///< weir_stream_write_value32
  WEIR_FEATURE_WRITE_VALUE_64 = 28,        ///< weir_stream_write_value64
  WEIR_FEATURE_WAIT_VALUE_32 = 29,         ///< weir_stream_wait_value32, comparing with == and &
  WEIR_FEATURE_WAIT_VALUE_64 = 30,         ///< weir_stream_wait_value64, comparing with == and &
  WEIR_FEATURE_WAIT_VALUE_GEQ = 31,        ///< waits for values with >=, compared cyclically, so that counters may wrap
  WEIR_FEATURE_WAIT_VALUE_NOR = 32,        ///< waits for values with nor
  WEIR_FEATURE_WAIT_VALUE_FLUSH = 33,      ///< waits for values that flush remote writes before the stream continues
  WEIR_FEATURE_BATCH_MEMORY_OPERATIONS = 34,    ///< weir_stream_batch_memory_operations: several, contiguous in the stream
  WEIR_FEATURE_BATCH_COPIES = 35,               ///< weir_stream_copy_batch: many copies in one call
  WEIR_FEATURE_ASYNC_ALLOCATION = 36,           ///< weir_allocation_create_async
  WEIR_FEATURE_MEMORY_POOLS = 37,               ///< weir_memory_pool: pools of stream-ordered memory, with statistics
  WEIR_FEATURE_MEMORY_POOL_MAX_SIZE = 38,       ///< weir_memory_pool_options::max_size: pools with a maximum size
  WEIR_FEATURE_MANAGED_MEMORY = 39,             ///< memory that host and device use at the same address
  WEIR_FEATURE_CONCURRENT_MANAGED_ACCESS = 40,  ///< the host may access managed memory while the device works
  WEIR_FEATURE_MANAGED_ATTACH = 41,             ///< weir_stream_attach_memory
  WEIR_FEATURE_MANAGED_PREFETCH = 42,           ///< weir_stream_prefetch
  WEIR_FEATURE_HOST_REGISTRATION = 43,          ///< weir_host_registration_create: pinning existing memory
  WEIR_FEATURE_PEER_ACCESS = 44,                ///< kernels that address another device's memory
  WEIR_FEATURE_MODULES = 45,                    ///< weir_module_load
  WEIR_FEATURE_RUNTIME_COMPILATION = 46,        ///< weir_module_compile
  WEIR_FEATURE_COOPERATIVE_LAUNCH = 47,         ///< launches whose blocks can all wait for each other
  WEIR_FEATURE_CLUSTER_LAUNCH = 48,             ///< launches in thread block clusters
  WEIR_FEATURE_PROGRAMMATIC_LAUNCH = 49,        ///< kernels that begin before the previous one has ended
  WEIR_FEATURE_LAUNCH_PRIORITY = 50,            ///< a priority for one launch
  WEIR_FEATURE_PARTITIONS = 51,                 ///< streams that run on a part of the device: only in C++
  WEIR_FEATURE_BLOCK_COOPERATION = 52,          ///< kernels with shared memory, barriers and atomics within a block
} weir_feature;

/// How a device supports a feature.
typedef enum weir_support WEIR_C_ENUM {
  WEIR_SUPPORT_ABSENT = 0,
  WEIR_SUPPORT_EMULATED = 1,  ///< the same observable result by other means
  WEIR_SUPPORT_NATIVE = 2,
} weir_support;

/// The number of features that the library defines. Features are numbered from 0 to this number minus 1.
WEIR_C_API size_t weir_feature_count(void);
/// The feature's name, "graph_capture", as `WEIR_DISABLE_FEATURES` spells it; null for an invalid number. Static text.
WEIR_C_API const char* weir_feature_name(weir_feature feature);
/// A description of the feature, with C++ names; null for an invalid number. Static text.
WEIR_C_API const char* weir_feature_description(weir_feature feature);
/// Returns the feature of that name. Fails with `WEIR_ERROR_INVALID_ARGUMENT` for an unknown name.
WEIR_C_API weir_result weir_feature_parse(const char* name, weir_feature* feature);

WEIR_C_END

#endif
