// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>

#include "kernels/workgroup/warp_structure.hpp"

namespace weir::workgroup {

/// How the values that an instruction has in the lanes of a warp relate to each other.
struct Shape {
  enum Kind { unknown, uniform, strided, varying };

  Kind kind = unknown;
  std::int64_t stride = 0;   ///< for `strided`: the difference between one lane's value and the next
  unsigned zeros = 64;       ///< how many of the lowest bits of lane 0's value are 0
  bool exact_signed = true;  ///< whether no lane's value wraps as a signed number
  bool exact_unsigned = true;

  bool operator==(const Shape& other) const {
    return kind == other.kind && stride == other.stride && zeros == other.zeros && exact_signed == other.exact_signed &&
           exact_unsigned == other.exact_unsigned;
  }
};

/// Finds the shapes of the values in a structured function. For a strided value, the generated code computes only lane 0's
/// value.
class Shapes {
 public:
  Shapes(llvm::Function& function, const LaneMasks& masks, unsigned lanes);
  Shape of(const llvm::Value* value) const;
  bool is_uniform(const llvm::Value* value) const { return of(value).kind == Shape::uniform; }
  bool is_varying(const llvm::Value* value) const { return of(value).kind == Shape::varying; }

 private:
  Shape compute(llvm::Instruction& instruction) const;
  Shape of_phi(llvm::PHINode& phi) const;
  Shape of_address(llvm::GetElementPtrInst& address) const;
  bool holds_for_lane_0(const llvm::Instruction& instruction, const Shape& a, const Shape& b) const;
  Shape combine(llvm::Instruction& instruction, Shape a, const Shape& b, std::int64_t stride) const;

  const llvm::DataLayout& layout_;
  const LaneMasks& masks_;
  const unsigned lanes_;
  llvm::DenseMap<const llvm::Value*, Shape> shapes_;
};

/// Returns the value of an expression for each lane. Empty unless the expression depends only on the lane's number.
std::optional<std::array<std::int64_t, warp_size>> values_of_lanes(llvm::Value* value, const llvm::DataLayout& layout);

}  // namespace weir::workgroup
