// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_TESTS_C_CHECK_H
#define WEIR_TESTS_C_CHECK_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "weir/c.h"

// Helpers for the tests of the C interface. They use only C11 and c.h.

// Each notes a failure, and goes on.
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
// The call succeeds.
#define OK(call) check_result(WEIR_SUCCESS, "", (call), #call, __FILE__, __LINE__)
// The call fails so; its message begins with the function's name, and has these words.
#define FAILS(result, words, call) check_result((result), (words), (call), #call, __FILE__, __LINE__)
// The call succeeds where the device has the feature, and is else refused with the reason. Whether it succeeded.
#define NEEDS(feature, call) check_needs((feature), (call), #call, __FILE__, __LINE__)

bool check(bool good, const char* what, const char* file, int line);
bool check_result(weir_result expected, const char* words, weir_result got, const char* call, const char* file, int line);
bool check_needs(weir_feature feature, weir_result got, const char* call, const char* file, int line);

// The device under test, a new stream of it, and pinned memory of so many bytes, all 0.
weir_device* test_device(void);
weir_stream* new_stream(void);
weir_allocation* new_pinned(size_t bytes);
bool has(weir_feature feature);
bool is_host(void);
// Whether the device captures; where it does not, the refusal is asserted.
bool can_capture(weir_stream* stream);
// The kernels of kernel_source; null, once said, where the device cannot compile.
weir_module* test_module(void);
weir_kernel* test_kernel(const char* name);

// Holds a stream until it is opened: a host function that waits.
typedef struct latch {
  atomic_bool open, reached;
} latch;
void hold(weir_stream* stream, latch* held);
void open_latch(latch* held);

// A callback's data, which counts.
typedef struct counted {
  atomic_int calls, destroyed;
} counted;
void count_call(void* user_data);
void count_destroy(void* user_data);
void count_status(weir_stream* stream, weir_result status, void* user_data);

void test_base(void);
void test_nulls(void);  // made by nulls.sh
void test_arguments(void);
void test_structures(void);
void test_devices(void);
void test_objects(void);
void test_launch_kinds(void);
void test_launch_opaque(void);

#endif
