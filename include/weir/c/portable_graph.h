// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_PORTABLE_GRAPH_H
#define WEIR_C_PORTABLE_GRAPH_H

#include "weir/c/base.h"
#include "weir/c/graph.h"
#include "weir/c/memory.h"

/// @file
/// The C interface: graphs that travel to a file, and from there to another process, machine or vendor. docs/graph-files.md.

WEIR_C_BEGIN

// --- Saving -------------------------------------------------------------------------------------------------------------

/// Begins a capture as `weir_stream_begin_capture` does, and writes down what is captured, so that `weir_graph_save` can
/// save the graph. Each operation of the capture costs microseconds more, launches of the graph nothing. Kernels must be
/// launched by `weir_stream_launch_typed`, which tells what is an address, and host functions must have names.
WEIR_C_API weir_result weir_stream_begin_portable_capture(weir_stream* stream, weir_capture_mode mode);

/// What becomes of named memory where a graph is loaded.
typedef enum weir_memory_role WEIR_C_ENUM {
  WEIR_ROLE_BOUND = 0,     ///< `weir_portable_graph_bind_memory` says which memory it is
  WEIR_ROLE_SCRATCH = 1,   ///< it is allocated with undefined contents, unless it is bound
  WEIR_ROLE_CONTENTS = 2,  ///< it is allocated with the contents of when the graph was saved, unless it is bound
} weir_memory_role;

/// Memory that a graph uses, and its name in the file. Does not grow.
typedef struct weir_named_memory {
  const char* name;       ///< by which it is bound where the graph is loaded
  const void* data;       ///< the first byte
  size_t bytes;           ///< its size
  weir_memory_kind kind;  ///< what is allocated in its place where the graph is loaded
  weir_memory_role role;  ///< what becomes of it there
} weir_named_memory;

/// Writes the graph to `file`, which `weir_device_load_graph` reads on any device of any vendor. `memory` has `count` names,
/// for all memory that the graph uses, except what it allocates itself. The file is this user's alone; a former one is
/// replaced. Fails with `WEIR_ERROR_UNSUPPORTED` for a graph of another capture than a portable one, and for a node that
/// cannot travel, saying which and why; with `WEIR_ERROR_INVALID_ARGUMENT` for an address in no memory that has a name; with
/// `WEIR_ERROR_BACKEND_FAILURE` if the file cannot be written.
WEIR_C_API weir_result weir_graph_save(const weir_graph* graph, const char* file, const weir_named_memory* memory,
                                       size_t count);
/// The same, but `bytes` gets what the file would have, `size` bytes, for the caller to free by `weir_free`.
WEIR_C_API weir_result weir_graph_save_bytes(const weir_graph* graph, const weir_named_memory* memory, size_t count,
                                             void** bytes, size_t* size);

// --- Loading ------------------------------------------------------------------------------------------------------------

/// Reads a graph that `weir_graph_save` wrote, on this device or another one, and loads its kernels. `graph` gets a
/// reference. A graph is code, so the file must be a regular one that nobody but this user, or root, can write. Fails with
/// `WEIR_ERROR_INVALID_IMAGE`, saying what is wrong with it; with `WEIR_ERROR_BACKEND_FAILURE` if it cannot be read; and as
/// `weir_module_load_bundle`. Feature `graph_capture`.
WEIR_C_API weir_result weir_device_load_graph(weir_device* device, const char* file, weir_portable_graph** graph);
/// The same for the file's bytes, which must be as trustworthy as the program.
WEIR_C_API weir_result weir_device_load_graph_bytes(weir_device* device, const void* bytes, size_t size,
                                                    weir_portable_graph** graph);
/// Adds an owner, and returns the graph.
WEIR_C_API weir_portable_graph* weir_portable_graph_retain(weir_portable_graph* graph);
/// Gives a reference back. Graphs that were built of it go on.
WEIR_C_API void weir_portable_graph_release(weir_portable_graph* graph);
/// The device that its kernels are loaded on.
WEIR_C_API weir_device* weir_portable_graph_device(const weir_portable_graph* graph);
/// Where the graph was captured: "cuda sm_90".
WEIR_C_API const char* weir_portable_graph_captured_on(const weir_portable_graph* graph);
/// "cuda:0 portable graph of 12 operations", for the caller to free by `weir_free`.
WEIR_C_API weir_result weir_portable_graph_describe(const weir_portable_graph* graph, char** text);

/// Named memory of a graph that was loaded.
typedef struct weir_portable_memory {
  size_t struct_size;     ///< `sizeof(weir_portable_memory)`
  size_t bytes;           ///< how many it needs
  size_t alignment;       ///< of its address when it was saved; up to 256
  weir_memory_kind kind;  ///< what is allocated in its place
  weir_memory_role role;  ///< what becomes of it
  void* data;             ///< what is bound, or was allocated; null before
} weir_portable_memory;

/// How many names of memory there are.
WEIR_C_API weir_result weir_portable_graph_memory_count(const weir_portable_graph* graph, size_t* count);
/// Memory number `index`, from 0, in the order in which `weir_graph_save` was given it. `memory`: its `struct_size` is set;
/// `name` gets the name, for the caller to free by `weir_free`. Either may be null. Fails with
/// `WEIR_ERROR_INVALID_ARGUMENT` for an index that is out of range.
WEIR_C_API weir_result weir_portable_graph_get_memory(const weir_portable_graph* graph, size_t index,
                                                      weir_portable_memory* memory, char** name);
/// How many names of host functions there are.
WEIR_C_API weir_result weir_portable_graph_host_function_count(const weir_portable_graph* graph, size_t* count);
/// The name of host function number `index`, from 0, for the caller to free by `weir_free`. Fails as
/// `weir_portable_graph_get_memory`.
WEIR_C_API weir_result weir_portable_graph_get_host_function(const weir_portable_graph* graph, size_t index, char** name);

// What follows is for one thread at a time.

/// Says which memory a name stands for in graphs that are built from now on. It must live while they run. Fails with
/// `WEIR_ERROR_INVALID_ARGUMENT` for a name that is not there, for fewer bytes than were saved and for a lesser alignment.
WEIR_C_API weir_result weir_portable_graph_bind_memory(weir_portable_graph* graph, const char* name, void* data,
                                                       size_t bytes);
/// Says what a host function's name stands for. `destroy(user_data)`, if not null, is called exactly once: when neither
/// `graph`, nor a graph that was built of it, nor an executable can call the function any more, and if this call fails.
/// Fails with `WEIR_ERROR_INVALID_ARGUMENT` for a name that is not there.
WEIR_C_API weir_result weir_portable_graph_bind_host_function(weir_portable_graph* graph, const char* name,
                                                              void (*function)(void* user_data),
                                                              void (*destroy)(void* user_data), void* user_data);
/// Captures the graph's work with what is bound now, for `weir_graph_instantiate`. `built` gets a reference. Nodes have the
/// numbers that they had where the graph was captured, if the vendor is the same. Memory of the roles scratch and contents
/// lives as long as `graph`, what was built of it, and its executables. Fails with `WEIR_ERROR_INVALID_ARGUMENT`, naming
/// what is not bound; and as the calls of streams that made the nodes: `WEIR_ERROR_UNSUPPORTED` where this device lacks a
/// feature.
WEIR_C_API weir_result weir_portable_graph_build(weir_portable_graph* graph, weir_graph** built);

WEIR_C_END

#endif
