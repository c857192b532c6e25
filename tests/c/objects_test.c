// SPDX-License-Identifier: Apache-2.0
#include "tests/c/check.h"

// Tests features that only C has: getters that cannot fail, texts owned by the library or by the caller, and functions with
// their own results.

// A call that gives `text` succeeds, and the text has these words.
#define HAS_TEXT(words, call)           \
  do {                                  \
    OK(call);                           \
    CHECK(strstr(text, words) != NULL); \
    weir_free(text);                    \
  } while (0)

static void test_backends(void) {
  CHECK(strcmp(weir_backend_known_name(0), "cuda") == 0 && strcmp(weir_backend_known_name(1), "hip") == 0);
  CHECK(strcmp(weir_backend_known_name(2), "host") == 0 && weir_backend_known_name(3) == NULL);
  weir_backend* backend = NULL;
  OK(weir_backend_open_default(&backend));
  CHECK(backend == weir_device_backend(test_device()));
  weir_backend* again = NULL;
  OK(weir_backend_open(weir_backend_name(backend), &again));
  CHECK(again == backend);
  FAILS(WEIR_ERROR_BACKEND_UNKNOWN, "nosuch", weir_backend_open("nosuch", &again));
  CHECK(again == backend);

  weir_backend_info info = {.struct_size = sizeof(info)};
  OK(weir_backend_probe(weir_backend_name(backend), &info));
  CHECK(info.state == WEIR_BACKEND_USABLE && info.backend == backend && strcmp(info.reason, "") == 0);
  CHECK(strcmp(info.name, weir_backend_name(backend)) == 0 && info.plugin_path != NULL && info.plugin_version != NULL);
  for (size_t i = 0; weir_backend_known_name(i) != NULL; ++i) {
    OK(weir_backend_probe(weir_backend_known_name(i), &info));
    CHECK((info.state == WEIR_BACKEND_USABLE) == (info.backend != NULL) && (info.backend != NULL) == (*info.reason == 0));
  }
  weir_backend_versions versions = {.struct_size = sizeof(versions)};
  OK(weir_backend_get_versions(backend, &versions));
  CHECK(versions.driver != NULL && versions.runtime != NULL && versions.library_path != NULL && versions.compiler != NULL);

  CHECK(weir_backend_device_count(backend) >= 1);
  weir_device* device = NULL;
  OK(weir_backend_device(backend, weir_device_ordinal(test_device()), &device));
  CHECK(device == test_device() && weir_device_native_handle(device) >= 0);
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "1000", weir_backend_device(backend, 1000, &device));
  OK(weir_device_get(weir_device_describe(test_device()), &device));
  CHECK(device == test_device());
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "host:x", weir_device_get("host:x", &device));
  weir_device* all[64] = {NULL};
  size_t count = 0, again_count = 0;
  OK(weir_device_enumerate(0, NULL, &count));
  OK(weir_device_enumerate(64, all, &again_count));
  bool is_there = false;
  for (size_t i = 0; i < count && i < 64; ++i) is_there = is_there || all[i] == device;
  CHECK(count == again_count && is_there);
}

static void test_features(void) {
  CHECK(weir_feature_count() > WEIR_FEATURE_BLOCK_COOPERATION);
  for (size_t i = 0; i < weir_feature_count(); ++i) {
    const weir_feature feature = (weir_feature)i;
    weir_feature parsed = (weir_feature)-1;
    OK(weir_feature_parse(weir_feature_name(feature), &parsed));
    CHECK(parsed == feature && strlen(weir_feature_description(feature)) > 0);
    weir_support support = (weir_support)-1;
    const char* reason = NULL;
    OK(weir_device_get_feature(test_device(), feature, &support, &reason));
    OK(weir_device_get_feature(test_device(), feature, NULL, NULL));
    CHECK((support == WEIR_SUPPORT_ABSENT) != has(feature) && (support == WEIR_SUPPORT_NATIVE) == (*reason == '\0'));
    if (has(feature)) {
      OK(weir_device_require(test_device(), &feature, 1));
    } else {
      FAILS(WEIR_ERROR_UNSUPPORTED, reason, weir_device_require(test_device(), &feature, 1));
    }
  }
  OK(weir_device_require(test_device(), NULL, 0));
  const weir_feature none = (weir_feature)1000;
  weir_feature feature = WEIR_FEATURE_MODULES;
  CHECK(weir_feature_name(none) == NULL && weir_feature_description(none) == NULL && !has(none));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "1000", weir_device_get_feature(test_device(), none, NULL, NULL));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "nosuch", weir_feature_parse("nosuch", &feature));
  CHECK(feature == WEIR_FEATURE_MODULES);
}

