// SPDX-License-Identifier: Apache-2.0
#include "cudart/state.hpp"

namespace weir::cudart::calls {

void cudaEventCreate(cudaEvent_t* event) { calls::cudaEventCreateWithFlags(event, cudaEventDefault); }

void cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  check(event != nullptr && (flags & ~7U) == 0);
  const EventOptions options{.timing = (flags & cudaEventDisableTiming) == 0,
                             .blocking_sync = (flags & cudaEventBlockingSync) != 0,
                             .interprocess = (flags & cudaEventInterprocess) != 0};
  check(!options.interprocess || !options.timing);
  *event = static_cast<cudaEvent_t>(runtime().events.add(usable().device->create_event(options)));
}

void cudaEventDestroy(cudaEvent_t event) { static_cast<void>(runtime().events.take(event)); }

void cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { calls::cudaEventRecordWithFlags(event, stream, 0); }

void cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  check((flags & ~unsigned{cudaEventRecordExternal}) == 0);
  const EventPtr& recorded = runtime().events.get(event);
  const StreamPtr on = stream_of(stream);
  const bool external = flags == cudaEventRecordExternal && on->is_capturing();
  external ? on->record_external(recorded) : on->record(recorded);
}

void cudaEventQuery(cudaEvent_t event) { check(runtime().events.get(event)->is_complete(), cudaErrorNotReady); }

void cudaEventSynchronize(cudaEvent_t event) {
  const EventPtr& waited = runtime().events.get(event);
  waited->synchronize();
  collect_faults(device_at(waited->device().ordinal()));
}

void cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const auto elapsed = runtime().events.get(end)->elapsed_since(runtime().events.get(start));
  give(milliseconds, static_cast<float>(elapsed.count()));
}

}  // namespace weir::cudart::calls
