// SPDX-License-Identifier: Apache-2.0
#pragma once

// Returns the pull of a mass at this distance, per unit of length.
__device__ inline float pull(float dx, float dy, float dz, float mass, float softening) {
  const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening * softening);
  return mass * inverse * inverse * inverse;
}

// Returns the potential energy of two masses at this distance.
__device__ inline float potential(float dx, float dy, float dz, float masses, float softening) {
  return -masses * rsqrtf(dx * dx + dy * dy + dz * dz + softening * softening);
}