static void test_health(void) {
  weir_result state = WEIR_ERROR_UNKNOWN;
  char* text = NULL;
  OK(weir_device_health(test_device(), &state, NULL));
  CHECK(state == WEIR_SUCCESS && !weir_device_is_poisoned(test_device()));
  HAS_TEXT("ok", weir_device_health(test_device(), &state, &text));
}

void test_devices(void) {
  test_backends();
  test_features();
  test_health();
}

static void count_frees(void* data, void* user_data) {
  (void)data;
  ++*(int*)user_data;
}

static void test_memory(void) {
  weir_allocation* memory = NULL;
  OK(weir_allocation_create(test_device(), 1000, WEIR_MEMORY_DEVICE, &memory));
  OK(weir_allocation_set_name(memory, "weights"));
  CHECK(weir_allocation_size(memory) == 1000 && weir_allocation_kind(memory) == WEIR_MEMORY_DEVICE);
  CHECK(weir_allocation_data(memory) != NULL && !weir_allocation_host_accessible(memory));
  CHECK(weir_allocation_device(memory) == test_device() && weir_allocation_stream(memory) == NULL);
  CHECK(weir_allocation_retain(memory) == memory);
  weir_allocation_release(memory);
  weir_allocation_release(memory);

  // Adopted memory is freed once, with its last owner.
  static char adopted[64];
  int frees = 0;
  OK(weir_allocation_adopt(test_device(), adopted, sizeof(adopted), WEIR_MEMORY_PINNED, count_frees, &frees, &memory));
  CHECK(weir_allocation_data(memory) == adopted && weir_allocation_kind(memory) == WEIR_MEMORY_PINNED);
  weir_allocation_release(weir_allocation_retain(memory));
  CHECK(frees == 0);
  weir_allocation_release(memory);
  CHECK(frees == 1);

  weir_stream* const stream = new_stream();
  weir_memory_pool* pool = NULL;
  if (NEEDS(WEIR_FEATURE_ASYNC_ALLOCATION, weir_allocation_create_async(stream, 4096, NULL, &memory))) {
    CHECK(weir_allocation_stream(memory) == stream);
    weir_allocation_release(memory);
  }
  if (NEEDS(WEIR_FEATURE_MEMORY_POOLS, weir_memory_pool_create(test_device(), NULL, &pool))) {
    CHECK(weir_memory_pool_device(pool) == test_device() && weir_memory_pool_native_handle(pool) != NULL);
    OK(weir_memory_pool_usage(pool, NULL, NULL));
    CHECK(weir_memory_pool_retain(pool) == pool);
    weir_memory_pool_release(pool);
    weir_memory_pool_release(pool);
  }
  weir_host_registration* registration = NULL;
  void* const data = aligned_alloc(4096, 8192);
  if (NEEDS(WEIR_FEATURE_HOST_REGISTRATION, weir_host_registration_create(test_device(), data, 8192, &registration))) {
    CHECK(weir_host_registration_data(registration) == data && weir_host_registration_size(registration) == 8192);
    CHECK(weir_host_registration_device_pointer(registration) != NULL);
    CHECK(weir_host_registration_retain(registration) == registration);
    weir_host_registration_release(registration);
    weir_host_registration_release(registration);
  }
  free(data);
  weir_stream_release(stream);
}

