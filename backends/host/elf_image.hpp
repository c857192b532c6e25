// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// What stands in a shared object, read without loading it: loading runs its initializers.
namespace weir::host {

/// What is wrong with an image, in words.
class BadImage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ElfImage {
 public:
  /// An exported variable.
  struct Variable {
    std::string name;
    std::uint64_t address;  ///< relative to where the object is loaded
    std::size_t size;
  };

  /// Checks that the bytes are a whole shared object for this processor. Throws BadImage. The bytes must outlive the object.
  explicit ElfImage(std::span<const std::byte> bytes);

  const std::vector<Variable>& variables() const noexcept { return variables_; }
  const Variable* find(std::string_view name) const noexcept;
  /// The initial content of a string variable; empty if the file does not hold it.
  std::string_view string(const Variable& variable) const;

 private:
  template <class T>
  T read(std::uint64_t offset, const char* what) const;
  void read_segments();
  void read_symbols();

  std::span<const std::byte> bytes_;
  std::vector<Variable> variables_;
};

}  // namespace weir::host
