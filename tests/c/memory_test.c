// SPDX-License-Identifier: Apache-2.0
#include "tests/c/check.h"

// Memory: allocations, pools, copies, fills, values, managed memory.

static void count_frees(void* data, void* user_data) {
  void** const seen = user_data;
  seen[0] = data;
  seen[1] = (char*)seen[1] + 1;
}

static void test_adopted(void) {
  static char memory[64];
  void* seen[2] = {NULL, NULL};
  weir_allocation* adopted = NULL;
  OK(weir_allocation_adopt(test_device(), memory, sizeof(memory), WEIR_MEMORY_PINNED, count_frees, seen, &adopted));
  CHECK(weir_allocation_data(adopted) == memory && weir_allocation_size(adopted) == sizeof(memory));
  weir_allocation_release(weir_allocation_retain(adopted));
  CHECK(seen[0] == NULL);
  weir_allocation_release(adopted);
  CHECK(seen[0] == memory && (uintptr_t)seen[1] == 1);
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "null",
        weir_allocation_adopt(test_device(), NULL, 1, WEIR_MEMORY_PINNED, count_frees, seen, &adopted));
  CHECK((uintptr_t)seen[1] == 1);
}

void test_allocations(void) {
  test_adopted();
  weir_device* const device = test_device();
  weir_stream* const stream = new_stream();
  weir_allocation* memory = NULL;
  OK(weir_allocation_create(device, 1000, WEIR_MEMORY_DEVICE, &memory));
  OK(weir_allocation_set_name(memory, "weights"));
  CHECK(weir_allocation_size(memory) == 1000 && weir_allocation_kind(memory) == WEIR_MEMORY_DEVICE);
  CHECK((uintptr_t)weir_allocation_data(memory) % 256 == 0 && !weir_allocation_host_accessible(memory));
  CHECK(weir_allocation_device(memory) == device && weir_allocation_stream(memory) == NULL);
  weir_interprocess_handle handle;
  memset(&handle, 0, sizeof(handle));
  NEEDS(WEIR_FEATURE_INTERPROCESS_MEMORY, weir_allocation_get_interprocess_handle(memory, &handle));
  weir_allocation* opened = NULL;
  if (!has(WEIR_FEATURE_INTERPROCESS_MEMORY))
    NEEDS(WEIR_FEATURE_INTERPROCESS_MEMORY, weir_allocation_open(device, &handle, 1000, &opened));
  CHECK(weir_allocation_retain(memory) == memory);
  weir_allocation_release(memory);
  weir_allocation_release(memory);

  OK(weir_allocation_create(device, 0, WEIR_MEMORY_DEVICE, &memory));
  CHECK(weir_allocation_data(memory) == NULL && weir_allocation_size(memory) == 0);
  weir_allocation_release(memory);
  memory = NULL;
  FAILS(WEIR_ERROR_OUT_OF_MEMORY, "", weir_allocation_create(device, SIZE_MAX / 4, WEIR_MEMORY_DEVICE, &memory));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "kind is 258", weir_allocation_create(device, 1, (weir_memory_kind)258, &memory));
  CHECK(memory == NULL);

  if (NEEDS(WEIR_FEATURE_ASYNC_ALLOCATION, weir_allocation_create_async(stream, 4096, NULL, &memory))) {
    CHECK(weir_allocation_stream(memory) == stream);
    OK(weir_stream_fill(stream, weir_allocation_data(memory), 1, 4, 1024));
    uint32_t read = 0;
    OK(weir_stream_read(stream, &read, weir_allocation_data(memory), sizeof(read)));
    CHECK(read == 1);
    weir_allocation_release(memory);
    OK(weir_stream_synchronize(stream));
  }
  if (can_capture(stream) && has(WEIR_FEATURE_GRAPH_MEMORY_NODES)) {
    weir_graph* graph = NULL;
    OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
    OK(weir_allocation_create_async(stream, 4096, NULL, &memory));
    weir_allocation_release(memory);
    OK(weir_stream_end_capture(stream, &graph));
    weir_node_kind kinds[2];
    size_t count = 0;
    OK(weir_graph_get_nodes(graph, 2, kinds, &count));
    CHECK(count == 2 && kinds[0] == WEIR_NODE_ALLOCATE && kinds[1] == WEIR_NODE_FREE);
    weir_graph* clone = NULL;
    FAILS(WEIR_ERROR_UNSUPPORTED, "", weir_graph_clone(graph, &clone));
    weir_graph_release(graph);
  }
  weir_stream_release(stream);
}

