// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_GRAPH_H
#define WEIR_C_GRAPH_H

#include "weir/c/base.h"
#include "weir/c/module.h"

/// @file
/// The C interface: captures, which record the work of streams instead of running it, and graphs, which are the result and
/// can be launched many times.

WEIR_C_BEGIN

// --- Captures -----------------------------------------------------------------------------------------------------------

/// Which calls are allowed until the capture ends (cudaStreamCaptureMode). "Unsafe" calls are calls that may make the driver
/// synchronize: `weir_allocation_create`, blocking copies, queries of events and waits for events.
typedef enum weir_capture_mode WEIR_C_ENUM {
  WEIR_CAPTURE_GLOBAL = 0,        ///< no thread may make unsafe calls
  WEIR_CAPTURE_THREAD_LOCAL = 1,  ///< the capturing thread may not make unsafe calls
  WEIR_CAPTURE_RELAXED = 2,       ///< all threads may make unsafe calls, and any thread may end the capture
} weir_capture_mode;

/// Whether a stream captures (cudaStreamCaptureStatus).
typedef enum weir_capture_status WEIR_C_ENUM {
  WEIR_CAPTURE_NONE = 0,
  WEIR_CAPTURE_ACTIVE = 1,
  WEIR_CAPTURE_INVALIDATED = 2,  ///< an error invalidated the capture; it must be ended, which fails
} weir_capture_status;

/// Begins a capture: work submitted to `stream` becomes part of a graph instead of running. Another stream that waits for
/// the captured work joins the capture: its later work is also captured. The capture lasts until `weir_stream_end_capture`,
/// or until the stream is closed. No other thread may submit work to the stream meanwhile. Fails with
/// `WEIR_ERROR_ALREADY_CAPTURING`; `WEIR_ERROR_CAPTURE_UNSUPPORTED` for the legacy default stream. Feature `graph_capture`.
/// (cudaStreamBeginCapture)
WEIR_C_API weir_result weir_stream_begin_capture(weir_stream* stream, weir_capture_mode mode);
/// Ends the capture; `graph` gets a reference to the captured graph. Fails with
/// `WEIR_ERROR_NOT_CAPTURING`; after `WEIR_ERROR_CAPTURE_UNMATCHED`, if another stream began it, and
/// `WEIR_ERROR_CAPTURE_WRONG_THREAD` the capture continues; after `WEIR_ERROR_CAPTURE_UNJOINED` and
/// `WEIR_ERROR_CAPTURE_INVALIDATED` it has ended. (cudaStreamEndCapture)
WEIR_C_API weir_result weir_stream_end_capture(weir_stream* stream, weir_graph** graph);
/// Ends the capture that this stream began, and drops the captured work. On GPUs only the thread that began the capture may
/// call this, unless its mode is `WEIR_CAPTURE_RELAXED`. Fails like `weir_stream_end_capture`.
WEIR_C_API weir_result weir_stream_discard_capture(weir_stream* stream);
/// Whether the stream captures. `id`, if not null, is set to the capture's id, which is unique for the life of the process,
/// or to 0. `graph`, if not null, gets a reference to the graph that is being built, or null; read the graph before the
/// capture ends, then release it. This call never invalidates the capture. (cudaStreamGetCaptureInfo)
WEIR_C_API weir_result weir_stream_capture_info(const weir_stream* stream, weir_capture_status* status, uint64_t* id,
                                                weir_graph** graph);
