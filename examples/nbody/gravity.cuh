// SPDX-License-Identifier: Apache-2.0
#pragma once

// The pull of one body on another. A body's w is its mass.
__device__ inline float3 attract(float3 acceleration, float4 own, float4 other, float softening) {
  const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
  const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening * softening);
  const float pull = other.w * inverse * inverse * inverse;
  acceleration.x += dx * pull;
  acceleration.y += dy * pull;
  acceleration.z += dz * pull;
  return acceleration;
}

// Likewise what the pair has of potential energy, in half, since each pair is met twice.
__device__ inline float potential(float4 own, float4 other, float softening) {
  const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
  return -0.5f * own.w * other.w * rsqrtf(dx * dx + dy * dy + dz * dz + softening * softening);
}
