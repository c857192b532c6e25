// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_H
#define WEIR_C_H

/// @file
/// Weir for C11, and for every language that calls C: link `weir::c`, or what `pkg-config --libs weir_c` prints.
/// docs/c.md shows how to build with it, and the C++ and CUDA name for each function.
///
/// **Errors.** A function that can fail returns a `weir_result`, which is `WEIR_SUCCESS` or an error.
/// `weir_last_error_message` returns it in words. A function that fails has no effect, and leaves its results unchanged,
/// unless documented otherwise. Besides the results that a function names, each may return: `WEIR_ERROR_INVALID_ARGUMENT`
/// for a null pointer where null has no meaning, and for a value outside an enumeration;
/// `WEIR_ERROR_CALLED_FROM_HOST_FUNCTION`; `WEIR_ERROR_FORKED_PROCESS`; `WEIR_ERROR_OUT_OF_MEMORY`;
/// `WEIR_ERROR_UNSUPPORTED`, with the reason, if the device lacks the feature that the function names;
/// `WEIR_ERROR_DEVICE_FAULT` and `WEIR_ERROR_BACKEND_FAILURE` for errors of the driver. Functions of a stream also:
/// `WEIR_ERROR_STREAM_CLOSED`, and `WEIR_ERROR_WRONG_THREAD` for another thread's default stream. A function that cannot
/// fail returns its value directly; for a null handle it returns 0, false or null.
///
/// **Ownership.** Handles are pointers to reference-counted objects. A function that makes an object gives its caller one
/// reference, which `weir_…_release` releases; `weir_…_retain` adds one. Both accept null, and both may be called from any
/// thread, even in host functions. Objects keep alive all objects that they need, so the order of releases does not matter.
/// Backends and devices have no owners: they live until the process ends. Unless documented otherwise, a function uses its
/// arguments only during the call. Texts returned as `const char*` belong to the object; texts returned through a `char**`
/// belong to the caller, who frees them with `weir_free`.
///
/// **Structures** begin with `struct_size`: set it to `sizeof` the structure. Later releases add fields at the end; a
/// program built with an older header continues to work, and option fields that its header lacks count as 0, which is always
/// the default. A null pointer to options means the defaults.
///
/// **Callbacks** come with `user_data` and a `destroy`, which may be null. The call takes ownership of `user_data` when it
/// begins: `destroy(user_data)` is called exactly once, even if the call fails. Callbacks and `destroy` must not call
/// functions that can fail (`WEIR_ERROR_CALLED_FROM_HOST_FUNCTION`), unless documented otherwise.
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
