// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Running a program with an environment of its own, since Weir reads the environment once in a process.
namespace weir::test {

using Environment = std::map<std::string, std::string>;

/// How often one text stands in another.
int count(std::string_view text, std::string_view in);

struct Outcome {
  int status = 0;      ///< the exit status; 128 + the signal's number if a signal ended it
  std::string output;  ///< standard output
  std::string errors;  ///< standard error

  bool says(std::string_view text) const { return output.find(text) != std::string::npos; }
  bool complains(std::string_view text) const { return errors.find(text) != std::string::npos; }
  /// How often a text stands in the output.
  int count(std::string_view text) const { return test::count(text, output); }
};

/// Runs `program` to its end, in this process's environment without its WEIR_ variables and with `environment`.
Outcome run(const std::string& program, const std::vector<std::string>& arguments, const Environment& environment = {});

/// Runs the tests' helper program: see child.cpp for what it can be told. The tests' plugins are found unless
/// `environment` says otherwise.
Outcome run_child(const std::vector<std::string>& arguments, Environment environment = {});

/// A folder that is gone at the end of the scope, with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// Makes a folder in it.
  std::string folder(const std::string& name) const;
  /// Copies a file into it, or into a folder of it, under another name.
  std::string copy(const std::string& file, const std::string& name) const;

 private:
  std::string path_;
};

}  // namespace weir::test