void test_pools(void) {
  weir_memory_pool* pool = NULL;
  if (!NEEDS(WEIR_FEATURE_MEMORY_POOLS, weir_memory_pool_create(test_device(), NULL, &pool))) return;
  weir_stream* const stream = new_stream();
  weir_allocation* memory = NULL;
  size_t used = 0, reserved = 0;
  CHECK(weir_memory_pool_device(pool) == test_device() && weir_memory_pool_native_handle(pool) != NULL);
  OK(weir_allocation_create_async(stream, 1 << 20, pool, &memory));
  OK(weir_memory_pool_usage(pool, &used, &reserved));
  OK(weir_memory_pool_usage(pool, NULL, NULL));
  CHECK(used >= 1 << 20 && reserved >= used);
  CHECK(weir_memory_pool_retain(pool) == pool);
  weir_memory_pool_release(pool);
  OK(weir_memory_pool_set_release_threshold(pool, 0));
  weir_allocation_release(memory);
  OK(weir_stream_synchronize(stream));
  OK(weir_memory_pool_trim(pool, 0));
  OK(weir_memory_pool_usage(pool, &used, NULL));
  CHECK(used == 0);
  weir_memory_pool_release(pool);

  const weir_memory_pool_options limited = {.struct_size = sizeof(limited), .max_size = 1 << 20, .release_threshold = 4096};
  if (NEEDS(WEIR_FEATURE_MEMORY_POOL_MAX_SIZE, weir_memory_pool_create(test_device(), &limited, &pool))) {
    memory = NULL;
    FAILS(WEIR_ERROR_OUT_OF_MEMORY, "", weir_allocation_create_async(stream, 1 << 28, pool, &memory));
    CHECK(memory == NULL);
    weir_memory_pool_release(pool);
  }
  OK(weir_memory_pool_get_default(test_device(), &pool));
  weir_memory_pool_release(pool);
  weir_stream_release(stream);
}

void test_registration(void) {
  void* const data = aligned_alloc(4096, 8192);
  weir_host_registration* registration = NULL;
  if (NEEDS(WEIR_FEATURE_HOST_REGISTRATION, weir_host_registration_create(test_device(), data, 8192, &registration))) {
    CHECK(weir_host_registration_data(registration) == data && weir_host_registration_size(registration) == 8192);
    CHECK(weir_host_registration_device_pointer(registration) != NULL);
    CHECK(weir_host_registration_retain(registration) == registration);
    weir_host_registration_release(registration);
    weir_host_registration_release(registration);
    registration = NULL;
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "", weir_host_registration_create(test_device(), data, 0, &registration));
    CHECK(registration == NULL);
  }
  free(data);
}

