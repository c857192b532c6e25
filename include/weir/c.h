// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_H
#define WEIR_C_H

/// @file
/// Weir for C11, and for every language that calls C: link `weir::c`, or what `pkg-config --libs weir_c` prints. docs/c.md
/// shows how to build with it, and which name of C++ and of CUDA each name stands for.
///
/// **Errors.** A function that can fail returns a `weir_result`, which is `WEIR_SUCCESS` or says what went wrong.
/// `weir_last_error_message` has it in words. A function that failed has no effect, and leaves its results as they were,
/// unless it says otherwise. Besides the results that a function names, each may return: `WEIR_ERROR_INVALID_ARGUMENT` for a
/// null pointer where null has no meaning, and for a number that is none of an enumeration's;
/// `WEIR_ERROR_CALLED_FROM_HOST_FUNCTION`; `WEIR_ERROR_FORKED_PROCESS`; `WEIR_ERROR_OUT_OF_MEMORY`;
/// `WEIR_ERROR_UNSUPPORTED`, with the reason, where the device lacks the feature that the function names;
/// `WEIR_ERROR_DEVICE_FAULT` and `WEIR_ERROR_BACKEND_FAILURE` for errors of the driver. Functions of a stream also:
/// `WEIR_ERROR_STREAM_CLOSED`, and `WEIR_ERROR_WRONG_THREAD` for another thread's default stream. A function that cannot
/// fail returns what it is asked for; of a null handle that is 0, false or null.
///
/// **Ownership.** Handles are pointers to objects with a count of owners. A function that makes an object gives its caller
/// one reference, which `weir_…_release` gives back; `weir_…_retain` adds one. Both take null, and both may be called from
/// any thread, host functions included. Objects keep alive what they need: the order of releases does not matter. Backends
/// and devices have no owners: they live until the process ends. What a function takes without saying more, it only uses
/// during the call. Texts that a function returns as `const char*` belong to the object; those that it gives through a
/// `char**` belong to the caller, who frees them by `weir_free`.
///
/// **Structures** begin with `struct_size`: set it to `sizeof` the structure. Later releases add fields at the end; a
/// program that was built with an older header goes on working, and fields of options that it does not know have the value
/// 0, which is always the default. A null pointer to options stands for the defaults.
///
/// **Callbacks** come with `user_data` and a `destroy`, which may be null. The call takes over `user_data` as it begins:
/// `destroy(user_data)` is called exactly once, also if the call fails. Callbacks must not call functions that can fail
/// (`WEIR_ERROR_CALLED_FROM_HOST_FUNCTION`), unless they say that they may; nor may a `destroy`.
///
/// **Threads.** Any thread may call any function with any object, at once with others, unless the function says otherwise.
/// No function depends on the calling thread's current device or context, or changes it.
///
/// Not here: collectives, pools of streams, current streams, and what C++ programs tell tools. Use the C++ headers for
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
