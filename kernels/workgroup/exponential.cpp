// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/exponential.hpp"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "kernels/workgroup/llvm_names.hpp"

namespace weir::workgroup {
namespace {

// With n the integer nearest to x / ln 2, and r = x - n ln 2: e^x = 2^n e^r. A polynomial gives e^r, and its error is below
// 0.06 ulp. 2^n is the product of two powers of 2, so that both can be represented even if e^x overflows or is subnormal.
Value* exponential(llvm::IRBuilder<>& builder, Value* x) {
  llvm::Type* const type = x->getType();
  llvm::Type* const integers = type->getWithNewType(builder.getInt32Ty());
  const auto number = [&](float value) { return llvm::ConstantFP::get(type, value); };
  const auto bits = [&](unsigned value) { return llvm::ConstantInt::get(integers, value); };
  const auto multiply_add = [&](Value* a, Value* b, Value* c) {
    return builder.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {a, b, c});
  };
  // Beyond these limits the result is 0 or infinite. A NaN stays.
  Value* const least = number(-104), *const most = number(89);
  x = builder.CreateSelect(builder.CreateFCmpOLT(x, least), least, x);
  x = builder.CreateSelect(builder.CreateFCmpOGT(x, most), most, x);
  // The last bits of the sum are n + 254, which is positive.
  Value* const round = number(0x1.8p23F + 254);
  Value* const sum = multiply_add(x, number(0x1.715476p0F), round);
  Value* const n = builder.CreateFSub(sum, round);
  Value* const r = multiply_add(n, number(-0x1.7f7d1cp-20F), multiply_add(n, number(-0x1.62e4p-1F), x));
  Value* rise = number(0x1.6a2434p-10F);  // (e^r - 1) / r
  for (const float coefficient : {0x1.1239e2p-7F, 0x1.5558f2p-5F, 0x1.555492p-3F, 0x1.fffffcp-2F, 1.0F})
    rise = multiply_add(rise, r, number(coefficient));
  Value* const exponent = builder.CreateBitCast(sum, integers);
  Value* const half = builder.CreateLShr(exponent, bits(1));
  const auto power_of_2 = [&](Value* biased) { return builder.CreateBitCast(builder.CreateShl(biased, bits(23)), type); };
  Value* const scale = power_of_2(half);
  return builder.CreateFMul(multiply_add(builder.CreateFMul(r, scale), rise, scale),
                            power_of_2(builder.CreateSub(exponent, half)));
}

}  // namespace

bool expands(const llvm::CallInst& call, const llvm::TargetLibraryInfo& library) {
  return llvm::getVectorIntrinsicIDForCall(&call, &library) == llvm::Intrinsic::exp &&
         call.getCalledFunction()->isDeclaration() && call.getType()->getScalarType()->isFloatTy() &&
         library.isFunctionVectorizable("llvm.exp.f32") &&
         call.getFunction()->getFnAttribute("target-features").getValueAsString().contains("+fma");
}

void expand_exponentials(llvm::Function& function, const llvm::TargetLibraryInfo& library) {
  for (Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* const call = dyn_cast<llvm::CallInst>(&instruction);
    if (call == nullptr || !expands(*call, library)) continue;
    llvm::IRBuilder<> builder(call);
    call->replaceAllUsesWith(exponential(builder, call->getArgOperand(0)));
    call->eraseFromParent();
  }
}

}  // namespace weir::workgroup
