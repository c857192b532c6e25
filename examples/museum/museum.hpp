// SPDX-License-Identifier: Apache-2.0
//
// Code that the museum's programs share. Each program runs its broken or its fixed version, and reports whether the result
// is right.
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "weir/weir.hpp"

namespace museum {

/// Throws unless all values are equal to `wanted`. `what`: the name of the values, for the message.
template <class T>
void expect(std::span<const T> values, T wanted, const std::string& what) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == wanted) continue;
    throw std::runtime_error(what + "[" + std::to_string(i) + "] is " + std::to_string(values[i]) + " instead of " +
                             std::to_string(wanted));
  }
}
template <class Values, class T>
void expect(const Values& values, T wanted, const std::string& what) {
  expect(std::span<const T>(values), wanted, what);
}

/// Implements `main` for a program with a broken and a fixed version.
inline int run(int argc, char** argv, const std::function<void(weir::Device&, bool fixed)>& program) {
  const std::string_view version = argc == 2 ? argv[1] : "";
  if (version != "broken" && version != "fixed") {
    std::fprintf(stderr, "usage: %s broken|fixed\n", argv[0]);
    return 2;
  }
  try {
    program(weir::default_device(), version == "fixed");
    std::puts("right");
    return 0;
  } catch (const weir::Error& error) {
    const bool lacks_feature = error.errc() == weir::Errc::unsupported;
    std::printf("%s: %s\n", lacks_feature ? "skipped" : "wrong", error.what());
    return lacks_feature ? 77 : 1;
  } catch (const std::exception& error) {
    std::printf("wrong: %s\n", error.what());
    return 1;
  }
}

}  // namespace museum
