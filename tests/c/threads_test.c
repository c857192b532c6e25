// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "tests/c/check.h"

// Tests eight threads at the same time. All share a stream, memory, a module, an executable graph, a pool and the data of
// host functions. Each thread also has its own stream, captures and errors.

enum { thread_count = 8, rounds = 50, words = 64 };

typedef struct objects {
  weir_stream* stream;
  weir_allocation* memory;  // `words` words of each thread's, as many of the graph's, and an int of each thread's
  weir_module* module;      // null where kernels cannot be compiled
  weir_graph_exec* exec;    // null where nothing can be captured
  weir_memory_pool* pool;   // null where there are none
  counted calls, graph_calls;
} objects;

typedef struct worker {
  int number;
  objects* shared;
} worker;

static uint32_t* words_of(const objects* shared, int number) {
  return (uint32_t*)weir_allocation_data(shared->memory) + number * words;
}
static int* sums_of(const objects* shared) { return (int*)words_of(shared, thread_count + 1); }

static weir_graph* capture_fill(weir_stream* stream, uint32_t* first, uint32_t value, counted* calls) {
  weir_graph* graph = NULL;
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  OK(weir_stream_fill(stream, first, value, 4, words));
  OK(weir_stream_launch_host_function(stream, count_call, count_destroy, calls));
  OK(weir_stream_end_capture(stream, &graph));
  return graph;
}

static void use_stream(const worker* self, weir_stream* own, uint32_t value) {
  objects* const shared = self->shared;
  uint32_t* const first = words_of(shared, self->number);
  OK(weir_stream_fill(own, first, value, 4, words));
  OK(weir_stream_wait_stream(shared->stream, own));
  OK(weir_stream_launch_host_function(shared->stream, count_call, count_destroy, &shared->calls));
  weir_event* event = NULL;
  OK(weir_stream_record(shared->stream, 0, &event));
  OK(weir_stream_wait_event(own, event));
  OK(weir_stream_synchronize(own));
  weir_event_release(event);
  CHECK(first[0] == value && first[words - 1] == value);
}

static void use_module(const worker* self) {
  weir_kernel* kernel = NULL;
  OK(weir_module_get_kernel(self->shared->module, "add", &kernel));
  int *sum = sums_of(self->shared) + self->number, more = self->number;
  void* arguments[] = {(void*)&sum, &more};
  weir_launch_config config = {.struct_size = sizeof(config)};
  OK(weir_grid_for(1, 1, &config));
  OK(weir_stream_launch(self->shared->stream, kernel, &config, arguments, NULL, 2));
  weir_kernel_release(kernel);
}

static void use_graph(const worker* self, weir_stream* own, uint32_t value) {
  objects* const shared = self->shared;
  weir_graph* const graph = capture_fill(own, words_of(shared, thread_count), value, &shared->graph_calls);
  if (self->number == 0 && has(WEIR_FEATURE_GRAPH_UPDATE)) OK(weir_graph_exec_update(shared->exec, graph));
  weir_graph_release(graph);
  OK(weir_graph_exec_launch(shared->exec, own));
}

static void use_pool(const worker* self, weir_stream* own, uint32_t value) {
  weir_allocation* memory = NULL;
  uint32_t result = 0;
  OK(weir_allocation_create_async(own, words * sizeof(uint32_t), self->shared->pool, &memory));
  OK(weir_stream_fill(own, weir_allocation_data(memory), value, 4, words));
  OK(weir_stream_read(own, &result, weir_allocation_data(memory), sizeof(result)));
  CHECK(result == value);
  weir_allocation_release(memory);
}

// This thread's error, with this thread's number in it.
static void fail(const worker* self) {
  char text[32];
  snprintf(text, sizeof(text), "%d", 100 + self->number);
  weir_device* none = NULL;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, text,
        weir_backend_device(weir_device_backend(test_device()), 100 + self->number, &none));
  sched_yield();
  CHECK(strstr(weir_last_error_message(), text) != NULL);
}

static void* work(void* argument) {
  const worker* const self = argument;
  const objects* const shared = self->shared;
  weir_stream_retain(shared->stream);
  weir_allocation_retain(shared->memory);
  for (int round = 0; round < rounds; ++round) {
    const uint32_t value = (uint32_t)(self->number * 1000 + round);
    weir_stream* const own = new_stream();
    use_stream(self, own, value);
    if (shared->module != NULL) use_module(self);
    if (shared->exec != NULL) use_graph(self, own, value);
    if (shared->pool != NULL) use_pool(self, own, value);
    fail(self);
    OK(weir_stream_synchronize(own));
    weir_stream_release(own);
  }
  weir_allocation_release(shared->memory);
  weir_stream_release(shared->stream);
  return NULL;
}

void test_threads(void) {
  static objects shared;  // graphs may outlive the test
  shared = (objects){.stream = new_stream(),
                     .memory = new_pinned(((thread_count + 1) * words + thread_count) * sizeof(uint32_t)),
                     .module = test_module()};
  if (has(WEIR_FEATURE_MEMORY_POOLS) && has(WEIR_FEATURE_ASYNC_ALLOCATION))
    OK(weir_memory_pool_create(test_device(), NULL, &shared.pool));
  if (has(WEIR_FEATURE_GRAPH_CAPTURE)) {
    weir_graph* const graph = capture_fill(shared.stream, words_of(&shared, thread_count), 1, &shared.graph_calls);
    OK(weir_graph_instantiate(graph, 0, &shared.exec));
    weir_graph_release(graph);
  }
  pthread_t threads[thread_count];
  worker workers[thread_count];
  for (int i = 0; i < thread_count; ++i) {
    workers[i] = (worker){i, &shared};
    CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
  }
  for (int i = 0; i < thread_count; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  OK(weir_stream_synchronize(shared.stream));
  for (int i = 0; i < thread_count; ++i) CHECK(sums_of(&shared)[i] == (shared.module != NULL ? i * rounds : 0));
  CHECK(atomic_load(&shared.graph_calls.calls) == (shared.exec != NULL ? thread_count * rounds : 0));
  weir_stream_release(shared.stream);
  weir_graph_exec_release(shared.exec);
  weir_memory_pool_release(shared.pool);
  weir_allocation_release(shared.memory);
  OK(weir_device_synchronize(test_device()));
  CHECK(atomic_load(&shared.calls.calls) == thread_count * rounds &&
        atomic_load(&shared.calls.destroyed) == thread_count * rounds);
}
