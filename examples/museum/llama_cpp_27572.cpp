// SPDX-License-Identifier: Apache-2.0
//
// llama.cpp #27572: https://github.com/ggml-org/llama.cpp/issues/27572
//
// Wrong: A long prompt is evaluated in several batches by one graph. Its input is copied on the thread's default
// stream, but the graph runs on another stream that does not wait for it. The host waits for each copy before it
// launches the graph, but nothing makes the next copy wait until the graph has read its input. (The thread is open.
// It discusses this cause, and a copy of results that the next graph overtakes.)
// Cost: With several users and long prompts, no drafted token was accepted, instead of 48 to 85 % of them; answers
// were empty, and slower than without drafts.
// Here: Four batches are added up.
// Race: kernel 'evaluate' reads, then Stream::copy writes
// Shake: 19 of 20 seeds, pct 10; without it 18 of 20 runs
#include "museum.hpp"

namespace {

constexpr unsigned n = 4096;
constexpr int batches = 4;

constexpr const char* source = R"(
extern "C" __global__ void evaluate(unsigned n, const float* input, float* sum) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] += input[i];
})";

void run(weir::Device& device, bool fixed) {
  const auto evaluate = device.compile(source)->kernel<void(unsigned, const float*, float*)>("evaluate");
  const weir::StreamPtr upload = device.per_thread_stream(), compute = device.create_stream();
  const auto tokens = device.allocate<float>(n, weir::MemoryKind::pinned);
  const auto input = device.allocate<float>(n), sum = device.allocate<float>(n);
  const auto evaluate_input = [&](weir::Stream& stream) { stream.launch(evaluate, weir::grid_for(n), n, input, sum); };
  const weir::GraphExecPtr graph = compute->capture(evaluate_input)->instantiate();
  compute->fill(sum, 0.0F);

  for (int batch = 1; batch <= batches; ++batch) {
    for (float& token : tokens.host()) token = static_cast<float>(batch);
    if (fixed) upload->wait(*compute);
    upload->copy(input, tokens);
    upload->synchronize();
    graph->launch(*compute);
  }
  museum::expect(compute->read(sum), 1.0F + 2.0F + 3.0F + 4.0F, "sum");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
