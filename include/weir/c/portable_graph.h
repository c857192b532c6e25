// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_PORTABLE_GRAPH_H
#define WEIR_C_PORTABLE_GRAPH_H

#include "weir/c/base.h"
#include "weir/c/graph.h"
#include "weir/c/memory.h"

/// @file
/// The C interface: graphs saved in files, to be loaded by another process, on another machine or another vendor's
/// device. docs/graph-files.md.

WEIR_C_BEGIN

// --- Saving -------------------------------------------------------------------------------------------------------------

/// Begins a capture like `weir_stream_begin_capture`, and records its operations, so that `weir_graph_save` can save the
/// graph. Each operation of the capture takes some microseconds longer; launches of the graph do not. Launch kernels by
/// `weir_stream_launch_typed`, which distinguishes addresses from other arguments, and name all host functions.
WEIR_C_API weir_result weir_stream_begin_portable_capture(weir_stream* stream, weir_capture_mode mode);

/// How named memory is provided when a graph is loaded.
typedef enum weir_memory_role WEIR_C_ENUM {
  WEIR_ROLE_BOUND = 0,     ///< `weir_portable_graph_bind_memory` sets it
  WEIR_ROLE_SCRATCH = 1,   ///< allocated with undefined contents, unless it is bound
  WEIR_ROLE_CONTENTS = 2,  ///< allocated with the contents at the time of saving, unless it is bound
} weir_memory_role;

/// Memory that a graph uses, and its name in the file. The structure never grows.
typedef struct weir_named_memory {
  const char* name;       ///< for binding the memory after loading
  const void* data;       ///< the first byte
  size_t bytes;           ///< its size
  weir_memory_kind kind;  ///< the kind to allocate after loading
  weir_memory_role role;  ///< how it is provided after loading
} weir_named_memory;

/// Writes the graph to `file`, which `weir_device_load_graph` reads on any device of any vendor. `memory` has `count` names,
/// for all memory that the graph uses, except its own allocations. Only this user can access the file; an existing file is
/// replaced. Fails with `WEIR_ERROR_UNSUPPORTED` for a graph that was not captured as portable, and for a node that cannot
/// be saved, with the node and the reason; with `WEIR_ERROR_INVALID_ARGUMENT` for an address outside of all named memory;
/// with `WEIR_ERROR_BACKEND_FAILURE` if the file cannot be written.
WEIR_C_API weir_result weir_graph_save(const weir_graph* graph, const char* file, const weir_named_memory* memory,
                                       size_t count);
/// The same, but `bytes` gets the file's content, `size` bytes, to be freed with `weir_free`.
WEIR_C_API weir_result weir_graph_save_bytes(const weir_graph* graph, const weir_named_memory* memory, size_t count,
                                             void** bytes, size_t* size);

// --- Loading ------------------------------------------------------------------------------------------------------------

/// Reads a graph that `weir_graph_save` wrote, on this device or another one, and loads its kernels. `graph` gets a
/// reference. A graph is code, so the file must be a regular file that only this user, or root, can write. Fails with
/// `WEIR_ERROR_INVALID_IMAGE`, with the fault; with `WEIR_ERROR_BACKEND_FAILURE` if it cannot be read; and like
/// `weir_module_load_bundle`. Feature `graph_capture`.
WEIR_C_API weir_result weir_device_load_graph(weir_device* device, const char* file, weir_portable_graph** graph);
/// The same for the file's bytes, which must be as trustworthy as the program.
WEIR_C_API weir_result weir_device_load_graph_bytes(weir_device* device, const void* bytes, size_t size,
                                                    weir_portable_graph** graph);
/// Adds a reference and returns the graph.
WEIR_C_API weir_portable_graph* weir_portable_graph_retain(weir_portable_graph* graph);
/// Releases a reference. Graphs built from it stay valid.
WEIR_C_API void weir_portable_graph_release(weir_portable_graph* graph);
/// The device that its kernels are loaded on.
WEIR_C_API weir_device* weir_portable_graph_device(const weir_portable_graph* graph);
/// Where the graph was captured: "cuda sm_90".
WEIR_C_API const char* weir_portable_graph_captured_on(const weir_portable_graph* graph);
/// "cuda:0 portable graph of 12 operations", to be freed with `weir_free`.
WEIR_C_API weir_result weir_portable_graph_describe(const weir_portable_graph* graph, char** text);

/// Named memory of a loaded graph.
typedef struct weir_portable_memory {
  size_t struct_size;     ///< `sizeof(weir_portable_memory)`
  size_t bytes;           ///< its required size
  size_t alignment;       ///< its required alignment, at most 256
  weir_memory_kind kind;  ///< the kind to allocate
  weir_memory_role role;  ///< how it is provided
  void* data;             ///< the bound or allocated memory; null before
} weir_portable_memory;

/// The number of names of memory.
WEIR_C_API weir_result weir_portable_graph_memory_count(const weir_portable_graph* graph, size_t* count);
/// Memory number `index`, from 0, in the order of the call to `weir_graph_save`. `memory`: its `struct_size` is set; `name`
/// gets the name, to be freed with `weir_free`. Either may be null. Fails with `WEIR_ERROR_INVALID_ARGUMENT` for an index
/// that is out of range.
WEIR_C_API weir_result weir_portable_graph_get_memory(const weir_portable_graph* graph, size_t index,
                                                      weir_portable_memory* memory, char** name);
/// The number of names of host functions.
WEIR_C_API weir_result weir_portable_graph_host_function_count(const weir_portable_graph* graph, size_t* count);
/// The name of host function number `index`, from 0, to be freed with `weir_free`. Fails like
/// `weir_portable_graph_get_memory`.
WEIR_C_API weir_result weir_portable_graph_get_host_function(const weir_portable_graph* graph, size_t index, char** name);

// The functions below are for one thread at a time.

/// Sets the memory for a name in graphs that are built from now on. It must live while they run. Fails with
/// `WEIR_ERROR_INVALID_ARGUMENT` for an unknown name, for fewer bytes than were saved and for a smaller alignment.
WEIR_C_API weir_result weir_portable_graph_bind_memory(weir_portable_graph* graph, const char* name, void* data,
                                                       size_t bytes);
/// Sets the function for a host function's name. `destroy(user_data)`, if not null, is called exactly once: when neither
/// `graph`, nor a graph built from it, nor an executable can call the function any longer, or if this call fails. Fails with
/// `WEIR_ERROR_INVALID_ARGUMENT` for an unknown name.
WEIR_C_API weir_result weir_portable_graph_bind_host_function(weir_portable_graph* graph, const char* name,
                                                              void (*function)(void* user_data),
                                                              void (*destroy)(void* user_data), void* user_data);
/// Captures the graph's work with the present bindings, for `weir_graph_instantiate`. `built` gets a reference. On the same
/// vendor, nodes have the same numbers as in the original capture. Memory of the roles scratch and contents lives as long as
/// `graph`, the graphs built from it, and their executables. Fails with `WEIR_ERROR_INVALID_ARGUMENT` for names that are not
/// bound; and like the stream calls that made the nodes: `WEIR_ERROR_UNSUPPORTED` if this device lacks a feature.
WEIR_C_API weir_result weir_portable_graph_build(weir_portable_graph* graph, weir_graph** built);

WEIR_C_END

#endif
