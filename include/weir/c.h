// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_H
#define WEIR_C_H

/// @file
/// Weir for C11, and for every language that can call C. Includes all headers of the C interface. Link the CMake target
/// `weir::c`, or use the output of `pkg-config --libs weir_c`. docs/c.md shows how to build, and lists the C++ and CUDA name
/// for each function.
///
/// **Errors.** A function that can fail returns a `weir_result`, which is `WEIR_SUCCESS` or an error.
/// `weir_last_error_message` then returns an explanation. Unless documented otherwise, a function that fails has no effect
/// and does not write to its output parameters. Besides the results in its comment, each function may return:
/// `WEIR_ERROR_INVALID_ARGUMENT` for a null pointer where null has no meaning, and for a value outside an enumeration;
/// `WEIR_ERROR_CALLED_FROM_HOST_FUNCTION`; `WEIR_ERROR_FORKED_PROCESS`; `WEIR_ERROR_OUT_OF_MEMORY`;
/// `WEIR_ERROR_UNSUPPORTED`, with the reason, if the device lacks the feature that the comment names;
/// `WEIR_ERROR_DEVICE_FAULT` and `WEIR_ERROR_BACKEND_FAILURE` for errors of the driver. Functions of a stream may also
/// return `WEIR_ERROR_STREAM_CLOSED`, and `WEIR_ERROR_WRONG_THREAD` for another thread's per-thread default stream. A
/// function that cannot fail returns its value directly; if it is called with a null handle, it returns 0, false or null.
///
/// **Ownership.** Handles are pointers to reference-counted objects. A function that creates an object stores it in an
/// output parameter, and the caller owns one reference to it: the comments say that the parameter "gets a reference".
/// `weir_…_release` releases a reference; `weir_…_retain` adds one. Both accept null, and may be called from any thread,
/// even in host functions. An object keeps all objects alive that it needs, so they can be released in any order. Backends
/// and devices are not counted: they live until the process ends. Unless documented otherwise, a function does not use its
/// arguments after it has returned. Texts returned as `const char*` belong to the object. Texts returned through a `char**`
/// belong to the caller, who must free them with `weir_free`.
///
/// **Structures** begin with `struct_size`: set it to `sizeof` the structure. Later releases may add fields at the end. A
/// program that was built with an older header continues to work: the library reads option fields that the old header lacks
/// as 0, which is always the default. A null pointer to options means the defaults.
///
/// **Callbacks** are passed with a pointer `user_data` and a function `destroy`, which may be null. Weir owns `user_data` as
/// soon as the function is called: it calls `destroy(user_data)` exactly once, even if the function fails. Unless documented
/// otherwise, callbacks and `destroy` must not call functions of Weir that can fail: they would return
/// `WEIR_ERROR_CALLED_FROM_HOST_FUNCTION`.
///
/// **Threads.** Any thread may call any function with any object, concurrently with others, unless documented otherwise. No
/// function depends on the calling thread's current device or context, or changes it.
///
/// The C interface lacks collectives, pools of streams, current streams, and annotations for tools. Use the C++ headers for
/// those.

#include "weir/c/base.h"
#include "weir/c/device.h"
#include "weir/c/event.h"
#include "weir/c/feature.h"
#include "weir/c/graph.h"
#include "weir/c/memory.h"
#include "weir/c/module.h"
#include "weir/c/portable_graph.h"
#include "weir/c/stream.h"
#include "weir/c/stream_memory.h"

#endif
