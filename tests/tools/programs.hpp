// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "weir/weir.hpp"

/// Small programs for the tests of tools. A wrong program is next to its correct version.
namespace weir::test {

enum class Suite {
  race,        ///< half of them lack a wait
  validate,    ///< half of them pass wrong memory to operations
  pageable,    ///< the same, for the host backend: they work on a GPU
  on_request,  ///< half of them have mistakes that `validate` reports only on request
  other,       ///< for single tests
};

struct Program {
  Suite suite;
  std::string name;
  void (*run)(Device& device);
  int reports = 0;                ///< number of places that `race` must report
  const char* says = nullptr;     ///< the report of `validate`; null for a correct program
  const char* options = "throw";  ///< the value of WEIR_VALIDATE
};

/// All programs. Each file adds its own by the macros below.
inline std::vector<Program>& programs() {
  static std::vector<Program> all;
  return all;
}

struct AddProgram {
  explicit AddProgram(Program program) { programs().push_back(std::move(program)); }
};

/// Runs a program with the objects that it needs, if the device has these features.
template <class Scene, auto program, Feature... needed>
void run_in(Device& device) {
  if (!(... && device.supports(needed))) return;
  Scene scene(device);
  program(scene, device);
}

/// The scene of the programs for `validate`.
struct NewStream {
  explicit NewStream(Device& device) : stream(device.create_stream()) {}
  operator const StreamPtr&() const { return stream; }  // NOLINT: the programs get the stream
  StreamPtr stream;
};

}  // namespace weir::test

/// `WEIR_TEST_PROGRAM(name) { … }` defines a program without a correct version. It has `device`.
#define WEIR_TEST_PROGRAM(name)                                                     \
  void name(Device& device);                                                        \
  const weir::test::AddProgram add_##name({weir::test::Suite::other, #name, name}); \
  void name([[maybe_unused]] Device& device)

/// `WEIR_TEST_PAIR(name, reports, FEATURES…) { … }` defines a program for `race` with its correct version. It has `right`,
/// `device`, and a `Scene` of the file, `s`.
#define WEIR_TEST_PAIR(name, reports, ...)                                                                        \
  template <bool right>                                                                                           \
  void name(Scene& s, Device& device);                                                                            \
  const weir::test::AddProgram right_##name(                                                                      \
      {weir::test::Suite::race, "right_" #name, run_in<Scene, name<true> __VA_OPT__(, ) __VA_ARGS__>});           \
  const weir::test::AddProgram wrong_##name(                                                                      \
      {weir::test::Suite::race, "wrong_" #name, run_in<Scene, name<false> __VA_OPT__(, ) __VA_ARGS__>, reports}); \
  template <bool right>                                                                                           \
  void name([[maybe_unused]] Scene& s, [[maybe_unused]] Device& device)

/// `WEIR_VALIDATE_PAIR(suite, name, says, OPTIONS) { … }` does so for `validate`. It has `right`, `device` and a `stream`.
#define WEIR_VALIDATE_PAIR(suite, name, says, ...)                                                                       \
  template <bool right>                                                                                                  \
  void name(const StreamPtr& stream, Device& device);                                                                    \
  const weir::test::AddProgram right_##name(                                                                             \
      {weir::test::Suite::suite, "right_" #name, run_in<NewStream, name<true>>, 0, nullptr __VA_OPT__(, ) __VA_ARGS__}); \
  const weir::test::AddProgram wrong_##name(                                                                             \
      {weir::test::Suite::suite, "wrong_" #name, run_in<NewStream, name<false>>, 0, says __VA_OPT__(, ) __VA_ARGS__});   \
  template <bool right>                                                                                                  \
  void name([[maybe_unused]] const StreamPtr& stream, [[maybe_unused]] Device& device)
