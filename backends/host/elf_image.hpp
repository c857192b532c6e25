// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// Reads a shared object without loading it, since loading runs its initializers.
namespace weir::host {

/// Why an image is not usable.
class BadImage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ElfImage {
 public:
  /// An exported variable.
  struct Variable {
    std::string name;
    std::uint64_t address;  ///< relative to the load address
    std::size_t size;
  };

  /// Checks that the bytes are a complete shared object for this processor. Throws BadImage. The bytes must outlive the
  /// object.
  explicit ElfImage(std::span<const std::byte> bytes);

  const std::vector<Variable>& variables() const noexcept { return variables_; }
  const Variable* find(std::string_view name) const noexcept;
  /// The initial content of a string variable; empty if it is not in the file.
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
