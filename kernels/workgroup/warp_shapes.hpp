// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>

#include "kernels/workgroup/warp_structure.hpp"

namespace weir::workgroup {

/// How the lanes' values of an instruction relate to each other.
struct Shape {
  enum Kind { unknown, uniform, strided, varying };

  Kind kind = unknown;
  std::int64_t stride = 0;   ///< `strided`: the difference from one lane to the next
  unsigned zeros = 64;       ///< how many low bits of lane 0's value are 0
  bool exact_signed = true;  ///< no lane's value wraps as a signed number
  bool exact_unsigned = true;

  bool operator==(const Shape& other) const {
    return kind == other.kind && stride == other.stride && zeros == other.zeros && exact_signed == other.exact_signed &&
           exact_unsigned == other.exact_unsigned;
  }
};

/// Finds the shapes of a structured function's values. The code of a strided value computes lane 0's.
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

/// The value for each lane of an expression that depends only on the lane's number.
std::optional<std::array<std::int64_t, warp_size>> values_of_lanes(llvm::Value* value, const llvm::DataLayout& layout);

}  // namespace weir::workgroup
