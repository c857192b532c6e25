// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a mass at that distance pulls with, for each unit of length.
__device__ inline float pull(float dx, float dy, float dz, float mass, float softening) {
  const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening * softening);
  return mass * inverse * inverse * inverse;
}

// What two masses at that distance have of potential energy.
__device__ inline float potential(float dx, float dy, float dz, float masses, float softening) {
  return -masses * rsqrtf(dx * dx + dy * dy + dz * dz + softening * softening);
}