void test_copies(void) {
  weir_stream* const stream = new_stream();
  weir_allocation* device = NULL;
  OK(weir_allocation_create(test_device(), 4096, WEIR_MEMORY_DEVICE, &device));
  char* const there = weir_allocation_data(device);
  weir_allocation* const pinned = new_pinned(4096);
  unsigned char* const here = weir_allocation_data(pinned);

  for (int i = 0; i < 4096; ++i) here[i] = (unsigned char)(i % 251);
  OK(weir_stream_copy(stream, there, here, 4096));
  unsigned char back[4096] = {0};
  OK(weir_stream_read(stream, back, there, 4096));
  CHECK(memcmp(back, here, 4096) == 0);
  memset(back, 0, sizeof(back));
  OK(weir_device_copy(test_device(), back, there, 4096));
  CHECK(memcmp(back, here, 4096) == 0);
  OK(weir_stream_copy(stream, there, NULL, 0));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "source is null", weir_stream_copy(stream, there, NULL, 4));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "source is null", weir_device_copy(test_device(), there, NULL, 4));

  // Columns 4 to 11 of 16 rows of 64 bytes.
  memset(back, 0, sizeof(back));
  OK(weir_stream_fill(stream, there, 0, 1, 4096));
  weir_pitched dense = {.data = there, .width = 8, .height = 16, .depth = 1};
  weir_pitched columns = {.data = here + 4, .width = 8, .height = 16, .depth = 1, .row_pitch = 64};
  OK(weir_stream_copy_pitched(stream, &dense, &columns));
  OK(weir_stream_read(stream, back, there, 128));
  for (int row = 0; row < 16; ++row) CHECK(memcmp(back + row * 8, here + row * 64 + 4, 8) == 0);
  dense.row_pitch = 4;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "pitch", weir_stream_copy_pitched(stream, &dense, &columns));
  dense.height = 15;
  FAILS(WEIR_ERROR_LENGTH_MISMATCH, "rows", weir_stream_copy_pitched(stream, &dense, &columns));

  // A batch of two copies.
  const weir_batch_copy copies[] = {{there + 512, there, 64}, {there + 640, there + 64, 64}, {NULL, NULL, 0}};
  OK(weir_stream_copy_batch(stream, copies, 3, WEIR_SOURCE_IN_STREAM_ORDER));
  OK(weir_stream_read(stream, back + 2048, there + 640, 64));
  CHECK(memcmp(back + 2048, back + 64, 64) == 0);
  OK(weir_stream_copy_batch(stream, NULL, 0, WEIR_SOURCE_ANY_TIME));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "copies", weir_stream_copy_batch(stream, NULL, 1, WEIR_SOURCE_ANY_TIME));

  OK(weir_stream_copy_peer(stream, there + 1024, test_device(), there, test_device(), 128));
  OK(weir_stream_read(stream, back + 1024, there + 1024, 128));
  CHECK(memcmp(back + 1024, back, 128) == 0);

  // Fills of 1, 2 and 4 bytes, of a pattern, and of rows.
  uint16_t halves[8];
  OK(weir_stream_fill(stream, there, 0xff1234, 2, 8));
  OK(weir_stream_read(stream, halves, there, sizeof(halves)));
  CHECK(halves[0] == 0x1234 && halves[7] == 0x1234);
  const double pi = 3.14159;
  double doubles[4];
  OK(weir_stream_fill_pattern(stream, there, &pi, sizeof(pi), sizeof(pi), 4));
  OK(weir_stream_read(stream, doubles, there, sizeof(doubles)));
  CHECK(memcmp(&doubles[3], &pi, sizeof(pi)) == 0);
  uint32_t words[32];
  OK(weir_stream_fill(stream, there, 0, 4, 32));
  weir_pitched rows = {.data = there, .width = 8, .height = 8, .depth = 1, .row_pitch = 16};
  OK(weir_stream_fill_pitched(stream, &rows, 6, 4));
  OK(weir_stream_read(stream, words, there, sizeof(words)));
  CHECK(words[0] == 6 && words[1] == 6 && words[2] == 0 && words[28] == 6 && words[30] == 0);
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "", weir_stream_fill(stream, there, 0, 3, 1));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "1, 2 or 4", weir_stream_fill_pitched(stream, &rows, 6, 3));
  rows.width = 6;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "whole number", weir_stream_fill_pitched(stream, &rows, 6, 4));

  weir_stream_release(stream);
  weir_allocation_release(device);
  weir_allocation_release(pinned);
}

