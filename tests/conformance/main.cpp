// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "listener.hpp"
#include "options.hpp"
#include "processes.hpp"
#include "report.hpp"
#include "result.hpp"
#include "supervisor.hpp"
#include "support.hpp"
#include "weir/weir.hpp"

// The program weir-conformance: runs the conformance suite on one device.

namespace {

constexpr int exit_failed = 1, exit_usage = 2, exit_skipped = 77;

// A driver that maps many streams onto few queues lets a held stream hold up others that share its queue. The suite tests
// the order of streams, not the number of queues, so it asks for as many as the drivers give; a value of the user's own
// stands.
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

std::vector<const char*> pointers(const std::vector<std::string>& arguments) {
  std::vector<const char*> result;
  for (const std::string& argument : arguments) result.push_back(argument.c_str());
  return result;
}

int run_doctest(const std::vector<std::string>& arguments) {
  const std::vector<const char*> argv = pointers(arguments);
  return doctest::Context(static_cast<int>(argv.size()), argv.data()).run();
}

// Runs the cases in this process. An exit status other than 0 says that they could not begin.
int run_cases(const conformance::Options& options, conformance::Sink& sink) {
  ask_for_queues();
  weir::Device* device = nullptr;
  try {
    device = &choose_device(options);
  } catch (const weir::Error& e) {
    if (e.errc() == weir::Errc::invalid_environment) throw;
    sink.unusable(e.what());
    return exit_skipped;
  }
  conformance::set_device(*device);
  if (!options.child.empty()) return conformance::play_child(options.child, options.child_argument);

  conformance::set_child_command(
      {"/proc/self/exe", "--require=" + device->backend().name(), "--device=" + std::to_string(device->ordinal())});
  // A backend without a driver has the version of the library that it comes with.
  const std::string& driver = device->backend().versions().driver;
  const std::string version = driver.empty() ? weir::version() : driver;
  sink.subject({device->describe() + " (" + device->properties().name + ", version " + version + ")",
                device->backend().name(), version});
  if (conformance::host_functions_hold_up_their_submitter() && options.first == 1) {
    std::cout << "Host functions of " << device->backend().name() << " hold up the thread that submits them, and must not: "
              << "a program may wait in one for what\nthat thread does next. Cases that do so are skipped.\n"
              << std::endl;
  }
  conformance::set_sink(&sink);
  std::vector<std::string> arguments = options.doctest;
  arguments.push_back("--first=" + std::to_string(options.first));
  (void)run_doctest(arguments);
  conformance::set_sink(nullptr);
  return 0;
}

// What this process's arguments were, for the process of the cases, which runs them in the same order.
std::vector<std::string> worker_arguments(int argc, char** argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  std::random_device seed;
  arguments.insert(arguments.begin() + 1,
                   "--rand-seed=" + std::to_string(seed() % 100000 + 1));  // one of the user's own wins
  return arguments;
}

std::ofstream open_for_writing(const std::string& file) {
  std::ofstream out;
  if (file.empty()) return out;
  out.open(file);
  if (!out) throw conformance::BadOptions("cannot write to '" + file + "'");
  return out;
}

void write_report(std::ofstream& out, const std::string& file, const std::string& text) {
  if (file.empty()) return;
  out << text;
  out.close();
  if (!out) throw std::runtime_error("cannot write to '" + file + "'");
}

int run(int argc, char** argv) {
  conformance::Options options = conformance::parse_options(argc, argv);
  if (options.help) {
    std::cout << conformance::usage;
    return 0;
  }
  options.doctest.emplace_back("--no-path-filenames=true");
  if (options.list) {
    (void)conformance::run_query(conformance::Query::list, pointers(options.doctest));
    return 0;
  }
  if (options.query) return run_doctest(options.doctest);
  if (options.worker) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::fcntl(conformance::record_descriptor, F_SETFD, FD_CLOEXEC);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what a case said shall be seen also if it then ends the process
    conformance::RecordWriter records(conformance::record_descriptor);
    return run_cases(options, records);
  }

  std::vector<conformance::KnownFailure> known;
  if (!options.known_failures.empty()) known = conformance::read_known_failures(options.known_failures);
  conformance::Report report(std::move(known), !options.require.empty());
  if (!options.child.empty()) return run_cases(options, report);
  std::ofstream junit = open_for_writing(options.junit), json = open_for_writing(options.json);
  const int cases = conformance::run_query(conformance::Query::count, pointers(options.doctest));
  if (cases == 0) {
    std::cout << "FAILED: no case matches the filters" << std::endl;
    return exit_failed;
  }
  if (options.one_process) {
    (void)run_cases(options, report);
  } else if (const auto status =
                 conformance::run_supervised(worker_arguments(argc, argv), options.first, options.last, cases,
                                             std::chrono::seconds(options.timeout_s), report)) {
    return *status;
  }
  if (report.cases_begun() == 0 && !report.is_unusable() && !report.has_failed()) report.fail("no case is in the range");
  const int status = report.finish();
  write_report(junit, options.junit, report.junit());
  write_report(json, options.json, report.json());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int status = run(argc, argv);
    if (std::cout.flush()) return status;
    std::cerr << "weir-conformance: the output could not be written\n";
    return status == 0 ? exit_failed : status;
  } catch (const conformance::BadOptions& e) {
    std::cerr << "weir-conformance: " << e.what() << "\n\n" << conformance::usage;
    return exit_usage;
  } catch (const std::exception& e) {
    std::cerr << "weir-conformance: " << e.what() << '\n';
    return exit_usage;
  }
}
