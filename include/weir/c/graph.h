// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_GRAPH_H
#define WEIR_C_GRAPH_H

#include "weir/c/base.h"
#include "weir/c/module.h"

/// @file
/// The C interface: captures, which record work of streams instead of running it, and the resulting graphs.

WEIR_C_BEGIN

// --- Captures -----------------------------------------------------------------------------------------------------------

/// Which calls are allowed while a capture is open. "Unsafe" calls are those that may make the driver synchronize: memory
/// that is allocated at once, blocking copies, queries and waits (cudaStreamCaptureMode).
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

/// Begins a capture: work submitted to `stream` becomes part of a graph instead of running. So does work of other streams
/// after they have waited for the capture's work. Lasts until `weir_stream_end_capture`, or until the stream is closed. No
/// other thread may submit work to the stream meanwhile. Fails with `WEIR_ERROR_ALREADY_CAPTURING`;
/// `WEIR_ERROR_CAPTURE_UNSUPPORTED` for the legacy default stream. Feature `graph_capture`. (cudaStreamBeginCapture)
WEIR_C_API weir_result weir_stream_begin_capture(weir_stream* stream, weir_capture_mode mode);
/// Joins a capture that other code began on this stream: `weir_stream_end_capture` then leaves it open and returns null.
/// Joins nest. Fails with `WEIR_ERROR_NOT_CAPTURING`.
WEIR_C_API weir_result weir_stream_join_capture(weir_stream* stream);
/// Ends the capture; `graph` gets a reference to the captured graph, or null for a joined capture. Fails with
/// `WEIR_ERROR_NOT_CAPTURING`; `WEIR_ERROR_CAPTURE_UNMATCHED` if another stream began it and
/// `WEIR_ERROR_CAPTURE_WRONG_THREAD`, after which the capture continues; `WEIR_ERROR_CAPTURE_UNJOINED` and
/// `WEIR_ERROR_CAPTURE_INVALIDATED`, after which it has ended. (cudaStreamEndCapture)
WEIR_C_API weir_result weir_stream_end_capture(weir_stream* stream, weir_graph** graph);
/// Ends the capture that this stream began, in any mode, and drops the captured work. On GPUs only the thread that began it
/// may do so, unless the mode is relaxed. Fails like `weir_stream_end_capture`.
WEIR_C_API weir_result weir_stream_discard_capture(weir_stream* stream);
/// Whether the stream captures. `id`, if not null, gets a number of the capture that is unique for the life of the process,
/// or 0; `graph`, if not null, gets a reference to the graph that is being built, or null: read it before the capture ends,
/// and release it. The query never invalidates the capture. (cudaStreamGetCaptureInfo)
WEIR_C_API weir_result weir_stream_capture_info(const weir_stream* stream, weir_capture_status* status, uint64_t* id,
                                                weir_graph** graph);
/// Continues to capture into `graph`, after its leaves; `weir_stream_end_capture` returns the same graph. Until then the
/// graph cannot be instantiated, cloned or added as a child. Feature `capture_into_graph`. (cudaStreamBeginCaptureToGraph)
WEIR_C_API weir_result weir_stream_resume_capture(weir_stream* stream, weir_graph* graph, weir_capture_mode mode);
/// Adds a copy of `graph` as one node of the graph being captured. Fails with `WEIR_ERROR_NOT_CAPTURING`;
/// `WEIR_ERROR_UNSUPPORTED` for a graph that allocates memory. Feature `graph_child_nodes`. (cudaGraphAddChildGraphNode)
WEIR_C_API weir_result weir_stream_add_child_graph(weir_stream* stream, const weir_graph* graph);
/// Adds a conditional node: when a launch reaches it and the value at `condition`, which the device must be able to read, is
/// not zero, it runs its body. `body(stream, user_data)` is called once, before this call returns, with a stream that
/// captures the node's body; it may call Weir. If it does not return `WEIR_SUCCESS`, this call returns the same result.
/// Fails with `WEIR_ERROR_NOT_CAPTURING`. Feature `graph_conditional_nodes`. (cudaGraphCondTypeIf)
WEIR_C_API weir_result weir_stream_capture_if(weir_stream* stream, const uint32_t* condition,
                                              weir_result (*body)(weir_stream* stream, void* user_data), void* user_data);
