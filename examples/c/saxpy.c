// SPDX-License-Identifier: Apache-2.0
//
// Computes y = a * x + y a hundred times, in C, with a kernel compiled at run time, a graph, a host function and an error.
#include <stdio.h>
#include <stdlib.h>
#include <weir/c.h>

static const char source[] =
    "extern \"C\" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {\n"
    "  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n";

static void need(weir_result result) {
  if (result == WEIR_SUCCESS) return;
  fprintf(stderr, "%s\n", weir_last_error_message());
  exit(1);
}

static void say(void* user_data) { printf("the graph has run %d times\n", *(int*)user_data); }

int main(void) {
  enum { n = 1 << 20 };
  int steps = 100;
  weir_device* device = NULL;
  weir_stream* stream = NULL;
  weir_module* module = NULL;
  weir_kernel* saxpy = NULL;
  weir_allocation *x_memory = NULL, *y_memory = NULL;
  need(weir_device_get_default(&device));  // the CPU if there is no GPU; WEIR_BACKEND selects another
  need(weir_stream_create(device, NULL, &stream));
  need(weir_module_compile(device, source, NULL, &module));
  need(weir_module_get_kernel(module, "saxpy", &saxpy));
  need(weir_allocation_create(device, n * sizeof(float), WEIR_MEMORY_DEVICE, &x_memory));
  need(weir_allocation_create(device, n * sizeof(float), WEIR_MEMORY_DEVICE, &y_memory));
  void* x = weir_allocation_data(x_memory);
  void* y = weir_allocation_data(y_memory);

  const float one = 1;
  need(weir_stream_fill_pattern(stream, x, &one, sizeof(one), sizeof(one), n));
  need(weir_stream_fill(stream, y, 0, sizeof(float), n));

  // Capture the launch into a graph, and launch the graph a hundred times.
  unsigned int count = n;
  float a = 0.5F;
  void* arguments[] = {&count, &a, &x, &y};
  const size_t sizes[] = {sizeof(count), sizeof(a), sizeof(x), sizeof(y)};
  weir_launch_config config = {.struct_size = sizeof(config)};
  weir_graph* graph = NULL;
  weir_graph_exec* exec = NULL;
  need(weir_grid_for(n, 256, &config));
  need(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  need(weir_stream_launch(stream, saxpy, &config, arguments, sizes, 4));
  need(weir_stream_end_capture(stream, &graph));
  need(weir_graph_instantiate(graph, WEIR_INSTANTIATE_DEFAULT, &exec));
  for (int i = 0; i < steps; ++i) need(weir_graph_exec_launch(exec, stream));
  need(weir_stream_launch_host_function(stream, say, NULL, &steps));

  float* const result = malloc(n * sizeof(float));
  need(weir_stream_read(stream, result, y, n * sizeof(float)));
  for (int i = 0; i < n; ++i) {
    if (result[i] != a * (float)steps) {
      printf("wrong: %g at %d\n", result[i], i);
      return 1;
    }
  }
  printf("%d steps on %s: every element is %g\n", steps, weir_device_describe(device), result[0]);
  free(result);

  // An invalid call fails with a message.
  if (weir_stream_launch(stream, saxpy, &config, arguments, sizes, 3) != WEIR_ERROR_INVALID_ARGUMENT) return 1;
  printf("%s\n", weir_last_error_message());

  // Objects can be released in any order.
  weir_stream_release(stream);
  weir_graph_exec_release(exec);
  weir_graph_release(graph);
  weir_kernel_release(saxpy);
  weir_module_release(module);
  weir_allocation_release(x_memory);
  weir_allocation_release(y_memory);
}
