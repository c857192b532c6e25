// SPDX-License-Identifier: Apache-2.0
#include "cudart/state.hpp"

using namespace weir;
using namespace weir::cudart;

namespace {

void record(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  check((flags & ~unsigned{cudaEventRecordExternal}) == 0);
  const EventPtr& recorded = runtime().events.get(event);
  const StreamPtr on = stream_of(stream);
  if (flags == cudaEventRecordExternal && on->is_capturing())
    on->record_external(recorded);
  else
    on->record(recorded);
}

}  // namespace

extern "C" {

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return call(__func__, [&] {
    check(event != nullptr && (flags & ~7U) == 0);
    const EventOptions options{.timing = (flags & cudaEventDisableTiming) == 0,
                               .blocking_sync = (flags & cudaEventBlockingSync) != 0,
                               .interprocess = (flags & cudaEventInterprocess) != 0};
    check(!options.interprocess || !options.timing);
    *event = static_cast<cudaEvent_t>(runtime().events.add(usable().device->create_event(options)));
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call(__func__, [&] { static_cast<void>(runtime().events.take(event)); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call(__func__, [&] { record(event, stream, cudaEventRecordDefault); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return call(__func__, [&] { record(event, stream, flags); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call(__func__, [&] { return runtime().events.get(event)->is_complete() ? cudaSuccess : cudaErrorNotReady; });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call(__func__, [&] {
    const EventPtr& waited = runtime().events.get(event);
    waited->synchronize();
    collect_faults(device_at(waited->device().ordinal()));
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return call(__func__, [&] {
    check(milliseconds != nullptr);
    *milliseconds = static_cast<float>(runtime().events.get(end)->elapsed_since(runtime().events.get(start)).count());
  });
}

}  // extern "C"
