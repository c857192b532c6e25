// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <stdio.h>

#include "tests/c/check.h"

// Tests versions, results, and the last error of each thread.

static void* other_thread(void* first_message) {
  CHECK(strcmp(weir_last_error_message(), "") == 0);
  weir_error error = {.struct_size = sizeof(error)};
  OK(weir_last_error(&error));
  CHECK(error.code == WEIR_SUCCESS && strcmp(error.message, "") == 0 && strcmp(error.native_name, "") == 0);
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "device is null", weir_device_synchronize(NULL));
  CHECK(weir_last_error_message() != first_message);
  return NULL;
}

void test_base(void) {
  char version[32];
  snprintf(version, sizeof(version), "%u.%u.%u", weir_version() / 10000, weir_version() / 100 % 100, weir_version() % 100);
  CHECK(strcmp(version, weir_version_string()) == 0);
  CHECK(weir_c_revision() == WEIR_C_REVISION);

  CHECK(strcmp(weir_result_name(WEIR_SUCCESS), "success") == 0);
  CHECK(strcmp(weir_result_name(WEIR_ERROR_STREAM_CLOSED), "stream_closed") == 0);
  CHECK(strcmp(weir_result_name(WEIR_ERROR_UNKNOWN), "unknown") == 0);
  CHECK(strcmp(weir_result_name((weir_result)500), "unknown") == 0);
  for (int code = 1; code <= WEIR_ERROR_COMMUNICATOR_FAILED; ++code)
    CHECK(strcmp(weir_result_name((weir_result)code), "unknown") != 0);

  // An error of the library's, in parts.
  weir_stream* const stream = new_stream();
  OK(weir_stream_close(stream));
  FAILS(WEIR_ERROR_STREAM_CLOSED, "the stream was closed", weir_stream_synchronize(stream));
  weir_error error = {.struct_size = sizeof(error)};
  OK(weir_last_error(&error));
  CHECK(error.code == WEIR_ERROR_STREAM_CLOSED && error.message == weir_last_error_message());
  CHECK(strcmp(error.operation, "Stream::synchronize") == 0);
  CHECK(strstr(error.object, weir_device_describe(test_device())) == error.object);
  CHECK(strstr(error.message, error.detail) != NULL && strlen(error.detail) > 0 && error.native_code == 0);

  // It stays until the next failure of this thread, whatever others do and whatever succeeds.
  char before[512];
  snprintf(before, sizeof(before), "%s", weir_last_error_message());
  OK(weir_device_synchronize(test_device()));
  weir_stream_release(stream);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, other_thread, (void*)weir_last_error_message()) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(strcmp(before, weir_last_error_message()) == 0);

  // One of this interface's own.
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "error is null", weir_last_error(NULL));
  OK(weir_last_error(&error));
  CHECK(strcmp(error.operation, "weir_last_error") == 0 && strcmp(error.object, "") == 0);

  weir_free(NULL);
}