static void test_streams(void) {
  weir_stream* const stream = new_stream();
  char* text = NULL;
  CHECK(weir_stream_get_kind(stream) == WEIR_STREAM_OWNED && weir_stream_device(stream) == test_device());
  CHECK(weir_stream_native_handle(stream) != NULL && !weir_stream_is_closed(stream));
  CHECK(weir_stream_retain(stream) == stream);
  weir_stream_release(stream);
  counted called = {0};
  if (NEEDS(WEIR_FEATURE_STREAM_CALLBACKS, weir_stream_add_callback(stream, count_status, NULL, &called))) {
    OK(weir_stream_synchronize(stream));
    CHECK(atomic_load(&called.calls) == 1);
  }
  OK(weir_stream_set_name(stream, "copies"));
  HAS_TEXT(" 'copies' ", weir_stream_describe(stream, &text));
  OK(weir_stream_set_name(stream, NULL));
  CHECK(weir_stream_compare(NULL, stream) < 0 && weir_stream_compare(stream, stream) == 0);
  OK(weir_device_priority_range(test_device(), NULL, NULL));
  int32_t least = 0, greatest = 0, priority = 0;
  OK(weir_device_priority_range(test_device(), &least, &greatest));
  const struct {
    weir_priority level;
    int32_t number;
  } levels[] = {{WEIR_PRIORITY_LOW, least}, {WEIR_PRIORITY_HIGH, greatest}, {WEIR_PRIORITY_NUMBER, greatest}};
  for (int i = 0; i < 3; ++i) {
    const weir_stream_options options = {
        .struct_size = sizeof(options), .priority = levels[i].level, .priority_number = greatest};
    weir_stream* other = NULL;
    OK(weir_stream_create(test_device(), &options, &other));
    OK(weir_stream_get_priority(other, &priority));
    CHECK(priority == levels[i].number);
    weir_stream_release(other);
  }

  // The data of a borrowed stream is destroyed with it, and where the call fails.
  counted kept = {0};
  void* native = NULL;
  weir_stream* borrowed = NULL;
  OK(weir_stream_share_native_handle(stream, &native));
  OK(weir_stream_wrap(test_device(), native, WEIR_OWNERSHIP_BORROW, count_destroy, &kept, &borrowed));
  CHECK(weir_stream_get_kind(borrowed) == WEIR_STREAM_BORROWED && atomic_load(&kept.destroyed) == 0);
  weir_stream_release(borrowed);
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "ownership is 7",
        weir_stream_wrap(test_device(), native, (weir_ownership)7, count_destroy, &kept, &borrowed));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "borrow",
        weir_stream_wrap(test_device(), NULL, WEIR_OWNERSHIP_ADOPT, count_destroy, &kept, &borrowed));
  CHECK(atomic_load(&kept.destroyed) == 3);

  weir_event* event = NULL;
  OK(weir_event_create(test_device(), WEIR_EVENT_DEFAULT, &event));
  CHECK(weir_event_device(event) == test_device() && !weir_event_is_recorded(event) && weir_event_get_flags(event) == 0);
  OK(weir_event_record(event, stream));
  CHECK(weir_event_is_recorded(event) && weir_event_native_handle(event) == weir_event_share_native_handle(event));
  OK(weir_event_set_name(event, "copied"));
  HAS_TEXT("'copied'", weir_event_describe(event, &text));
  CHECK(weir_event_retain(event) == event);
  weir_event_release(event);
  weir_event_release(event);
  weir_event* start = NULL;
  weir_event* end = NULL;
  double milliseconds = -1;
  if (NEEDS(WEIR_FEATURE_EVENT_TIMING, weir_stream_record(stream, WEIR_EVENT_TIMING, &start))) {
    OK(weir_event_create(test_device(), WEIR_EVENT_TIMING, &end));
    CHECK(weir_event_get_flags(end) == WEIR_EVENT_TIMING);
    FAILS(WEIR_ERROR_NOT_RECORDED, "", weir_event_elapsed_time(start, end, &milliseconds));
    CHECK(milliseconds == -1);
  }
  weir_event_release(start);
  weir_event_release(end);
  weir_stream_release(stream);
}

