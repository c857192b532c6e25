// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_PORTABLE_GRAPH_H
#define WEIR_C_PORTABLE_GRAPH_H

#include "weir/c/base.h"
#include "weir/c/graph.h"
#include "weir/c/memory.h"

/// @file
/// The C interface: graphs saved in files. Another process can load them, on another machine or on another vendor's device.
/// See docs/graph-files.md.

WEIR_C_BEGIN

// --- Saving -------------------------------------------------------------------------------------------------------------

/// Begins a capture like `weir_stream_begin_capture`, and also records the operations, so that `weir_graph_save` can save
/// the graph. Each operation of the capture takes some microseconds longer; launches of the graph do not. Inside the
/// capture, launch kernels with `weir_stream_launch_typed`, so that addresses can be distinguished from other arguments, and
/// give every host function a name.
WEIR_C_API weir_result weir_stream_begin_portable_capture(weir_stream* stream, weir_capture_mode mode);

/// Where a loaded graph gets a piece of named memory from.
typedef enum weir_memory_role WEIR_C_ENUM {
  WEIR_ROLE_BOUND = 0,     ///< the program must bind memory with `weir_portable_graph_bind_memory`
  WEIR_ROLE_SCRATCH = 1,   ///< Weir allocates memory with undefined contents, unless the program binds some
  WEIR_ROLE_CONTENTS = 2,  ///< Weir allocates memory with the contents at the time of saving, unless the program binds some
} weir_memory_role;

/// Memory that a graph uses, and its name in the file. Later releases add no fields, because the structure is used in arrays
/// and has no `struct_size`.
typedef struct weir_named_memory {
  const char* name;       ///< the name for `weir_portable_graph_bind_memory`
  const void* data;       ///< the first byte
  size_t bytes;           ///< the size in bytes
  weir_memory_kind kind;  ///< the kind to allocate after loading
  weir_memory_role role;  ///< where a loaded graph gets the memory from
} weir_named_memory;

/// Writes the graph to `file`. `weir_device_load_graph` can read it on any device of any vendor. `memory` contains `count`
/// elements, which name all memory that the graph uses, except memory that the graph itself allocates. Replaces an existing
/// file. Only this user can access the new one. Fails with `WEIR_ERROR_UNSUPPORTED` for a graph that was not captured with
/// `weir_stream_begin_portable_capture`, and for a node that cannot be saved, with the reason; with
/// `WEIR_ERROR_INVALID_ARGUMENT` for a node whose address is in none of the named memory; with `WEIR_ERROR_BACKEND_FAILURE`
/// if the file cannot be written.
WEIR_C_API weir_result weir_graph_save(const weir_graph* graph, const char* file, const weir_named_memory* memory,
                                       size_t count);
/// Like `weir_graph_save`, but stores the file's content in memory: `bytes` is set to `size` bytes. Free them with
/// `weir_free`.
WEIR_C_API weir_result weir_graph_save_bytes(const weir_graph* graph, const weir_named_memory* memory, size_t count,
                                             void** bytes, size_t* size);

// --- Loading ------------------------------------------------------------------------------------------------------------

/// Reads a graph that `weir_graph_save` wrote, on this device or another one, and loads its kernels. `graph` gets a
/// reference. A graph is code, so the file must be a regular file that only this user, or root, can write. Fails with
/// `WEIR_ERROR_INVALID_IMAGE` for an invalid file; with `WEIR_ERROR_BACKEND_FAILURE` if the file cannot be read; otherwise
/// like `weir_module_load_bundle`. Feature `graph_capture`.
WEIR_C_API weir_result weir_device_load_graph(weir_device* device, const char* file, weir_portable_graph** graph);
/// Like `weir_device_load_graph`, for the bytes of a graph file. Load only bytes that you trust like your own code.
WEIR_C_API weir_result weir_device_load_graph_bytes(weir_device* device, const void* bytes, size_t size,
                                                    weir_portable_graph** graph);
