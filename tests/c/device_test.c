// SPDX-License-Identifier: Apache-2.0
#include "tests/c/check.h"

// Backends, devices, features, health.

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
  CHECK(device == test_device());
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "1000", weir_backend_device(backend, 1000, &device));
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
  CHECK(strcmp(weir_feature_name(WEIR_FEATURE_GRAPH_CAPTURE), "graph_capture") == 0);
  OK(weir_device_require(test_device(), NULL, 0));

  const weir_feature none = (weir_feature)1000;
  weir_feature feature = WEIR_FEATURE_MODULES;
  CHECK(weir_feature_name(none) == NULL && weir_feature_description(none) == NULL && !has(none));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "1000", weir_device_get_feature(test_device(), none, NULL, NULL));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "1000", weir_device_require(test_device(), &none, 1));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "nosuch", weir_feature_parse("nosuch", &feature));
  CHECK(feature == WEIR_FEATURE_MODULES);
}

void test_devices(void) {
  test_backends();
  test_features();

  weir_device* const device = test_device();
  weir_device* found = NULL;
  OK(weir_device_get(weir_device_describe(device), &found));
  CHECK(found == device && weir_device_native_handle(device) >= 0);
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "host:x", weir_device_get("host:x", &found));

  size_t count = 0;
  OK(weir_device_enumerate(0, NULL, &count));
  weir_device* all[64] = {NULL};
  size_t again = 0;
  OK(weir_device_enumerate(64, all, &again));
  bool is_there = false;
  for (size_t i = 0; i < again && i < 64; ++i) is_there = is_there || all[i] == device;
  CHECK(count == again && is_there);

  weir_device_properties properties = {.struct_size = sizeof(properties)};
  OK(weir_device_get_properties(device, &properties));
  CHECK(*properties.name != 0 && *properties.architecture != 0 && properties.uuid != NULL && properties.pci_bus_id != NULL);
  CHECK(properties.multiprocessor_count > 0 && properties.warp_size > 0 && properties.max_threads_per_block > 0);
  CHECK(properties.max_block.x > 0 && properties.max_grid.z > 0 && properties.flags < 8);

  size_t available = 0, total = 0;
  OK(weir_device_memory_info(device, &available, &total));
  OK(weir_device_memory_info(device, NULL, NULL));
  CHECK(available <= total);
  OK(weir_device_synchronize(device));
  bool complete = false;
  OK(weir_device_synchronize_for(device, 10000000000, &complete));
  CHECK(complete);

  bool can = true;
  OK(weir_device_can_access_peer(device, device, &can));
  CHECK(!can);
  CHECK(weir_device_enable_peer_access(device, device) != WEIR_SUCCESS);
  if (weir_backend_device_count(weir_device_backend(device)) > 1) {
    weir_device* peer = NULL;
    OK(weir_backend_device(weir_device_backend(device), weir_device_ordinal(device) == 0, &peer));
    OK(weir_device_can_access_peer(device, peer, &can));
    if (can) {
      OK(weir_device_enable_peer_access(device, peer));
      OK(weir_device_disable_peer_access(device, peer));
    }
  }

  weir_result state = WEIR_ERROR_UNKNOWN;
  char* description = NULL;
  OK(weir_device_health(device, &state, &description));
  CHECK(state == WEIR_SUCCESS && strcmp(description, "ok") == 0 && !weir_device_is_poisoned(device));
  weir_free(description);
  OK(weir_device_health(device, &state, NULL));
}