void test_values(void) {
  weir_stream* const writer = new_stream();
  weir_stream* const waiter = new_stream();
  weir_allocation* const memory = new_pinned(4096);
  uint32_t* const word = weir_allocation_data(memory);
  uint64_t* const wide = (uint64_t*)word + 8;
  bool complete = true;

  if (NEEDS(WEIR_FEATURE_WAIT_VALUE_32, weir_stream_wait_value32(waiter, word, 5, WEIR_WAIT_EQ, WEIR_WAIT_DEFAULT))) {
    OK(weir_stream_query(waiter, &complete));
    CHECK(!complete);
    if (!NEEDS(WEIR_FEATURE_WRITE_VALUE_32, weir_stream_write_value32(writer, word, 5)))
      atomic_store((_Atomic uint32_t*)(void*)word, 5);
    OK(weir_stream_synchronize(waiter));
    if (has(WEIR_FEATURE_WAIT_VALUE_GEQ)) OK(weir_stream_wait_value32(waiter, word, 4, WEIR_WAIT_GEQ, 0));
    OK(weir_stream_wait_value32(waiter, word, 1, WEIR_WAIT_AND, 0));
    if (has(WEIR_FEATURE_WAIT_VALUE_NOR)) OK(weir_stream_wait_value32(waiter, word, 2, WEIR_WAIT_NOR, 0));
    if (!has(WEIR_FEATURE_WAIT_VALUE_FLUSH)) {
      NEEDS(WEIR_FEATURE_WAIT_VALUE_FLUSH, weir_stream_wait_value32(waiter, word, 5, WEIR_WAIT_EQ, WEIR_WAIT_FLUSH));
    }
    OK(weir_stream_synchronize(waiter));
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "condition is 4",
          weir_stream_wait_value32(waiter, word, 5, (weir_wait_condition)4, 0));
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "flags has bits", weir_stream_wait_value32(waiter, word, 5, WEIR_WAIT_EQ, 2));
  }
  if (NEEDS(WEIR_FEATURE_WRITE_VALUE_64, weir_stream_write_value64(writer, wide, UINT64_C(1) << 40)) &&
      NEEDS(WEIR_FEATURE_WAIT_VALUE_64,
            weir_stream_wait_value64(waiter, wide, UINT64_C(1) << 40, WEIR_WAIT_EQ, WEIR_WAIT_DEFAULT))) {
    OK(weir_stream_synchronize(waiter));
    CHECK(*wide == UINT64_C(1) << 40);
  }
  OK(weir_stream_synchronize(writer));

  const weir_memory_operation batch[] = {
      {.kind = WEIR_WRITE_VALUE32, .address = word, .value = 8},
      {.kind = WEIR_WAIT_VALUE32, .condition = WEIR_WAIT_EQ, .address = word, .value = 8},
      {.kind = WEIR_WRITE_VALUE64, .address = wide, .value = 9},
  };
  if (NEEDS(WEIR_FEATURE_BATCH_MEMORY_OPERATIONS, weir_stream_batch_memory_operations(writer, batch, 3))) {
    OK(weir_stream_synchronize(writer));
    CHECK(*word == 8 && *wide == 9);
    OK(weir_stream_batch_memory_operations(writer, NULL, 0));
    const weir_memory_operation wrong = {.kind = (weir_memory_operation_kind)5};
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "kind is 5", weir_stream_batch_memory_operations(writer, &wrong, 1));
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "", weir_stream_write_value32(writer, (uint32_t*)(void*)((char*)word + 1), 1));
  }
  weir_stream_release(writer);
  weir_stream_release(waiter);
  weir_allocation_release(memory);
}

void test_managed(void) {
  weir_stream* const stream = new_stream();
  weir_allocation* memory = NULL;
  if (NEEDS(WEIR_FEATURE_MANAGED_MEMORY, weir_allocation_create(test_device(), 4096, WEIR_MEMORY_MANAGED, &memory))) {
    CHECK(weir_allocation_host_accessible(memory) && weir_allocation_kind(memory) == WEIR_MEMORY_MANAGED);
    NEEDS(WEIR_FEATURE_MANAGED_ATTACH, weir_stream_attach_memory(stream, memory, WEIR_ATTACH_SINGLE));
    if (NEEDS(WEIR_FEATURE_MANAGED_PREFETCH, weir_stream_prefetch(stream, memory, 0, 4096, WEIR_PREFETCH_DEVICE))) {
      OK(weir_stream_prefetch(stream, memory, 1024, 1024, WEIR_PREFETCH_HOST));
      FAILS(WEIR_ERROR_INVALID_ARGUMENT, "", weir_stream_prefetch(stream, memory, 4000, 1024, WEIR_PREFETCH_HOST));
    }
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "mode is 3", weir_stream_attach_memory(stream, memory, (weir_attach_mode)3));
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "target is 2", weir_stream_prefetch(stream, memory, 0, 1, (weir_prefetch_target)2));
    OK(weir_stream_synchronize(stream));
    weir_allocation_release(memory);
  }
  weir_stream_release(stream);
}
