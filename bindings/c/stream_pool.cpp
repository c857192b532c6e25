// SPDX-License-Identifier: Apache-2.0
#include "weir/stream_pool.hpp"

#include "bindings/c/call.hpp"
#include "bindings/c/stream.hpp"
#include "weir/stream_scope.hpp"

// The C interface: pools of streams, and current streams.
namespace weir::c {

static_assert(static_cast<unsigned>(PoolSharing::round_robin) == WEIR_POOL_ROUND_ROBIN);

/// A pool with shared owners.
class SharedPool final : public RefCounted {
 public:
  SharedPool(Device& device, const StreamPoolOptions& options) : pool(device, options) {}
  mutable StreamPool pool;
};

/// A loan with shared owners.
class LentStream final : public RefCounted {
 public:
  explicit LentStream(StreamLease&& taken) noexcept : lease(std::move(taken)) {}
  StreamLease lease;
};

}  // namespace weir::c

using namespace weir::c;

weir_result weir_stream_pool_create(weir_device* device, const weir_stream_pool_options* options, weir_stream_pool** pool) {
  return call(__func__, [&] {
    auto& result = output(pool, "pool");
    const weir_stream_pool_options wanted = weir::c::options(options, "options");
    weir::StreamPoolOptions all;
    if (wanted.max_streams != 0) all.max_streams = wanted.max_streams;
    all.sharing = enumerator(wanted.sharing, weir::PoolSharing::round_robin, "options->sharing");
    all.stream = stream_options(wanted.stream_flags, wanted.priority, wanted.priority_number);
    result = handle(weir::make_ptr<SharedPool>(required(device, "device"), all));
  });
}

weir_stream_pool* weir_stream_pool_retain(weir_stream_pool* pool) { return retain(pool); }
void weir_stream_pool_release(weir_stream_pool* pool) { release(pool); }

weir_result weir_stream_pool_size(const weir_stream_pool* pool, size_t* size) {
  return call(__func__, [&] {
    auto& result = output(size, "size");
    result = required(pool, "pool").pool.size();
  });
}

weir_result weir_stream_pool_lease(weir_stream_pool* pool, weir_stream_lease** lease) {
  return call(__func__, [&] {
    auto& result = output(lease, "lease");
    result = handle(weir::make_ptr<LentStream>(required(pool, "pool").pool.lease()));
  });
}

weir_stream* weir_stream_lease_stream(const weir_stream_lease* lease) {
  return lease != nullptr ? handle(object(lease)->lease.stream().get()) : nullptr;
}

weir_stream_lease* weir_stream_lease_retain(weir_stream_lease* lease) { return retain(lease); }
void weir_stream_lease_release(weir_stream_lease* lease) { release(lease); }

weir_result weir_stream_scope_begin(weir_stream* stream, weir_stream_scope** scope) {
  return call(__func__, [&] {
    auto& result = output(scope, "scope");
    result = reinterpret_cast<weir_stream_scope*>(new weir::StreamScope(weir::StreamPtr(&required(stream, "stream"))));
  });
}

void weir_stream_scope_end(weir_stream_scope* scope) { delete reinterpret_cast<weir::StreamScope*>(scope); }

weir_result weir_stream_get_current(weir_device* device, weir_stream** stream) {
  return call(__func__, [&] {
    auto& result = output(stream, "stream");
    result = handle(current_stream(required(device, "device")));
  });
}
