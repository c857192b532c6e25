// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "tests/c/check.h"

// Eight threads at once: a stream that all share, a stream of each one's, host functions, captures, errors of their own.

enum { thread_count = 8, rounds = 50 };

typedef struct worker {
  int number;
  weir_stream* shared;
  counted* calls;
} worker;

static void one_round(const worker* self, weir_stream* own, uint32_t* words, int round) {
  const uint32_t value = (uint32_t)(self->number * 1000 + round);
  OK(weir_stream_fill(own, words, value, 4, 64));
  OK(weir_stream_wait_stream(self->shared, own));
  OK(weir_stream_launch_host_function(self->shared, count_call, count_destroy, self->calls));
  weir_event* event = NULL;
  OK(weir_stream_record(self->shared, 0, &event));
  OK(weir_stream_wait_event(own, event));
  OK(weir_stream_synchronize(own));
  weir_event_release(event);
  CHECK(words[0] == value && words[63] == value);

  // This thread's error, with this thread's number in it.
  char words_of_error[32];
  snprintf(words_of_error, sizeof(words_of_error), "%d", 100 + self->number);
  weir_device* none = NULL;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, words_of_error,
        weir_backend_device(weir_device_backend(test_device()), 100 + self->number, &none));
  sched_yield();
  CHECK(strstr(weir_last_error_message(), words_of_error) != NULL);

  if (!has(WEIR_FEATURE_GRAPH_CAPTURE)) return;
  weir_graph* graph = NULL;
  weir_graph_exec* exec = NULL;
  OK(weir_stream_begin_capture(own, WEIR_CAPTURE_THREAD_LOCAL));
  OK(weir_stream_fill(own, words, value + 1, 4, 64));
  OK(weir_stream_end_capture(own, &graph));
  OK(weir_graph_instantiate(graph, 0, &exec));
  OK(weir_graph_exec_launch(exec, own));
  OK(weir_stream_synchronize(own));
  CHECK(words[63] == value + 1);
  weir_graph_exec_release(exec);
  weir_graph_release(graph);
}

static void* work(void* argument) {
  const worker* const self = argument;
  weir_stream* const own = new_stream();
  weir_allocation* const memory = new_pinned(256);
  weir_stream_retain(self->shared);
  for (int round = 0; round < rounds; ++round) one_round(self, own, weir_allocation_data(memory), round);
  weir_stream_release(self->shared);
  weir_stream_release(own);
  weir_allocation_release(memory);
  return NULL;
}

void test_threads(void) {
  counted calls = {0};
  weir_stream* const shared = new_stream();
  pthread_t threads[thread_count];
  worker workers[thread_count];
  for (int i = 0; i < thread_count; ++i) {
    workers[i] = (worker){i, shared, &calls};
    CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
  }
  for (int i = 0; i < thread_count; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  OK(weir_stream_synchronize(shared));
  weir_stream_release(shared);
  OK(weir_device_synchronize(test_device()));
  CHECK(atomic_load(&calls.calls) == thread_count * rounds && atomic_load(&calls.destroyed) == thread_count * rounds);
}