static void test_pending(void) {
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
    HAS_TEXT("host function", weir_stream_pending(stream, &work, &text));
    CHECK(work.kind == WEIR_PENDING_HOST_FUNCTION && work.behind == 1);
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

static void test_modules(void) {
  if (test_module() == NULL) return;
  CHECK(weir_module_device(test_module()) == test_device() && weir_module_native_handle(test_module()) != NULL);
  weir_kernel* const add = test_kernel("add");
  CHECK(strcmp(weir_kernel_name(add), "add") == 0 && weir_kernel_native_handle(add) != NULL);
  CHECK(weir_kernel_module(add) == test_module() && weir_kernel_retain(add) == add);
  weir_kernel_release(add);
  OK(weir_module_get_global(test_module(), "factor", NULL, NULL));
  size_t sizes[4] = {0}, count = 0;
  if (weir_kernel_get_parameter_sizes(add, 4, sizes, &count) == WEIR_SUCCESS)
    CHECK(count == 2 && sizes[0] == sizeof(int*) && sizes[1] == sizeof(int));
  weir_kernel_release(add);
  CHECK(weir_module_retain(test_module()) == test_module());
  weir_module_release(test_module());

  // An instance of a template: an option of the compilation.
  weir_kernel_release(test_kernel("scale<float>"));
  void* image = NULL;
  char* log = NULL;
  size_t bytes = 0;
  const char* const backend = weir_backend_name(weir_device_backend(test_device()));
  if (!is_host()) return;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "", weir_compile_image(backend, "", "nonsense", NULL, &image, &bytes, &log));
  CHECK(image == NULL && log == NULL);
#ifdef __x86_64__
  OK(weir_compile_image(backend, "x86-64", "extern \"C\" __global__ void set(int* x) { *x = 1; }", NULL, &image, &bytes,
                        &log));
  CHECK(bytes > 0 && log != NULL);
  weir_module* module = NULL;
  OK(weir_module_load(test_device(), image, bytes, &module));
  weir_module_release(module);
  weir_free(image);
  weir_free(log);
#endif
}

static weir_result body_fails(weir_stream* stream, void* user_data) {
  (void)user_data;
  return weir_stream_synchronize(stream);
}
static weir_result body_refuses(weir_stream* stream, void* user_data) {
  (void)stream, (void)user_data;
  return WEIR_ERROR_NOT_READY;
}
static weir_result numbered_body(weir_stream* stream, size_t number, void* user_data) {
  return number == 2 ? WEIR_ERROR_NOT_READY : weir_stream_fill(stream, user_data, 1, 4, 1);
}

// What a body returns is what the call returns; the message is that of the call that failed in it.
static void test_bodies(weir_stream* stream, uint32_t* data) {
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "body is null", weir_stream_capture_if(stream, data, NULL, NULL));
  CHECK(weir_stream_capture_if(stream, data, body_fails, NULL) == WEIR_ERROR_CAPTURE_UNSUPPORTED);
  CHECK(strstr(weir_last_error_message(), "weir_stream_synchronize") == weir_last_error_message());
  OK(weir_stream_discard_capture(stream));
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  FAILS(WEIR_ERROR_NOT_READY, "the body returned 22", weir_stream_capture_while(stream, data, body_refuses, NULL));
  OK(weir_stream_discard_capture(stream));
  if (!has(WEIR_FEATURE_GRAPH_SWITCH_NODES)) return;
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "otherwise is null", weir_stream_capture_if_else(stream, data, body_fails, NULL, data));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "body is null", weir_stream_capture_switch(stream, data, 2, NULL, data));
  FAILS(WEIR_ERROR_NOT_READY, "the body returned 22", weir_stream_capture_switch(stream, data, 3, numbered_body, data));
  OK(weir_stream_discard_capture(stream));
}

