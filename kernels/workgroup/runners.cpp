// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/runners.hpp"

#include <llvm/ADT/MapVector.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <vector>

#include "kernels/kernel_abi.hpp"
#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"

namespace weir::workgroup {
namespace {

using llvm::Function;

// A parameter of a kernel.
struct Parameter {
  llvm::Value* memory = nullptr;              // where the function keeps it; null if it was not found
  bool by_reference = false;                  // `memory` contains the object's address
  llvm::Instruction* begin_of_use = nullptr;  // the first instruction after `memory` is complete
  const llvm::DIType* type = nullptr;
};

// The type without its names and qualifiers.
const llvm::DIType* plain(const llvm::DIType* type) {
  while (const auto* const derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type)) {
    const unsigned tag = derived->getTag();
    if (tag != llvm::dwarf::DW_TAG_typedef && tag != llvm::dwarf::DW_TAG_const_type &&
        tag != llvm::dwarf::DW_TAG_volatile_type && tag != llvm::dwarf::DW_TAG_restrict_type)
      break;
    type = derived->getBaseType();
  }
  return type;
}

bool is_pointer_to_const(const llvm::DIType* type) {
  const auto* const pointer = llvm::dyn_cast_or_null<llvm::DIDerivedType>(plain(type));
  if (pointer == nullptr || pointer->getTag() != llvm::dwarf::DW_TAG_pointer_type) return false;
  const llvm::DIType* pointed = pointer->getBaseType();
  for (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(pointed); derived != nullptr;
       derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(derived->getBaseType())) {
    if (derived->getTag() == llvm::dwarf::DW_TAG_const_type) return true;
    if (plain(derived) == derived) return false;
  }
  return false;
}

bool is_floating(const llvm::DIType* type) {
  const auto* const basic = llvm::dyn_cast_or_null<llvm::DIBasicType>(plain(type));
  return basic != nullptr && basic->getEncoding() == llvm::dwarf::DW_ATE_float;
}

class Runner {
 public:
  explicit Runner(Function& kernel) : kernel_(kernel), module_(*kernel.getParent()), builder_(kernel.getContext()) {}

