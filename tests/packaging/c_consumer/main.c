// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <weir/c.h>

// Prints where the host plugin came from.
int main(void) {
  weir_backend_info info = {.struct_size = sizeof(info)};
  weir_device* device = NULL;
  weir_stream* stream = NULL;
  uint32_t value = 0;
  if (weir_backend_probe("host", &info) != WEIR_SUCCESS || weir_device_get("host", &device) != WEIR_SUCCESS ||
      weir_stream_create(device, NULL, &stream) != WEIR_SUCCESS ||
      weir_stream_fill(stream, &value, 7, sizeof(value), 1) != WEIR_SUCCESS ||
      weir_stream_synchronize(stream) != WEIR_SUCCESS || value != 7) {
    fprintf(stderr, "%s\n", weir_last_error_message());
    return 1;
  }
  weir_stream_release(stream);
  puts(info.plugin_path);
}