static void test_graphs(void) {
  weir_stream* const stream = new_stream();
  weir_allocation* const memory = new_pinned(4096);
  weir_graph* graph = NULL;
  weir_graph_exec* exec = NULL;
  char* text = NULL;
  if (can_capture(stream)) {
    OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
    OK(weir_stream_fill(stream, weir_allocation_data(memory), 7, 4, 16));
    OK(weir_stream_end_capture(stream, &graph));
    CHECK(weir_graph_device(graph) == test_device() && weir_graph_retain(graph) == graph);
    (void)weir_graph_native_handle(graph);
    weir_graph_release(graph);
    HAS_TEXT("graph", weir_graph_describe(graph, &text));
    weir_node_kind kind = WEIR_NODE_OTHER;
    size_t count = 0;
    OK(weir_graph_get_nodes(graph, 1, &kind, &count));
    CHECK(count == 1 && kind == WEIR_NODE_FILL);
    OK(weir_graph_get_edges(graph, 0, NULL, &count));
    CHECK(count == 0);
    OK(weir_graph_instantiate(graph, 0, &exec));
    CHECK(weir_graph_exec_device(exec) == test_device() && weir_graph_exec_retain(exec) == exec);
    (void)weir_graph_exec_native_handle(exec);
    weir_graph_exec_release(exec);
    HAS_TEXT("graph", weir_graph_exec_describe(exec, &text));
    if (has(WEIR_FEATURE_GRAPH_CONDITIONAL_NODES)) test_bodies(stream, weir_allocation_data(memory));
    weir_graph_exec_release(exec);
    weir_graph_release(graph);
  }
  weir_stream_release(stream);
  weir_allocation_release(memory);
}

// x = 7, which is scratch memory of the saved graph; y = x, which is bound; and a call of "report".
static void test_portable_graphs(void) {
  weir_stream* const stream = new_stream();
  weir_allocation* const memory = new_pinned(8192);
  uint32_t* const x = weir_allocation_data(memory);
  uint32_t* const y = x + 1024;
  weir_named_memory names[] = {{"x", x, 64, WEIR_MEMORY_PINNED, WEIR_ROLE_SCRATCH},
                               {"y", y, 64, WEIR_MEMORY_PINNED, WEIR_ROLE_BOUND}};
  weir_graph* graph = NULL;
  weir_portable_graph* loaded = NULL;
  void* bytes = NULL;
  char* text = NULL;
  size_t size = 0;
  if (can_capture(stream) && has(WEIR_FEATURE_HOST_FUNCTIONS_IN_CAPTURE)) {
    OK(weir_stream_begin_portable_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
    OK(weir_stream_fill(stream, x, 7, 4, 16));
    OK(weir_stream_copy(stream, y, x, 64));
    OK(weir_stream_launch_named_host_function(stream, "report", count_call, NULL, &(counted){0}));
    OK(weir_stream_end_capture(stream, &graph));
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "memory is null", weir_graph_save_bytes(graph, NULL, 2, &bytes, &size));
    names[0].role = (weir_memory_role)3;
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "role is 3", weir_graph_save_bytes(graph, names, 2, &bytes, &size));
    names[0].role = WEIR_ROLE_SCRATCH;
    OK(weir_graph_save_bytes(graph, names, 2, &bytes, &size));
    OK(weir_device_load_graph_bytes(test_device(), bytes, size, &loaded));
    weir_free(bytes);
    weir_graph_release(graph);
    CHECK(weir_portable_graph_device(loaded) == test_device() && weir_portable_graph_retain(loaded) == loaded);
    weir_portable_graph_release(loaded);
    CHECK(strchr(weir_portable_graph_captured_on(loaded), ' ') != NULL);
    HAS_TEXT("portable graph", weir_portable_graph_describe(loaded, &text));
    OK(weir_portable_graph_get_memory(loaded, 1, NULL, NULL));
    HAS_TEXT("y", weir_portable_graph_get_memory(loaded, 1, NULL, &text));
    HAS_TEXT("report", weir_portable_graph_get_host_function(loaded, 0, &text));
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "index is 2", weir_portable_graph_get_memory(loaded, 2, NULL, NULL));
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "index is 1", weir_portable_graph_get_host_function(loaded, 1, &text));
    counted data = {0};
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "'nosuch'",
          weir_portable_graph_bind_host_function(loaded, "nosuch", count_call, count_destroy, &data));
    CHECK(atomic_load(&data.destroyed) == 1);
    weir_portable_graph_release(loaded);
  }
  weir_stream_release(stream);
  weir_allocation_release(memory);
}

void test_objects(void) {
  test_memory();
  test_streams();
  test_pending();
  test_modules();
  test_graphs();
  test_portable_graphs();
}
