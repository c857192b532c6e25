// SPDX-License-Identifier: Apache-2.0
#include "tests/c/check.h"

// Streams: how they are made and closed, what they are, attributes, current streams.

static weir_result create(weir_stream_options options, weir_stream** stream) {
  options.struct_size = sizeof(options);
  return weir_stream_create(test_device(), &options, stream);
}

void test_streams(void) {
  weir_stream* const stream = new_stream();
  weir_stream* other = new_stream();
  bool flag = false;
  uint64_t id = 0, other_id = 0;
  int32_t priority = 0, least = 0, greatest = 0;
  CHECK(weir_stream_get_kind(stream) == WEIR_STREAM_OWNED && weir_stream_device(stream) == test_device());
  CHECK(weir_stream_native_handle(stream) != NULL && !weir_stream_is_closed(stream));
  OK(weir_stream_is_non_blocking(stream, &flag));
  CHECK(flag);
  OK(weir_stream_id(stream, &id));
  OK(weir_stream_id(other, &other_id));
  CHECK(id != other_id);
  char* text = NULL;
  OK(weir_stream_describe(stream, &text));
  CHECK(strstr(text, weir_device_describe(test_device())) == text);
  weir_free(text);
  OK(weir_stream_set_name(stream, "copies"));
  OK(weir_stream_describe(stream, &text));
  CHECK(strstr(text, " 'copies' ") != NULL);
  weir_free(text);
  OK(weir_stream_set_name(stream, NULL));

  CHECK(weir_stream_compare(stream, stream) == 0 && weir_stream_hash(stream) == weir_stream_hash(stream));
  CHECK(weir_stream_compare(stream, other) == -weir_stream_compare(other, stream) &&
        weir_stream_compare(stream, other) != 0);
  CHECK(weir_stream_compare(NULL, stream) < 0 && weir_stream_compare(NULL, NULL) == 0 && weir_stream_hash(NULL) == 0);
  weir_stream_release(other);

  // Options.
  OK(create((weir_stream_options){.flags = WEIR_STREAM_BLOCKING}, &other));
  OK(weir_stream_is_non_blocking(other, &flag));
  CHECK(!flag);
  weir_stream_release(other);
  OK(weir_device_priority_range(test_device(), &least, &greatest));
  OK(weir_device_priority_range(test_device(), NULL, NULL));
  CHECK(least >= greatest);
  OK(create((weir_stream_options){.priority = WEIR_PRIORITY_HIGH}, &other));
  OK(weir_stream_get_priority(other, &priority));
  CHECK(priority == greatest);
  weir_stream_release(other);
  OK(create((weir_stream_options){.priority = WEIR_PRIORITY_LOW}, &other));
  OK(weir_stream_get_priority(other, &priority));
  CHECK(priority == least);
  weir_stream_release(other);
  OK(create((weir_stream_options){.priority = WEIR_PRIORITY_NUMBER, .priority_number = greatest}, &other));
  weir_stream_release(other);
  other = NULL;
  const weir_stream_options out_of_range = {
      .struct_size = sizeof(out_of_range), .priority = WEIR_PRIORITY_NUMBER, .priority_number = 999};
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "999", weir_stream_create(test_device(), &out_of_range, &other));
  CHECK(other == NULL);

  // References, and the end.
  CHECK(weir_stream_retain(stream) == stream);
  weir_stream_release(stream);
  OK(weir_stream_synchronize(stream));
  OK(weir_stream_close(stream));
  OK(weir_stream_close(stream));
  CHECK(weir_stream_is_closed(stream));
  FAILS(WEIR_ERROR_STREAM_CLOSED, "closed", weir_stream_query(stream, &flag));
  OK(weir_stream_describe(stream, &text));
  CHECK(strstr(text, "closed") != NULL);
  weir_free(text);
  weir_stream_release(stream);
  CHECK(weir_stream_retain(NULL) == NULL);
  weir_stream_release(NULL);
}