/// Begins a capture that adds to `graph`: the new work runs after the graph's last nodes. `weir_stream_end_capture` returns
/// the same graph. Until then the graph cannot be instantiated, cloned or added as a child. Feature `capture_into_graph`.
/// (cudaStreamBeginCaptureToGraph)
WEIR_C_API weir_result weir_stream_resume_capture(weir_stream* stream, weir_graph* graph, weir_capture_mode mode);
/// Adds a copy of `graph` as one node of the graph being captured. Fails with `WEIR_ERROR_NOT_CAPTURING`;
/// `WEIR_ERROR_UNSUPPORTED` for a graph that allocates memory. Feature `graph_child_nodes`. (cudaGraphAddChildGraphNode)
WEIR_C_API weir_result weir_stream_add_child_graph(weir_stream* stream, const weir_graph* graph);
/// Adds a conditional node to the graph being captured. When a launch reaches the node, it runs the node's body if the value
/// at `condition` is not zero. The device must be able to read `condition`. To capture the body, this function calls
/// `body(stream, user_data)` once before it returns; the work that `body` submits to its `stream` becomes the node's body.
/// `body` may call Weir. If it does not return `WEIR_SUCCESS`, this function returns the same result. Fails with
/// `WEIR_ERROR_NOT_CAPTURING`. Feature `graph_conditional_nodes`. (cudaGraphCondTypeIf)
WEIR_C_API weir_result weir_stream_capture_if(weir_stream* stream, const uint32_t* condition,
                                              weir_result (*body)(weir_stream* stream, void* user_data), void* user_data);
/// Like `weir_stream_capture_if`, but repeats the body while the value is not zero. (cudaGraphCondTypeWhile)
WEIR_C_API weir_result weir_stream_capture_while(weir_stream* stream, const uint32_t* condition,
                                                 weir_result (*body)(weir_stream* stream, void* user_data), void* user_data);
/// Like `weir_stream_capture_if`, with a second body that runs if the value is zero. Feature `graph_switch_nodes`.
WEIR_C_API weir_result weir_stream_capture_if_else(weir_stream* stream, const uint32_t* condition,
                                                   weir_result (*body)(weir_stream* stream, void* user_data),
                                                   weir_result (*otherwise)(weir_stream* stream, void* user_data),
                                                   void* user_data);
/// Adds a conditional node with `count` bodies. A launch runs the body whose number equals the value at `condition`, and no
/// body if the value is `count` or more. This function calls `body(stream, number, user_data)` once for each number from 0
/// to `count` - 1. Fails like `weir_stream_capture_if`, and with `WEIR_ERROR_INVALID_ARGUMENT` if `count` is 0. Feature
/// `graph_switch_nodes`. (cudaGraphCondTypeSwitch)
WEIR_C_API weir_result weir_stream_capture_switch(weir_stream* stream, const uint32_t* condition, size_t count,
                                                  weir_result (*body)(weir_stream* stream, size_t number, void* user_data),
                                                  void* user_data);
/// The number of the node that `stream` captured last. Its next work depends on that node. Numbers are those of
/// `weir_graph_get_nodes`. Fails with `WEIR_ERROR_NOT_CAPTURING`; `WEIR_ERROR_INVALID_ARGUMENT` if the next work depends on
/// no node, or on several nodes, which is possible after a wait. (cudaStreamGetCaptureInfo)
WEIR_C_API weir_result weir_stream_last_captured_node(const weir_stream* stream, uint32_t* node);
/// Makes the next work of `stream` depend on exactly these `count` nodes of the graph being captured; with 0 nodes, the next
/// work depends on nothing. Use this to build a graph with explicit edges. Fails with `WEIR_ERROR_NOT_CAPTURING`;
/// `WEIR_ERROR_INVALID_ARGUMENT` for a node that does not exist. (cudaStreamUpdateCaptureDependencies)
WEIR_C_API weir_result weir_stream_set_capture_dependencies(weir_stream* stream, const uint32_t* nodes, size_t count);

// --- Graphs -------------------------------------------------------------------------------------------------------------

/// What a node of a graph does (cudaGraphNodeType). Later releases append to the list.
typedef enum weir_node_kind WEIR_C_ENUM {
  WEIR_NODE_KERNEL = 0,
  WEIR_NODE_COPY = 1,
  WEIR_NODE_FILL = 2,
  WEIR_NODE_HOST_FUNCTION = 3,
  WEIR_NODE_CHILD_GRAPH = 4,
  WEIR_NODE_EMPTY = 5,
  WEIR_NODE_EVENT_RECORD = 6,
  WEIR_NODE_EVENT_WAIT = 7,
  WEIR_NODE_MEMORY_OPERATIONS = 8,
  WEIR_NODE_ALLOCATE = 9,
  WEIR_NODE_FREE = 10,
  WEIR_NODE_CONDITIONAL = 11,
  WEIR_NODE_OTHER = 12,
} weir_node_kind;

