// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/convert.hpp"
#include "weir/device.hpp"

// The C interface: streams, waits and pending work (weir/c/stream.h).
namespace weir::c {

static_assert(static_cast<unsigned>(Priority::high) == WEIR_PRIORITY_HIGH);
static_assert(static_cast<unsigned>(StreamKind::per_thread_default) == WEIR_STREAM_PER_THREAD_DEFAULT);
static_assert(static_cast<unsigned>(Ownership::adopt) == WEIR_OWNERSHIP_ADOPT);
static_assert(static_cast<unsigned>(PendingWork::Kind::other) == WEIR_PENDING_OTHER);

namespace {

StreamOptions stream_options(std::uint32_t flags, weir_priority priority, std::int32_t number) {
  check_flags(flags, WEIR_STREAM_BLOCKING, "flags");
  if (priority > WEIR_PRIORITY_NUMBER) throw_unknown_enumerator("priority", priority);
  StreamOptions options{.blocking = (flags & WEIR_STREAM_BLOCKING) != 0, .priority = static_cast<Priority>(priority)};
  if (priority == WEIR_PRIORITY_NUMBER) options.priority = int{number};
  return options;
}

StreamRef reference(const weir_stream* stream) noexcept {
  if (stream == nullptr) return nullptr;
  return const_cast<Stream&>(*object(stream));  // the stream is only compared, not changed
}

}  // namespace
}  // namespace weir::c

using namespace weir::c;

// --- Making -------------------------------------------------------------------------------------------------------------

weir_result weir_stream_create(weir_device* device, const weir_stream_options* options, weir_stream** stream) {
  return give(__func__, stream, "stream", [&] {
    const weir_stream_options wanted = weir::c::options(options, "options");
    return handle(
        required(device, "device").create_stream(stream_options(wanted.flags, wanted.priority, wanted.priority_number)));
  });
}

weir_result weir_stream_get_default(weir_device* device, weir_stream** stream) {
  return give(__func__, stream, "stream", [&] { return handle(required(device, "device").default_stream()); });
}

weir_result weir_stream_get_per_thread(weir_device* device, weir_stream** stream) {
  return give(__func__, stream, "stream", [&] { return handle(required(device, "device").per_thread_stream()); });
}

weir_result weir_stream_wrap(weir_device* device, void* handle, weir_ownership ownership, void (*destroy)(void* user_data),
                             void* user_data, weir_stream** stream) {
  UserData data(destroy, user_data);
  return give(__func__, stream, "stream", [&] {
    weir::Device& owner = required(device, "device");
    const auto wanted = enumerator(ownership, weir::Ownership::adopt, "ownership");
    std::shared_ptr<const void> keep_alive;
    if (destroy != nullptr) keep_alive = std::make_shared<UserData>(std::move(data));
    return weir::c::handle(owner.wrap_stream(handle, wanted, std::move(keep_alive)));
  });
}

weir_stream* weir_stream_retain(weir_stream* stream) { return retain(stream); }
void weir_stream_release(weir_stream* stream) { release(stream); }

weir_result weir_stream_close(weir_stream* stream) {
  return call(__func__, [&] { required(stream, "stream").close(); });
}

weir_result weir_stream_release_handle(weir_stream* stream, void** handle) {
  return give(__func__, handle, "handle", [&] { return required(stream, "stream").release_handle(); });
}

weir_result weir_device_priority_range(const weir_device* device, int32_t* least, int32_t* greatest) {
  return call(__func__, [&] {
    const weir::PriorityRange range = required(device, "device").priority_range();
    if (least != nullptr) *least = range.least;
    if (greatest != nullptr) *greatest = range.greatest;
  });
}

// --- Identity -----------------------------------------------------------------------------------------------------------

weir_device* weir_stream_device(const weir_stream* stream) { return device_of(stream); }

weir_stream_kind weir_stream_get_kind(const weir_stream* stream) {
  return stream != nullptr ? static_cast<weir_stream_kind>(object(stream)->kind()) : WEIR_STREAM_OWNED;
}