void test_wrapping(void) {
  counted kept = {0};
  weir_stream* const theirs = new_stream();
  void* native = NULL;
  OK(weir_stream_share_native_handle(theirs, &native));
  CHECK(native == weir_stream_native_handle(theirs));

  weir_stream* stream = NULL;
  OK(weir_stream_wrap(test_device(), native, WEIR_OWNERSHIP_BORROW, count_destroy, &kept, &stream));
  CHECK(weir_stream_get_kind(stream) == WEIR_STREAM_BORROWED && weir_stream_compare(stream, theirs) == 0);
  CHECK(weir_stream_hash(stream) == weir_stream_hash(theirs) && atomic_load(&kept.destroyed) == 0);
  weir_stream_release(stream);
  CHECK(atomic_load(&kept.destroyed) == 1);
  OK(weir_stream_synchronize(theirs));

  // Adopted: the wrapper destroys it.
  OK(weir_stream_release_handle(theirs, &native));
  CHECK(weir_stream_is_closed(theirs));
  weir_stream_release(theirs);
  OK(weir_stream_wrap(test_device(), native, WEIR_OWNERSHIP_ADOPT, NULL, NULL, &stream));
  CHECK(weir_stream_get_kind(stream) == WEIR_STREAM_ADOPTED);
  weir_stream_release(stream);

  // The data is destroyed where the call fails, too.
  stream = NULL;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "ownership is 7",
        weir_stream_wrap(test_device(), native, (weir_ownership)7, count_destroy, &kept, &stream));
  CHECK(stream == NULL && atomic_load(&kept.destroyed) == 2);
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "borrow",
        weir_stream_wrap(test_device(), NULL, WEIR_OWNERSHIP_ADOPT, count_destroy, &kept, &stream));
  CHECK(stream == NULL && atomic_load(&kept.destroyed) == 3);

  // Default streams.
  OK(weir_stream_get_default(test_device(), &stream));
  CHECK(weir_stream_get_kind(stream) == WEIR_STREAM_LEGACY_DEFAULT);
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "default", weir_stream_close(stream));
  void* handle = &handle;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "", weir_stream_release_handle(stream, &handle));
  CHECK(handle == &handle);
  OK(weir_stream_synchronize(stream));
  weir_stream_release(stream);
  if (NEEDS(WEIR_FEATURE_PER_THREAD_DEFAULT_STREAM, weir_stream_get_per_thread(test_device(), &stream))) {
    CHECK(weir_stream_get_kind(stream) == WEIR_STREAM_PER_THREAD_DEFAULT);
    weir_stream_release(stream);
  }
}

void test_current(void) {
  weir_stream* const first = new_stream();
  weir_stream* const second = new_stream();
  weir_stream* current = NULL;
  weir_stream_scope *outer = NULL, *inner = NULL;
  OK(weir_stream_scope_begin(first, &outer));
  OK(weir_stream_scope_begin(second, &inner));
  OK(weir_stream_get_current(test_device(), &current));
  CHECK(current == second);
  weir_stream_release(current);
  weir_stream_scope_end(inner);
  OK(weir_stream_get_current(test_device(), &current));
  CHECK(current == first);
  weir_stream_release(current);
  weir_stream_scope_end(outer);
  weir_stream_scope_end(NULL);
  OK(weir_stream_get_current(test_device(), &current));
  CHECK(weir_stream_get_kind(current) == WEIR_STREAM_LEGACY_DEFAULT);
  weir_stream_release(current);

  OK(weir_stream_close(first));
  outer = NULL;
  FAILS(WEIR_ERROR_STREAM_CLOSED, "closed", weir_stream_scope_begin(first, &outer));
  CHECK(outer == NULL);
  weir_stream_release(first);
  weir_stream_release(second);
}

void test_attributes(void) {
  weir_stream* const stream = new_stream();
  weir_stream* const other = new_stream();
  weir_synchronization_policy policy = WEIR_SYNCHRONIZATION_AUTOMATIC;
  if (NEEDS(WEIR_FEATURE_SYNCHRONIZATION_POLICY,
            weir_stream_set_synchronization_policy(stream, WEIR_SYNCHRONIZATION_YIELD))) {
    OK(weir_stream_copy_attributes(other, stream));
    OK(weir_stream_get_synchronization_policy(other, &policy));
    CHECK(policy == WEIR_SYNCHRONIZATION_YIELD);
  } else {
    NEEDS(WEIR_FEATURE_SYNCHRONIZATION_POLICY, weir_stream_get_synchronization_policy(stream, &policy));
  }
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "policy is 9",
        weir_stream_set_synchronization_policy(stream, (weir_synchronization_policy)9));

  weir_access_policy_window window = {.struct_size = sizeof(window), .hit_ratio = 0.5F, .hit = WEIR_ACCESS_PERSISTING};
  if (NEEDS(WEIR_FEATURE_ACCESS_POLICY_WINDOW, weir_stream_get_access_policy_window(stream, &window))) {
    OK(weir_stream_set_access_policy_window(stream, &window));
    window.hit_ratio = 2;
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "", weir_stream_set_access_policy_window(stream, &window));
  } else {
    NEEDS(WEIR_FEATURE_ACCESS_POLICY_WINDOW, weir_stream_set_access_policy_window(stream, &window));
  }
  void* context = NULL;
  NEEDS(WEIR_FEATURE_NATIVE_CONTEXT, weir_stream_native_context(stream, &context));
  weir_stream_release(stream);
  weir_stream_release(other);
}