/// An edge of a graph: node number `to` runs after node number `from`.
typedef struct weir_graph_edge {
  uint32_t from, to;
} weir_graph_edge;

/// Adds a reference and returns the graph.
WEIR_C_API weir_graph* weir_graph_retain(weir_graph* graph);
/// Releases a reference. Executables do not need their graph. (cudaGraphDestroy)
WEIR_C_API void weir_graph_release(weir_graph* graph);
/// The device that the graph was captured on.
WEIR_C_API weir_device* weir_graph_device(const weir_graph* graph);
/// The vendor's graph (cudaGraph_t, hipGraph_t). This object still owns it.
WEIR_C_API void* weir_graph_native_handle(const weir_graph* graph);
/// Describes the graph: "cuda:0 graph 0x7f…". Free the text with `weir_free`.
WEIR_C_API weir_result weir_graph_describe(const weir_graph* graph, char** text);
/// The kinds of the graph's nodes, in the order of the capture; a child graph is one node. A node's number is its index in
/// this list. Writes at most `capacity` kinds to `kinds`, which may be null if `capacity` is 0, and the total number of
/// nodes to `count`. (cudaGraphGetNodes)
WEIR_C_API weir_result weir_graph_get_nodes(const weir_graph* graph, size_t capacity, weir_node_kind* kinds, size_t* count);
/// Writes at most `capacity` of the graph's edges to `edges`, which may be null if `capacity` is 0, and the total number of
/// edges to `count`. Node numbers are those of `weir_graph_get_nodes`. (cudaGraphGetEdges)
WEIR_C_API weir_result weir_graph_get_edges(const weir_graph* graph, size_t capacity, weir_graph_edge* edges, size_t* count);
/// The graph in Graphviz's DOT language, to be freed with `weir_free`. Feature `graph_debug_dot`. (cudaGraphDebugDotPrint)
WEIR_C_API weir_result weir_graph_debug_dot(const weir_graph* graph, char** text);
/// An independent copy that shares the host functions. `clone` gets a reference. Fails with `WEIR_ERROR_UNSUPPORTED` for a
/// graph that allocates memory. Feature `graph_clone`. (cudaGraphClone)
WEIR_C_API weir_result weir_graph_clone(const weir_graph* graph, weir_graph** clone);

// --- Executable graphs --------------------------------------------------------------------------------------------------

/// The options of an executable; combine them with `|`.
typedef enum weir_instantiate_flags WEIR_C_ENUM {
  WEIR_INSTANTIATE_DEFAULT = 0,
  /// Without this flag, each launch frees memory that the previous launch allocated and did not free. With this flag, the
  /// program must free that memory with the vendor's call (cudaFreeAsync) before the next launch.
  WEIR_INSTANTIATE_NO_AUTO_FREE = 1,
} weir_instantiate_flags;