/// Adds a reference and returns the graph.
WEIR_C_API weir_portable_graph* weir_portable_graph_retain(weir_portable_graph* graph);
/// Releases a reference. Graphs that were built from it remain valid.
WEIR_C_API void weir_portable_graph_release(weir_portable_graph* graph);
/// The device that the graph's kernels are loaded on.
WEIR_C_API weir_device* weir_portable_graph_device(const weir_portable_graph* graph);
/// The backend and the architecture that captured the graph: "cuda sm_90".
WEIR_C_API const char* weir_portable_graph_captured_on(const weir_portable_graph* graph);
/// Describes the graph: "cuda:0 portable graph of 12 operations". Free the text with `weir_free`.
WEIR_C_API weir_result weir_portable_graph_describe(const weir_portable_graph* graph, char** text);

/// Named memory of a loaded graph.
typedef struct weir_portable_memory {
  size_t struct_size;     ///< `sizeof(weir_portable_memory)`
  size_t bytes;           ///< the required size in bytes
  size_t alignment;       ///< the required alignment in bytes, at most 256
  weir_memory_kind kind;  ///< the kind to allocate
  weir_memory_role role;  ///< where the memory comes from
  void* data;             ///< the bound or allocated memory, or null
} weir_portable_memory;

/// The number of pieces of named memory.
WEIR_C_API weir_result weir_portable_graph_memory_count(const weir_portable_graph* graph, size_t* count);
/// Describes the named memory number `index`, from 0, in the order of the call to `weir_graph_save`. `memory`: set its
/// `struct_size` before the call. `name` is set to the name, to be freed with `weir_free`. Either may be null. Fails with
/// `WEIR_ERROR_INVALID_ARGUMENT` if `index` is out of range.
WEIR_C_API weir_result weir_portable_graph_get_memory(const weir_portable_graph* graph, size_t index,
                                                      weir_portable_memory* memory, char** name);
/// The number of different names of host functions in the graph.
WEIR_C_API weir_result weir_portable_graph_host_function_count(const weir_portable_graph* graph, size_t* count);
/// The name of host function number `index`, from 0, to be freed with `weir_free`. Fails like
/// `weir_portable_graph_get_memory`.
WEIR_C_API weir_result weir_portable_graph_get_host_function(const weir_portable_graph* graph, size_t index, char** name);

// Only one thread at a time may call the functions below with one graph.

/// Sets the memory that graphs built from now on use for `name`. It must live while these graphs run. Fails with
/// `WEIR_ERROR_INVALID_ARGUMENT` for an unknown name, and if `bytes` or the alignment of `data` is smaller than required.
WEIR_C_API weir_result weir_portable_graph_bind_memory(weir_portable_graph* graph, const char* name, void* data,
                                                       size_t bytes);
/// Sets the host function that graphs built from now on call for `name`. `destroy(user_data)`, if not null, is called
/// exactly once: if this call fails, or else as soon as no graph and no executable can call the function any longer. Fails
/// with `WEIR_ERROR_INVALID_ARGUMENT` for an unknown name.
WEIR_C_API weir_result weir_portable_graph_bind_host_function(weir_portable_graph* graph, const char* name,
                                                              void (*function)(void* user_data),
                                                              void (*destroy)(void* user_data), void* user_data);
/// Makes a graph with the present bindings, for `weir_graph_instantiate`. `built` gets a reference. On the vendor that
/// captured the graph, nodes have the same numbers as in the original capture. Memory that Weir allocated for the roles
/// `WEIR_ROLE_SCRATCH` and `WEIR_ROLE_CONTENTS` lives as long as `graph`, the graphs built from it, and their executables.
/// Fails with `WEIR_ERROR_INVALID_ARGUMENT` if a name is not bound; with `WEIR_ERROR_UNSUPPORTED` if this device lacks a
/// feature that a node needs; otherwise like the stream functions that captured the nodes.
WEIR_C_API weir_result weir_portable_graph_build(weir_portable_graph* graph, weir_graph** built);

WEIR_C_END

#endif