void* weir_stream_native_handle(const weir_stream* stream) { return native_handle_of(stream); }

weir_result weir_stream_share_native_handle(weir_stream* stream, void** handle) {
  return give(__func__, handle, "handle", [&] { return required(stream, "stream").share_native_handle(); });
}

weir_result weir_stream_native_context(const weir_stream* stream, void** context) {
  return give(__func__, context, "context", [&] { return required(stream, "stream").native_context(); });
}

weir_result weir_stream_id(const weir_stream* stream, uint64_t* id) {
  return give(__func__, id, "id", [&] { return required(stream, "stream").id(); });
}

weir_result weir_stream_is_non_blocking(const weir_stream* stream, bool* non_blocking) {
  return give(__func__, non_blocking, "non_blocking", [&] { return required(stream, "stream").is_non_blocking(); });
}

weir_result weir_stream_get_priority(const weir_stream* stream, int32_t* priority) {
  return give(__func__, priority, "priority", [&] { return required(stream, "stream").priority(); });
}

bool weir_stream_is_closed(const weir_stream* stream) { return stream != nullptr && object(stream)->is_closed(); }

weir_result weir_stream_set_name(weir_stream* stream, const char* name) {
  return call(__func__, [&] { required(stream, "stream").set_name(name_or_none(name)); });
}

weir_result weir_stream_describe(const weir_stream* stream, char** text) {
  return give(__func__, text, "text", [&] { return new_text(required(stream, "stream").describe()); });
}

int32_t weir_stream_compare(const weir_stream* a, const weir_stream* b) {
  const auto order = reference(a) <=> reference(b);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

size_t weir_stream_hash(const weir_stream* stream) { return stream != nullptr ? object(stream)->hash() : 0; }

// --- Order --------------------------------------------------------------------------------------------------------------

weir_result weir_stream_synchronize(weir_stream* stream) {
  return call(__func__, [&] { required(stream, "stream").synchronize(); });
}

weir_result weir_stream_synchronize_for(weir_stream* stream, int64_t timeout_ns, bool* complete) {
  return give(__func__, complete, "complete",
              [&] { return required(stream, "stream").synchronize_for(std::chrono::nanoseconds(timeout_ns)); });
}

weir_result weir_stream_query(const weir_stream* stream, bool* complete) {
  return give(__func__, complete, "complete", [&] { return required(stream, "stream").is_complete(); });
}

weir_result weir_stream_record(weir_stream* stream, uint32_t event_flags, weir_event** event) {
  return give(__func__, event, "event",
              [&] { return handle(required(stream, "stream").record(event_options(event_flags))); });
}

weir_result weir_stream_wait_event(weir_stream* stream, const weir_event* event) {
  return call(__func__, [&] { required(stream, "stream").wait(weir::EventRef(required(event, "event"))); });
}

weir_result weir_stream_wait_event_external(weir_stream* stream, const weir_event* event) {
  return call(__func__, [&] { required(stream, "stream").wait_external(required(event, "event")); });
}

weir_result weir_stream_wait_stream(weir_stream* stream, weir_stream* other) {
  return call(__func__, [&] { required(stream, "stream").wait(weir::StreamRef(required(other, "other"))); });
}

weir_result weir_stream_pending(const weir_stream* stream, weir_pending_work* work, char** description) {
  return call(__func__, [&] {
    std::optional<Output<weir_pending_work>> result;
    if (work != nullptr) result.emplace(work, "work");
    const weir::PendingWork pending = required(stream, "stream").pending();
    if (description != nullptr) *description = new_text(pending.describe());
    if (!result) return;
    weir_pending_work all{};
    all.kind = static_cast<weir_pending_kind>(pending.kind);
    all.behind = pending.behind;
    if (pending.kind == weir::PendingWork::Kind::value) all.wait = operation_of(pending.wait);
    *result = all;
  });
}