/// Makes an executable graph. The graph may be empty, and need not outlive the executable. `flags`: bits of
/// `weir_instantiate_flags`. `exec` gets a reference. Fails with `WEIR_ERROR_UNSUPPORTED` for a graph that allocates memory
/// and has another executable. (cudaGraphInstantiate)
WEIR_C_API weir_result weir_graph_instantiate(const weir_graph* graph, uint32_t flags, weir_graph_exec** exec);
/// Adds a reference and returns the executable.
WEIR_C_API weir_graph_exec* weir_graph_exec_retain(weir_graph_exec* exec);
/// Releases a reference. Running launches continue. (cudaGraphExecDestroy)
WEIR_C_API void weir_graph_exec_release(weir_graph_exec* exec);
/// The device of the streams that can launch it.
WEIR_C_API weir_device* weir_graph_exec_device(const weir_graph_exec* exec);
/// The vendor's executable, valid until the next update, which may replace it.
WEIR_C_API void* weir_graph_exec_native_handle(const weir_graph_exec* exec);
/// Describes the executable graph: "cuda:0 executable graph 0x7f…". Free the text with `weir_free`.
WEIR_C_API weir_result weir_graph_exec_describe(const weir_graph_exec* exec, char** text);
/// Enqueues one run of the whole graph on `stream`, which must belong to the graph's device (`WEIR_ERROR_WRONG_DEVICE`).
/// Launches of one executable run one after another. On a capturing stream the graph becomes a child node instead; this
/// fails with `WEIR_ERROR_UNSUPPORTED` if the graph allocates memory. (cudaGraphLaunch)
WEIR_C_API weir_result weir_graph_exec_launch(weir_graph_exec* exec, weir_stream* stream);
/// Does the driver's preparations for the first launch now, in the order of `stream`, so that the launch takes less time.
/// Feature `graph_upload`. (cudaGraphUpload)
WEIR_C_API weir_result weir_graph_exec_upload(weir_graph_exec* exec, weir_stream* stream);
/// Replaces the parameters of all nodes by the parameters of `graph`, which must have the same nodes and edges. Later
/// launches use the new parameters; running launches do not. If the graphs differ in shape, fails with
/// `WEIR_ERROR_GRAPH_UPDATE_FAILED` and changes nothing. Feature `graph_update`. (cudaGraphExecUpdate)
WEIR_C_API weir_result weir_graph_exec_update(weir_graph_exec* exec, const weir_graph* graph);

/// The kind of a change to a node.
typedef enum weir_node_change_kind WEIR_C_ENUM {
  WEIR_CHANGE_KERNEL = 0,  ///< the node launches another kernel, shape or arguments
  WEIR_CHANGE_COPY = 1,    ///< the node copies other memory, as many bytes as were captured or fewer
  WEIR_CHANGE_FILL = 2,    ///< the node fills other memory
  WEIR_CHANGE_ENABLE = 3,  ///< the node runs again
  WEIR_CHANGE_DISABLE = 4, ///< the node does nothing
} weir_node_change_kind;

/// One change of a node. Fields that `kind` does not use are ignored. Later releases add no fields, because the structure is
/// used in arrays and has no `struct_size`.
typedef struct weir_node_change {
  weir_node_change_kind kind;
  uint32_t node;        ///< the node's number, as in `weir_graph_get_nodes`
  weir_kernel* kernel;  ///< this and the next four fields are for a kernel; see `weir_stream_launch`
  const weir_launch_config* config;  ///< its flags and cluster are ignored: the node keeps the captured ones
  void* const* arguments;            ///< copied
  const size_t* sizes;               ///< sizes of the arguments in bytes, or null
  size_t argument_count;
  void* destination;   ///< for a copy or a fill
  const void* source;  ///< for a copy
  size_t count;        ///< for a copy: bytes; for a fill: elements
  uint32_t element_size;  ///< for a fill: 1, 2 or 4 bytes
  uint32_t value;         ///< for a fill: the low `element_size` bytes are used
} weir_node_change;

/// Changes `count` nodes in one call: kernels, copies of contiguous memory, or fills. Later launches use the changed nodes.
/// Node numbers are those of the graph that `exec` was made from. If a change does not fit its node, fails with
/// `WEIR_ERROR_GRAPH_UPDATE_FAILED` and changes nothing. If the driver rejects a change, the earlier ones remain; the
/// message contains their number. Feature `graph_node_changes`. (cudaGraphExecKernelNodeSetParams,
/// cudaGraphExecMemcpyNodeSetParams, cudaGraphExecMemsetNodeSetParams, cudaGraphNodeSetEnabled)
WEIR_C_API weir_result weir_graph_exec_apply(weir_graph_exec* exec, const weir_node_change* changes, size_t count);

WEIR_C_END

#endif
