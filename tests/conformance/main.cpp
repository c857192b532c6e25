// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "options.hpp"
#include "processes.hpp"
#include "report.hpp"
#include "support.hpp"
#include "weir/weir.hpp"

namespace {

constexpr int exit_failed = 1, exit_usage = 2, exit_skipped = 77;

// A driver that maps many streams onto few queues lets a held stream hold up others that share its queue. The suite tests the
// order of streams, not the number of queues, so it asks for as many as the drivers give; a value of the user's own stands.
void ask_for_queues() {
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  ::setenv("GPU_MAX_HW_QUEUES", "8", 0);
}

weir::Device& choose_device(const conformance::Options& options) {
  auto& registry = weir::Registry::instance();
  if (options.backend.empty() && !options.device) return registry.default_device();
  weir::Backend& backend = options.backend.empty() ? registry.default_backend() : registry.open(options.backend);
  return backend.device(options.device.value_or(0));
}

int run(int argc, char** argv) {
  const conformance::Options options = conformance::parse_options(argc, argv);
  if (options.help) {
    std::cout << conformance::usage;
    return 0;
  }
  std::vector<const char*> arguments;
  for (const std::string& argument : options.doctest) arguments.push_back(argument.c_str());
  arguments.push_back("--no-path-filenames=true");
  if (options.list) {
    // doctest's own query, answered by the suite's listener in place of doctest's reporters.
    conformance::list_rows_instead_of_running();
    arguments.push_back("--list-test-cases");
    arguments.push_back("--reporters=none");
  }
  doctest::Context context(static_cast<int>(arguments.size()), arguments.data());
  if (options.list) return context.run();

  ask_for_queues();
  weir::Device* device = nullptr;
  try {
    device = &choose_device(options);
  } catch (const weir::Error& e) {
    const bool required = !options.require.empty();
    std::cout << (required ? "required and not usable: " : "skipped: ") << e.what() << "\n0 passed, " << (required ? 1 : 0)
              << " failed, " << (required ? 0 : 1) << " skipped" << std::endl;
    return required ? exit_failed : exit_skipped;
  }
  conformance::set_device(*device);
  if (!options.child.empty()) return conformance::play_child(options.child, options.child_argument);

  conformance::set_child_command({"/proc/self/exe", "--require=" + device->backend().name(),
                                  "--device=" + std::to_string(device->ordinal())});
  // A backend without a driver has the version of the library that it comes with.
  const std::string& driver = device->backend().versions().driver;
  const std::string version = driver.empty() ? weir::version() : driver;
  std::vector<conformance::KnownFailure> known;
  if (!options.known_failures.empty()) known = conformance::read_known_failures(options.known_failures);
  conformance::begin_report(device->describe() + " (" + device->properties().name + ", version " + version + ")",
                            device->backend().name(), version, std::move(known), std::chrono::seconds(options.timeout_s));
  const int status = context.run();
  if (!conformance::cases_were_run()) return status;
  return conformance::end_report();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const conformance::BadOptions& e) {
    std::cerr << "weir-conformance: " << e.what() << "\n\n" << conformance::usage;
    return exit_usage;
  } catch (const std::exception& e) {
    std::cerr << "weir-conformance: " << e.what() << '\n';
    return exit_usage;
  }
}