  // Moves the kernel's code into a function (range, arguments), and adds its record.
  void make() {
    find_parameters();
    if (failed_) return;
    llvm::Type* const pointer = builder_.getPtrTy();
    auto* const type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer}, false);
    run_ = Function::Create(type, llvm::GlobalValue::InternalLinkage, kernel_.getName() + ".run", module_);
    run_->setAttributes(
        llvm::AttributeList::get(kernel_.getContext(), kernel_.getAttributes().getFnAttrs(), llvm::AttributeSet(), {}));
    run_->addFnAttr("weir.run", kernel_.getName());
    run_->addFnAttr("weir.program");
    run_->setSubprogram(kernel_.getSubprogram());
    kernel_.setSubprogram(nullptr);
    run_->splice(run_->begin(), &kernel_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) fill(parameters_[i], static_cast<unsigned>(i));
    for (llvm::Argument& argument : kernel_.args()) argument.replaceAllUsesWith(llvm::PoisonValue::get(argument.getType()));
    kernel_.setLinkage(llvm::GlobalValue::ExternalLinkage);
    kernel_.setComdat(nullptr);
    add_record();
  }

 private:
  void fail(const char* what) {
    module_.getContext().emitError("weir: " + std::string(what) + " of the kernel " + kernel_.getName().str());
    failed_ = true;
  }

  void find_parameters() {
    const llvm::DISubprogram* const declared = kernel_.getSubprogram();
    if (declared == nullptr) {
      if (!kernel_.arg_empty()) fail("no debug information describes the parameters");
      return;
    }
    // The first type is the result's.
    parameters_.resize(declared->getType()->getTypeArray().size() - 1);
    for (llvm::Instruction& instruction : kernel_.getEntryBlock()) {
#if LLVM_VERSION_MAJOR >= 19
      for (llvm::DbgVariableRecord& record : llvm::filterDbgVars(instruction.getDbgRecordRange())) {
        if (record.isDbgDeclare())
          note(*record.getVariable(), record.getVariableLocationOp(0), record.getExpression(), instruction);
      }
#endif
      if (const auto* const declare = llvm::dyn_cast<llvm::DbgDeclareInst>(&instruction))
        note(*declare->getVariable(), declare->getAddress(), declare->getExpression(), instruction);
    }
    for (const Parameter& parameter : parameters_) {
      if (parameter.memory == nullptr) fail("no debug information describes a parameter");
    }
  }

  void note(const llvm::DILocalVariable& variable, llvm::Value* memory, const llvm::DIExpression* expression,
            llvm::Instruction& at) {
    if (variable.getArg() == 0 || variable.getScope()->getSubprogram() != kernel_.getSubprogram()) return;
    if (variable.getArg() > parameters_.size()) return fail("the debug information has more parameters than the type");
    parameters_[variable.getArg() - 1] = {memory, expression->getNumElements() != 0, &at, variable.getType()};
  }

  // Copies the parameter's value from the arguments into the function's memory for it. Each thread has a copy, which it may
  // change.
  void fill(const Parameter& parameter, unsigned number) {
    const llvm::DataLayout& layout = module_.getDataLayout();
    builder_.SetInsertPoint(&run_->getEntryBlock(), run_->getEntryBlock().getFirstInsertionPt());
    llvm::Value* const at =
        builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), run_->getArg(1), number * sizeof(void*));
    llvm::Value* const given = builder_.CreateAlignedLoad(builder_.getPtrTy(), at, llvm::Align(sizeof(void*)));
    std::uint64_t bytes = 0;
    if (auto* const passed = llvm::dyn_cast<llvm::Argument>(parameter.memory)) {
      // A structure in the caller's memory.
      llvm::Type* const type = passed->hasByValAttr() ? passed->getParamByValType() : nullptr;
      bytes = type != nullptr ? layout.getTypeAllocSize(type).getFixedValue() : size_of(parameter);
      passed->replaceAllUsesWith(copy(given, bytes, passed->getParamAlign()));
    } else if (parameter.by_reference) {
      // A structure with its own copy constructor or destructor. The code uses the address that it is given; `memory` is
      // only for the debugger. Here, as on a GPU, the bytes are copied.
      llvm::Argument* const address = address_stored_in(*parameter.memory);
      if (address == nullptr) return fail("the debug information lacks the address of a parameter");
      bytes = size_of(parameter);
      address->replaceAllUsesWith(copy(given, bytes, {}));
    } else {
      auto* const variable = llvm::dyn_cast<llvm::AllocaInst>(parameter.memory);
      if (variable == nullptr) return fail("the debug information lacks the place of a parameter");
      bytes = layout.getTypeAllocSize(variable->getAllocatedType()).getFixedValue();
      builder_.SetInsertPoint(parameter.begin_of_use);
      builder_.CreateMemCpy(variable, variable->getAlign(), given, llvm::Align(1), bytes);
    }
    sizes_.push_back(bytes);
    const std::uint64_t bit = number < 64 ? std::uint64_t{1} << number : 0;
    // The kind of a pointer stays unknown, because tools take a value of 8 bytes that is known to be a number for no
    // address.
    if (is_number(parameter.type)) known_ |= bit;
    if (is_floating(parameter.type)) floating_ |= bit;
    if (is_pointer_to_const(parameter.type)) constant_ |= bit;
  }

  static llvm::Argument* address_stored_in(llvm::Value& memory) {
    for (llvm::User* user : memory.users()) {
      auto* const store = llvm::dyn_cast<llvm::StoreInst>(user);
      if (store != nullptr && store->getPointerOperand() == &memory)
        return llvm::dyn_cast<llvm::Argument>(store->getValueOperand());
    }
    return nullptr;
  }

  static bool is_number(const llvm::DIType* type) {
    const llvm::DIType* const own = plain(type);
    return llvm::isa_and_nonnull<llvm::DIBasicType>(own) ||
           (own != nullptr && own->getTag() == llvm::dwarf::DW_TAG_enumeration_type);
  }

  std::uint64_t size_of(const Parameter& parameter) {
    const llvm::DIType* const type = plain(parameter.type);
    if (type == nullptr || type->getSizeInBits() == 0) fail("the debug information lacks the size of a parameter");
    return type == nullptr ? 0 : type->getSizeInBits() / 8;
  }

  llvm::Value* copy(llvm::Value* given, std::uint64_t bytes, llvm::MaybeAlign alignment) {
    llvm::AllocaInst* const object = builder_.CreateAlloca(llvm::ArrayType::get(builder_.getInt8Ty(), bytes));
    // A type's size is a multiple of its alignment.
    object->setAlignment(alignment.value_or(llvm::commonAlignment(llvm::Align(64), bytes)));
    builder_.CreateMemCpy(object, object->getAlign(), given, llvm::Align(1), bytes);
    return object;
  }

  llvm::GlobalVariable* constant(llvm::Constant* value, const llvm::Twine& name) {
    return new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::InternalLinkage, value, name);
  }

  void add_record() {
    const auto number = [&](std::uint64_t value) { return builder_.getInt64(value); };
    llvm::Constant* const name =
        constant(llvm::ConstantDataArray::getString(kernel_.getContext(), kernel_.getName()), "weir.name");
    sizes_.push_back(0);
    llvm::Constant* const sizes = constant(llvm::ConstantDataArray::get(kernel_.getContext(), sizes_), "weir.sizes");
    // The members of host::KernelRecord.
    llvm::Constant* const record = llvm::ConstantStruct::getAnon(
        {name, run_, sizes, builder_.getInt32(static_cast<std::uint32_t>(parameters_.size())),
         builder_.getInt32(annotated_number(kernel_, "weir.launch_bounds")), number(known_), number(floating_),
         number(constant_), number(0), number(0),
         builder_.getInt32(static_cast<std::uint32_t>(host::KernelTier::workgroup))});
    llvm::GlobalVariable* const entry = constant(constant(record, "weir.record"), "weir.entry");
    entry->setSection("weir_kernels");
    entry->setAlignment(llvm::Align(sizeof(void*)));
    llvm::appendToUsed(module_, {entry});
  }

  Function& kernel_;
  llvm::Module& module_;
  llvm::IRBuilder<> builder_;
  Function* run_ = nullptr;
  std::vector<Parameter> parameters_;
  std::vector<std::uint64_t> sizes_;
  bool failed_ = false;
  std::uint64_t known_ = 0, floating_ = 0, constant_ = 0;
};

}  // namespace

void make_runners(llvm::Module& module) {
  const Functions found = annotated_functions(module, "weir.program");
  for (Function* kernel : found) Runner(*kernel).make();
  // Clang lists what host code uses of other files, each file in its own list. The kernels have no code of that name here.
  const auto is_list = [](const llvm::Value& value) { return value.getName().starts_with("__clang_gpu_used_external"); };
  llvm::removeFromUsedLists(module, [&](llvm::Constant* used) { return is_list(*used->stripPointerCasts()); });
  for (llvm::GlobalVariable& variable : llvm::make_early_inc_range(module.globals())) {
    if (is_list(variable)) variable.eraseFromParent();
  }
  // Reports need the lines only.
  if (!found.empty()) llvm::stripNonLineTableDebugInfo(module);
}

}  // namespace weir::workgroup