/// The same, but repeats the body while the value is not zero. (cudaGraphCondTypeWhile)
WEIR_C_API weir_result weir_stream_capture_while(weir_stream* stream, const uint32_t* condition,
                                                 weir_result (*body)(weir_stream* stream, void* user_data), void* user_data);
/// `weir_stream_capture_if` with a second body, which runs if the value is zero. Feature `graph_switch_nodes`.
WEIR_C_API weir_result weir_stream_capture_if_else(weir_stream* stream, const uint32_t* condition,
                                                   weir_result (*body)(weir_stream* stream, void* user_data),
                                                   weir_result (*otherwise)(weir_stream* stream, void* user_data),
                                                   void* user_data);
/// Adds a node with `count` bodies: a launch runs the body whose number equals the value at `condition`; no body if the
/// value is `count` or more. `body(stream, number, user_data)` is called once for each number from 0. Fails like
/// `weir_stream_capture_if`, and with `WEIR_ERROR_INVALID_ARGUMENT` if `count` is 0. Feature `graph_switch_nodes`.
/// (cudaGraphCondTypeSwitch)
WEIR_C_API weir_result weir_stream_capture_switch(weir_stream* stream, const uint32_t* condition, size_t count,
                                                  weir_result (*body)(weir_stream* stream, size_t number, void* user_data),
                                                  void* user_data);
/// The node that `stream` captured last, and that its next work depends on: a number as in `weir_graph_get_nodes`. Fails
/// with `WEIR_ERROR_NOT_CAPTURING`; `WEIR_ERROR_INVALID_ARGUMENT` if the next work depends on no node, or on several, as
/// after a wait. (cudaStreamGetCaptureInfo)
WEIR_C_API weir_result weir_stream_last_captured_node(const weir_stream* stream, uint32_t* node);
/// Makes the next work of `stream` depend on exactly these `count` nodes of the graph being captured; with 0 nodes it
/// becomes a root. Use this to build a graph by hand. Fails with `WEIR_ERROR_NOT_CAPTURING`; `WEIR_ERROR_INVALID_ARGUMENT`
/// for a node that does not exist. (cudaStreamUpdateCaptureDependencies)
WEIR_C_API weir_result weir_stream_set_capture_dependencies(weir_stream* stream, const uint32_t* nodes, size_t count);

// --- Graphs -------------------------------------------------------------------------------------------------------------

/// What a node of a graph does (cudaGraphNodeType). Later releases add to the end.
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
/// "cuda:0 graph 0x7f…", to be freed with `weir_free`.
WEIR_C_API weir_result weir_graph_describe(const weir_graph* graph, char** text);
/// The kinds of the graph's nodes, in the order of the capture; a child graph is one node. Writes at most `capacity` of them
/// to `kinds`, which may be null if `capacity` is 0, and their total number to `count`. (cudaGraphGetNodes)
WEIR_C_API weir_result weir_graph_get_nodes(const weir_graph* graph, size_t capacity, weir_node_kind* kinds, size_t* count);
/// The graph's edges, in the same way; nodes are identified by their numbers in `weir_graph_get_nodes`. (cudaGraphGetEdges)
WEIR_C_API weir_result weir_graph_get_edges(const weir_graph* graph, size_t capacity, weir_graph_edge* edges, size_t* count);
/// The graph in Graphviz's language, to be freed with `weir_free`. Feature `graph_debug_dot`. (cudaGraphDebugDotPrint)
WEIR_C_API weir_result weir_graph_debug_dot(const weir_graph* graph, char** text);
/// An independent copy that shares the host functions. `clone` gets a reference. Fails with `WEIR_ERROR_UNSUPPORTED` for a
/// graph that allocates memory. Feature `graph_clone`. (cudaGraphClone)
WEIR_C_API weir_result weir_graph_clone(const weir_graph* graph, weir_graph** clone);

// --- Executable graphs --------------------------------------------------------------------------------------------------

/// The options of an executable; combine them with `|`.
typedef enum weir_instantiate_flags WEIR_C_ENUM {
  WEIR_INSTANTIATE_DEFAULT = 0,
  /// Without it, each launch frees memory that the previous launch allocated and did not free. With it, the program must
  /// free that memory by the vendor's call before the next launch.
  WEIR_INSTANTIATE_NO_AUTO_FREE = 1,
} weir_instantiate_flags;

