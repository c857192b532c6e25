// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// Reads a compiler's output. It does not load a shared object for that, because loading runs its initializers.
namespace weir::host {

/// Why an image is not usable.
class BadImage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Appends a hash to an image, where the loader ignores it, so that a damaged image is never loaded: the loader does not
/// check its input.
void seal(std::vector<std::byte>& image);
/// Throws BadImage unless the image ends with the correct hash.
void check_seal(std::span<const std::byte> image);

/// The thread-local variables that an object file uses and does not define. Throws BadImage.
std::vector<std::string> undefined_thread_variables(std::span<const std::byte> object);

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

  /// The size of its memory when loaded.
  std::size_t loaded_size() const noexcept { return loaded_size_; }
  const std::vector<Variable>& variables() const noexcept { return variables_; }
  const Variable* find(std::string_view name) const noexcept;
  /// The initial content of a string variable; empty if it is not in the file.
  std::string_view string(const Variable& variable) const;

 private:
  void read_segments();
  void read_symbols();

  std::span<const std::byte> bytes_;
  std::vector<Variable> variables_;
  std::size_t loaded_size_ = 0;
};

}  // namespace weir::host
