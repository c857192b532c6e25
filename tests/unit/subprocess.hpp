// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Runs a program with another environment, because Weir reads the environment once per process.
namespace weir::test {

using Environment = std::map<std::string, std::string>;

/// Returns how often one text occurs in another.
int count(std::string_view text, std::string_view in);

struct Outcome {
  int status = 0;      ///< the exit status; 128 + the signal's number if a signal ended it
  std::string output;  ///< standard output
  std::string errors;  ///< standard error

  bool says(std::string_view text) const { return output.find(text) != std::string::npos; }
  bool complains(std::string_view text) const { return errors.find(text) != std::string::npos; }
  /// Returns how often a text occurs in the output.
  int count(std::string_view text) const { return test::count(text, output); }
};

/// Runs `program` until it ends, in this process's environment without its WEIR_ variables but with `environment`.
Outcome run(const std::string& program, const std::vector<std::string>& arguments, const Environment& environment = {});

/// Runs the tests' helper program; child.cpp lists its commands. It finds the tests' plugins unless `environment` changes
/// that.
Outcome run_child(const std::vector<std::string>& arguments, Environment environment = {});

/// A temporary folder. The destructor removes it with its content.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// Creates a folder in this folder.
  std::string folder(const std::string& name) const;
  /// Copies a file into this folder, or into a folder of it, under another name.
  std::string copy(const std::string& file, const std::string& name) const;

 private:
  std::string path_;
};

}  // namespace weir::test
