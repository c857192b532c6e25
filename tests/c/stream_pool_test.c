// SPDX-License-Identifier: Apache-2.0
#include "tests/c/check.h"

void test_stream_pools(void) {
  weir_stream_pool* pool = NULL;
  OK(weir_stream_pool_create(test_device(), NULL, &pool));
  weir_stream_pool_release(pool);

  weir_stream_pool_options options = {
      .struct_size = sizeof(options), .max_streams = 2, .stream_flags = WEIR_STREAM_BLOCKING};
  OK(weir_stream_pool_create(test_device(), &options, &pool));
  size_t size = 1;
  OK(weir_stream_pool_size(pool, &size));
  CHECK(size == 0);
  weir_stream_lease *first = NULL, *second = NULL, *third = NULL;
  OK(weir_stream_pool_lease(pool, &first));
  OK(weir_stream_pool_lease(pool, &second));
  FAILS(WEIR_ERROR_POOL_EXHAUSTED, "", weir_stream_pool_lease(pool, &third));
  CHECK(third == NULL);
  weir_stream* const stream = weir_stream_lease_stream(first);
  bool non_blocking = true;
  OK(weir_stream_is_non_blocking(stream, &non_blocking));
  CHECK(!non_blocking && stream != weir_stream_lease_stream(second));
  OK(weir_stream_synchronize(stream));
  CHECK(weir_stream_lease_retain(first) == first);
  weir_stream_lease_release(first);
  FAILS(WEIR_ERROR_POOL_EXHAUSTED, "", weir_stream_pool_lease(pool, &third));
  weir_stream_lease_release(first);
  OK(weir_stream_pool_lease(pool, &third));
  CHECK(weir_stream_lease_stream(third) == stream);
  weir_stream_lease_release(third);
  CHECK(weir_stream_pool_retain(pool) == pool);
  weir_stream_pool_release(pool);
  weir_stream_pool_release(pool);
  OK(weir_stream_synchronize(weir_stream_lease_stream(second)));
  weir_stream_lease_release(second);

  options = (weir_stream_pool_options){.struct_size = sizeof(options), .max_streams = 1, .sharing = WEIR_POOL_ROUND_ROBIN};
  OK(weir_stream_pool_create(test_device(), &options, &pool));
  OK(weir_stream_pool_lease(pool, &first));
  OK(weir_stream_pool_lease(pool, &second));
  CHECK(weir_stream_lease_stream(first) == weir_stream_lease_stream(second));
  weir_stream_lease_release(first);
  weir_stream_lease_release(second);
  weir_stream_pool_release(pool);
  pool = NULL;
  options.sharing = (weir_pool_sharing)2;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "sharing is 2", weir_stream_pool_create(test_device(), &options, &pool));
  CHECK(pool == NULL);
}
