// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

/// The functions behind the commands of `weir`.
namespace weir::tool {

// --- `weir kernels`: lists kernels that were compiled ahead of time --------------------------------------------------

/// Describes the bundles in a file: a bundle, or a program, shared library or archive that contains bundles. Throws
/// std::runtime_error if the file cannot be read, contains no bundle, or a bundle is damaged.
std::string inspect_kernels(const std::string& file);

// --- `weir cache`: compiled kernels that are stored for later processes ----------------------------------------------

/// Returns the folder, and the number and total size of each backend's entries. `clears`: removes the entries, and returns
/// how many; other files stay. Running programs are not disturbed: loaded kernels stay loaded, and missing entries are
/// compiled again. `failures`: receives a text for each entry that could not be removed. Throws `weir::Error` for a bad
/// WEIR_CACHE_DIR.
std::string list_cache(bool clears, std::vector<std::string>& failures);

// --- `weir new`: creates a first program -----------------------------------------------------------------------------

/// Creates a folder with a program, a kernel and a CMakeLists.txt; the folder's name is the program's name. Returns the next
/// steps for the user. Throws `std::runtime_error` if the folder contains such files, or if CMake does not accept the name.
std::string make_program(const std::string& folder);

// --- Runs a user's program, for `weir run`, `weir race`, `weir timeline` and `weir record` ---------------------------

struct RunOptions {
  std::map<std::string, std::string> variables;  ///< those of Weir's to set; empty: unchanged
  std::vector<std::string> command;              ///< the program, searched in PATH, and its arguments
};

/// Runs the program in place of this process. Returns only after an error message: 127 if there is no such program, else
/// 126. With the tool `race`, runs the program as a child and returns its exit status, or 128 + the number of the signal
/// that ended it. If that status is 0 but a process of the program has reported a race, returns the status for races.
int run_program(const RunOptions& options);

/// Runs the program with the tool `timeline` or `record`, and prints an error if it writes no file. Returns the program's
/// exit status, or 128 + the number of the signal that ended it. If that status is 0 but there is no file, returns 3. If the
/// file cannot be written, returns 3 without running the program. Returns 126 or 127 as `run_program` does.
int trace_program(const RunOptions& options);

// --- `weir race`: runs the tool `race` and tests whether each reported race changes the program's results ------------

struct RaceOptions {
  bool witness = false;              ///< run the program again in both orders of each race
  std::string schedule = "1";        ///< the value of WEIR_SCHEDULE for all runs
  std::vector<std::string> outputs;  ///< files that the program writes, to compare as well
  unsigned timeout = 0;              ///< seconds for each run; 0: ten times as long as the first run, plus 10
  std::string json;                  ///< file for the verdicts; empty: none
  std::vector<std::string> command;  ///< the program, searched in PATH, and its arguments
};

/// Without `witness`, runs the program with the tool `race` in place of this process. With `witness`, runs the program on
/// the host backend with the tool, then without the tool in both orders of each race, and reports the differences. Returns 0
/// if no race was reported, 1 if at least one race changed the results, 3 if there were races but none changed them, and 127
/// or 126 if the program cannot be run.
int race_program(const RaceOptions& options);

// --- `weir shake`: runs a program repeatedly, each time with another order of its streams ----------------------------

struct ShakeOptions {
  unsigned seeds = 20;               ///< number of seeds
  unsigned first = 1;                ///< the first seed
  std::string backend = "host";      ///< the program's backend
  std::string schedule = "both";     ///< "random", "pct" (by priorities), or "both" in turn
  unsigned timeout = 60;             ///< seconds for each run; 0: no limit
  std::vector<std::string> command;  ///< the program, searched in PATH, and its arguments
};

/// Runs the program with one value of WEIR_SCHEDULE after another, and reports the values that make it fail. A run that
/// exceeds the timeout is killed and counts as failed. Returns 0 if no run failed, 1 if at least one did, and 127 or 126 if
/// the program cannot be run.
int shake_program(const ShakeOptions& options);

// --- `weir replay`: runs a recording again ---------------------------------------------------------------------------

/// Runs the operations of a recording on the default backend, and compares the data that is copied to the host with the
/// recorded data. Returns 0 if all data is equal, 1 if not, and 2 after an error message if the file cannot be used here.
int replay_recording(const std::string& file);

// --- `weir stuck`: shows what another process waits for --------------------------------------------------------------

/// Requests the report of the process, which must have been started with WEIR_STUCK, and prints it. Returns 0, or 1 after an
/// error message.
int ask_what_is_stuck(int process);

// --- `weir flight`: compares the records that the ranks of a communicator have left (WEIR_FLIGHT_RECORD) -------------

struct FlightReport {
  std::string text;
  bool agrees = true;  ///< whether all ranks have left a record and have called the same operations
};

/// Reads the files, and compares the ranks of each communicator. Throws `std::runtime_error` for a file that is no record.
FlightReport compare_flights(const std::vector<std::string>& files);

// --- The command's manual pages, and what shells offer to complete a command line ------------------------------------

/// Returns the content of a file; "" if it cannot be read.
std::string text_in(const std::string& file);
/// Throws `std::runtime_error` if the file cannot be written.
void write_text(const std::string& file, std::string_view text);

/// Writes the manual pages into the folder. The build calls this. The content comes from the command's parser, from the
/// other programs' help (`weir-kernels.help` and `weir-conformance.help` in the folder, if they exist), and from the table
/// of variables in the file `environment`, docs/environment.md. Throws `std::runtime_error`.
void write_documents(const CLI::App& app, const std::string& folder, const std::string& environment);

/// Returns a line for each word that may follow these words of a command line; "" if it is a file, or is not known.
std::string offers(const CLI::App& app, const std::vector<std::string>& words);

// --- Explains mistakes in a command line -----------------------------------------------------------------------------

/// Returns the names of the commands below a command, and the options --name of one.
std::vector<std::string> commands_of(const CLI::App& app);
std::vector<std::string> options_of(const CLI::App& app);

/// Returns a text with the first command or option that `app` does not have and a suggestion; "" if all are known. Arguments
/// after `--` are ignored, because they belong to another program.
std::string explain_mistake(const CLI::App& app, int argc, const char* const* argv);

}  // namespace weir::tool
