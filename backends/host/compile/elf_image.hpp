// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// Reads a shared object that a compiler wrote. It reads the file's bytes and does not load the object, because loading
/// would run the object's initializers.
namespace weir::host {

/// Thrown if an image is not usable; contains the reason.
class BadImage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ThreadVariable {
  std::string symbol;
  bool defined;
  std::uint64_t size;  ///< if it is defined
};
/// The thread-local variables that an object file uses or defines. Throws BadImage.
std::vector<ThreadVariable> thread_variables(std::span<const std::byte> object);

class ElfImage {
 public:
  /// An exported variable of an image.
  struct Variable {
    std::string name;
    std::uint64_t address;  ///< relative to the load address
    std::size_t size;
  };

  /// Checks that the bytes are a shared object for this processor. Throws BadImage. `bytes` must outlive this object.
  explicit ElfImage(std::span<const std::byte> bytes);

  /// The bytes of memory that the image occupies when it is loaded.
  std::size_t loaded_size() const noexcept { return loaded_size_; }
  const std::vector<Variable>& variables() const noexcept { return variables_; }
  const Variable* find(std::string_view name) const noexcept;
  /// The initial content of a variable that is a string; empty if the file does not contain it.
  std::string_view string(const Variable& variable) const;

 private:
  void read_segments();
  void read_symbols();

  std::span<const std::byte> bytes_;
  std::vector<Variable> variables_;
  std::size_t loaded_size_ = 0;
};

}  // namespace weir::host
