// SPDX-License-Identifier: Apache-2.0
// The host's random numbers are those of libstdc++ (cudart/include/random has its own code for them).
#include <cmath>
#include <random>

#include "check.h"

template <class Engine>
int check() {
  // What generate_canonical is defined to do; an engine of another type gets libstdc++'s code.
  struct Other : Engine {
    using Engine::Engine;
  };
  Engine engine(7);
  Other other(7);
  for (int i = 0; i < 1000; ++i) {
    CHECK((std::generate_canonical<float, 24>(engine) == std::generate_canonical<float, 24>(other)));
    CHECK((std::generate_canonical<double, 53>(engine) == std::generate_canonical<double, 53>(other)));
    std::normal_distribution<float> normal(1, 2), normal_too(1, 2);
    CHECK(normal(engine) == normal_too(other));
  }
  return 0;
}

int main() {
  return check<std::minstd_rand0>() || check<std::minstd_rand>() || check<std::mt19937>() || check<std::mt19937_64>();
}
