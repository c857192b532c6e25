// SPDX-License-Identifier: Apache-2.0
//
// stable-audio-3 #80: https://github.com/Stability-AI/stable-audio-3/pull/80
//
// Wrong: A TensorRT engine runs on its own stream. The caller waits for that stream, so the output is safe to read.
// But the engine does not wait for the caller's stream, which is still writing the input.
// Cost: Wrong sound in the default configuration, with no error and exit status 0.
// Here: The input is cast on the caller's stream, and the decoder reads it on the engine's.
// Race: kernel 'cast' reads and writes, then kernel 'decode' reads
// Shake: 14 of 20 seeds, pct 12; without it 0 of 20 runs
#include "museum.hpp"

namespace {

constexpr unsigned n = 1 << 12;

constexpr const char* source = R"(
extern "C" __global__ void cast(unsigned n, const int* from, float* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = static_cast<float>(from[i]);
}
extern "C" __global__ void decode(unsigned n, const float* latent, float* audio) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) audio[i] = 0.5F * latent[i];
})";

void run(weir::Device& device, bool fixed) {
  const auto module = device.compile(source);
  const auto cast = module->kernel<void(unsigned, const int*, float*)>("cast");
  const auto decode = module->kernel<void(unsigned, const float*, float*)>("decode");
  const auto caller = device.create_stream(), engine = device.create_stream();
  const auto tokens = device.allocate<int>(n);
  const auto latent = device.allocate<float>(n), audio = device.allocate<float>(n);
  caller->fill(tokens, 2);
  caller->fill(latent, 0.0F);
  caller->synchronize();

  caller->launch(cast, weir::grid_for(n), n, tokens, latent);
  if (fixed) engine->wait(*caller);
  engine->launch(decode, weir::grid_for(n), n, latent, audio);
  engine->synchronize();  // makes the output safe to read, but not the input
  museum::expect(engine->read(audio), 1.0F, "audio");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
