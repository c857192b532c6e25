// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge.hpp"

/// Hardware queues, and the thread that calls host functions.
namespace bridge {

/// A hardware queue for a new stream: the one of its device and priority with the fewest streams.
HardwareQueue* take_queue(int device, int priority);
void give_back(HardwareQueue* queue) noexcept;
/// The same for a stream that ends.
void leave_queue(const ihipStream_t& stream) noexcept;
HardwareQueue* queue_of_null_stream(int device);
/// Of the calling thread's default stream. The thread's end waits for that, which it does not on CUDA.
HardwareQueue* queue_of_this_thread(int device);

/// Held while the stream begins or joins a capture: no other stream of its hardware queue then records the queue's event on
/// it, which would draw that stream into the capture.
std::unique_lock<std::mutex> keep_out_of_captures(const Target& target) noexcept;

/// Records a CUDA event on a stream, unless it has been destroyed, and so is idle, or captures. Whether it did.
bool record_if_alive(ihipStream_t* stream, CUevent event) noexcept;

/// Takes a stream that ends out of its capture, and ends the capture if it began there.
void leave_capture(ihipStream_t& stream) noexcept;

/// The parameters of a graph's host node: what runs, on the thread of host functions, and what the program sees.
CUDA_HOST_NODE_PARAMS on_host_thread(hipHostFn_t function, void* data);
/// Nothing must be called with the data from here on, until it is given to a node again.
void data_has_gone(void* data) noexcept;
hipHostNodeParams as_given(const CUDA_HOST_NODE_PARAMS& parameters) noexcept;

}  // namespace bridge