/// Makes an executable graph. The graph may be empty. `flags`: of `weir_instantiate_flags`. `exec` gets a reference. Fails
/// with `WEIR_ERROR_UNSUPPORTED` for a graph that allocates memory and has another executable. (cudaGraphInstantiate)
WEIR_C_API weir_result weir_graph_instantiate(const weir_graph* graph, uint32_t flags, weir_graph_exec** exec);
/// Adds a reference and returns the executable.
WEIR_C_API weir_graph_exec* weir_graph_exec_retain(weir_graph_exec* exec);
/// Releases a reference. Running launches continue. (cudaGraphExecDestroy)
WEIR_C_API void weir_graph_exec_release(weir_graph_exec* exec);
/// The device of the streams that can launch it.
WEIR_C_API weir_device* weir_graph_exec_device(const weir_graph_exec* exec);
/// The vendor's executable, valid until the next update, which may replace it.
WEIR_C_API void* weir_graph_exec_native_handle(const weir_graph_exec* exec);
/// "cuda:0 executable graph 0x7f…", to be freed with `weir_free`.
WEIR_C_API weir_result weir_graph_exec_describe(const weir_graph_exec* exec, char** text);
/// Enqueues one run of the whole graph on `stream`, which must belong to the graph's device (`WEIR_ERROR_WRONG_DEVICE`).
/// Launches of one executable run one after another. On a capturing stream the graph becomes a child node, which fails with
/// `WEIR_ERROR_UNSUPPORTED` if it allocates memory. (cudaGraphLaunch)
WEIR_C_API weir_result weir_graph_exec_launch(weir_graph_exec* exec, weir_stream* stream);
/// Prepares the first launch ahead of time, in the order of `stream`. Feature `graph_upload`. (cudaGraphUpload)
WEIR_C_API weir_result weir_graph_exec_upload(weir_graph_exec* exec, weir_stream* stream);
/// Replaces the parameters of all nodes by those of `graph`, which must have the same shape. If that is not so, fails with
/// `WEIR_ERROR_GRAPH_UPDATE_FAILED` and the cause, and changes nothing. Feature `graph_update`. (cudaGraphExecUpdate)
WEIR_C_API weir_result weir_graph_exec_update(weir_graph_exec* exec, const weir_graph* graph);

/// The kind of a change to a node.
typedef enum weir_node_change_kind WEIR_C_ENUM {
  WEIR_CHANGE_KERNEL = 0,  ///< the node launches another kernel, shape or arguments
  WEIR_CHANGE_COPY = 1,    ///< the node copies other memory, as many bytes as were captured or fewer
  WEIR_CHANGE_FILL = 2,    ///< the node fills other memory
  WEIR_CHANGE_ENABLE = 3,  ///< the node runs again
  WEIR_CHANGE_DISABLE = 4, ///< the node does nothing
} weir_node_change_kind;

/// One change of a list. It never grows, because an array of them has no sizes. Fields that its kind does not use are
/// ignored.
typedef struct weir_node_change {
  weir_node_change_kind kind;
  uint32_t node;        ///< its number, as in `weir_graph_get_nodes`
  weir_kernel* kernel;  ///< this and the next four fields are for a kernel, as in `weir_stream_launch`
  const weir_launch_config* config;  ///< flags and cluster are ignored and stay as captured
  void* const* arguments;            ///< copied
  const size_t* sizes;               ///< or null
  size_t argument_count;
  void* destination;   ///< for a copy or a fill
  const void* source;  ///< for a copy
  size_t count;        ///< for a copy: bytes; for a fill: elements
  uint32_t element_size;  ///< for a fill: 1, 2 or 4 bytes
  uint32_t value;         ///< for a fill: its low bytes
} weir_node_change;

/// Makes `count` changes to nodes in one call, for later launches. Nodes are kernels, copies of contiguous memory and fills.
/// If a change does not fit its node, fails with `WEIR_ERROR_GRAPH_UPDATE_FAILED` and changes nothing. If a driver refuses a
/// change, earlier ones are in effect, as the message says. Feature `graph_node_changes`. (cudaGraphExecKernelNodeSetParams,
/// cudaGraphExecMemcpyNodeSetParams, cudaGraphExecMemsetNodeSetParams, cudaGraphNodeSetEnabled)
WEIR_C_API weir_result weir_graph_exec_apply(weir_graph_exec* exec, const weir_node_change* changes, size_t count);

WEIR_C_END

#endif
