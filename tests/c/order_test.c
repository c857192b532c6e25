// SPDX-License-Identifier: Apache-2.0
#include "tests/c/check.h"

// Events, the order of streams, and what a stream waits for.

void test_events(void) {
  weir_stream* const stream = new_stream();
  weir_event* event = NULL;
  OK(weir_event_create(test_device(), WEIR_EVENT_DEFAULT, &event));
  bool complete = false;
  CHECK(weir_event_device(event) == test_device() && !weir_event_is_recorded(event) && weir_event_get_flags(event) == 0);
  OK(weir_event_query(event, &complete));
  CHECK(complete);
  OK(weir_event_record(event, stream));
  CHECK(weir_event_is_recorded(event) && weir_event_native_handle(event) == weir_event_share_native_handle(event));
  OK(weir_event_synchronize(event));
  complete = false;
  OK(weir_event_synchronize_for(event, 1000000000, &complete));
  CHECK(complete);
  char* text = NULL;
  OK(weir_event_describe(event, &text));
  CHECK(strstr(text, "event") != NULL);
  weir_free(text);

  double milliseconds = -1;
  FAILS(WEIR_ERROR_TIMING_DISABLED, "", weir_event_elapsed_time(event, event, &milliseconds));
  CHECK(milliseconds == -1);
  CHECK(weir_event_retain(event) == event);
  weir_event_release(event);
  weir_event_release(event);
  event = NULL;

  weir_event* start = NULL;
  if (NEEDS(WEIR_FEATURE_EVENT_TIMING, weir_event_create(test_device(), WEIR_EVENT_TIMING, &start))) {
    weir_event* end = NULL;
    OK(weir_stream_record(stream, WEIR_EVENT_TIMING, &end));
    CHECK(weir_event_get_flags(end) == WEIR_EVENT_TIMING);
    FAILS(WEIR_ERROR_NOT_RECORDED, "", weir_event_elapsed_time(start, end, &milliseconds));
    OK(weir_event_record(start, stream));
    OK(weir_event_record(end, stream));
    OK(weir_stream_synchronize(stream));
    OK(weir_event_elapsed_time(start, end, &milliseconds));
    CHECK(milliseconds >= 0 && milliseconds < 10000);
    weir_event_release(start);
    weir_event_release(end);
  }
  if (NEEDS(WEIR_FEATURE_BLOCKING_SYNC_EVENTS, weir_event_create(test_device(), WEIR_EVENT_BLOCKING_SYNC, &event)))
    weir_event_release(event);
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "flags has bits", weir_event_create(test_device(), 64, &event));

  weir_interprocess_handle handle;
  memset(&handle, 0, sizeof(handle));
  if (NEEDS(WEIR_FEATURE_INTERPROCESS_EVENTS, weir_event_create(test_device(), WEIR_EVENT_INTERPROCESS, &event))) {
    OK(weir_event_get_interprocess_handle(event, &handle));
    weir_event_release(event);
  } else {
    NEEDS(WEIR_FEATURE_INTERPROCESS_EVENTS, weir_event_open(test_device(), &handle, &event));
    OK(weir_event_create(test_device(), 0, &event));
    CHECK(weir_event_get_interprocess_handle(event, &handle) != WEIR_SUCCESS);
    weir_event_release(event);
  }

  // Nodes of a graph that record and wait for an event: each launch does so.
  OK(weir_event_create(test_device(), 0, &event));
  if (can_capture(stream) && has(WEIR_FEATURE_EXTERNAL_EVENTS)) {
    FAILS(WEIR_ERROR_NOT_CAPTURING, "", weir_event_record_external(event, stream));
    FAILS(WEIR_ERROR_NOT_CAPTURING, "", weir_stream_wait_event_external(stream, event));
    OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
    OK(weir_stream_wait_event_external(stream, event));
    OK(weir_event_record_external(event, stream));
    weir_graph* graph = NULL;
    OK(weir_stream_end_capture(stream, &graph));
    weir_node_kind kinds[4];
    size_t count = 0;
    OK(weir_graph_get_nodes(graph, 4, kinds, &count));
    CHECK(count == 2 && kinds[0] == WEIR_NODE_EVENT_WAIT && kinds[1] == WEIR_NODE_EVENT_RECORD);
    weir_graph_release(graph);
  }
  weir_event_release(event);
  weir_stream_release(stream);
}

void test_order(void) {
  weir_stream* const held = new_stream();
  weir_stream* const follower = new_stream();
  weir_stream* const free_stream = new_stream();
  counted calls = {0};
  latch gate;
  bool complete = true;

  // By an event, and by the stream itself.
  for (int by_event = 0; by_event < 2; ++by_event) {
    hold(held, &gate);
    weir_event* event = NULL;
    if (by_event) {
      OK(weir_stream_record(held, 0, &event));
      OK(weir_stream_wait_event(follower, event));
      OK(weir_event_query(event, &complete));
      CHECK(!complete);
      OK(weir_event_synchronize_for(event, 1000000, &complete));
      CHECK(!complete);
    } else {
      OK(weir_stream_wait_stream(follower, held));
    }
    OK(weir_stream_launch_host_function(follower, count_call, count_destroy, &calls));
    OK(weir_stream_query(follower, &complete));
    CHECK(!complete);
    OK(weir_stream_synchronize_for(follower, 2000000, &complete));
    CHECK(!complete && atomic_load(&calls.calls) == by_event);
    OK(weir_stream_query(free_stream, &complete));
    CHECK(complete);
    open_latch(&gate);
    OK(weir_stream_synchronize(follower));
    OK(weir_stream_query(follower, &complete));
    CHECK(complete && atomic_load(&calls.calls) == by_event + 1);
    OK(weir_stream_synchronize_for(held, 10000000000, &complete));
    CHECK(complete);
    weir_event_release(event);
  }
  OK(weir_stream_wait_stream(held, held));
  weir_stream_release(held);
  weir_stream_release(follower);
  weir_stream_release(free_stream);
}

void test_pending(void) {
  weir_stream* const stream = new_stream();
  weir_allocation* const word = new_pinned(sizeof(uint32_t));
  weir_pending_work work = {.struct_size = sizeof(work)};
  char* text = NULL;
  OK(weir_stream_pending(stream, &work, &text));
  CHECK(work.kind == WEIR_PENDING_NOTHING && work.behind == 0);
  weir_free(text);
  if (is_host() && has(WEIR_FEATURE_WAIT_VALUE_32)) {
    latch gate;
    hold(stream, &gate);
    OK(weir_stream_wait_value32(stream, weir_allocation_data(word), 7, WEIR_WAIT_EQ, 0));
    while (!atomic_load(&gate.reached)) {
    }
    OK(weir_stream_pending(stream, &work, &text));
    CHECK(work.kind == WEIR_PENDING_HOST_FUNCTION && work.behind == 1 && strstr(text, "host function") != NULL);
    weir_free(text);
    open_latch(&gate);
    do OK(weir_stream_pending(stream, &work, NULL));
    while (work.kind == WEIR_PENDING_HOST_FUNCTION);
    CHECK(work.kind == WEIR_PENDING_VALUE && work.wait.kind == WEIR_WAIT_VALUE32 && work.wait.condition == WEIR_WAIT_EQ);
    CHECK(work.wait.address == weir_allocation_data(word) && work.wait.value == 7 && work.wait.flags == 0);
    OK(weir_stream_pending(stream, NULL, NULL));
    atomic_store((_Atomic uint32_t*)weir_allocation_data(word), 7);
  }
  OK(weir_stream_synchronize(stream));
  weir_stream_release(stream);
  weir_allocation_release(word);
}
