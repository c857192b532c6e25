// SPDX-License-Identifier: Apache-2.0
#include "kernels/vocabulary.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/one_of.hpp"

namespace weir::kernels {
namespace {

using Scope = Meeting::Scope;
using Result = Meeting::Result;

constexpr Meeting meetings[] = {
    {"__syncthreads", Scope::block, Result::none, 0, 0, false},
    {"__syncthreads_count", Scope::block, Result::same, 1, 1, false},
    {"__syncthreads_and", Scope::block, Result::same, 1, 1, false},
    {"__syncthreads_or", Scope::block, Result::same, 1, 1, false},
    {"__syncwarp", Scope::warp, Result::none, 0, 1, true},
    {"__activemask", Scope::warp, Result::own, 0, 0, false},
    {"__shfl_sync", Scope::warp, Result::own, 3, 4, true},
    {"__shfl_up_sync", Scope::warp, Result::own, 3, 4, true},
    {"__shfl_down_sync", Scope::warp, Result::own, 3, 4, true},
    {"__shfl_xor_sync", Scope::warp, Result::own, 3, 4, true},
    {"__ballot_sync", Scope::warp, Result::own, 2, 2, true},
    {"__any_sync", Scope::warp, Result::own, 2, 2, true},
    {"__all_sync", Scope::warp, Result::own, 2, 2, true},
    {"__match_any_sync", Scope::warp, Result::own, 2, 2, true},
    {"__match_all_sync", Scope::warp, Result::own, 3, 3, true},
    {"__reduce_add_sync", Scope::warp, Result::own, 2, 2, true},
    {"__reduce_min_sync", Scope::warp, Result::own, 2, 2, true},
    {"__reduce_max_sync", Scope::warp, Result::own, 2, 2, true},
    {"__reduce_and_sync", Scope::warp, Result::own, 2, 2, true},
    {"__reduce_or_sync", Scope::warp, Result::own, 2, 2, true},
    {"__reduce_xor_sync", Scope::warp, Result::own, 2, 2, true},
    // HIP's forms without a mask: all lanes that are there.
    {"__shfl", Scope::warp, Result::own, 2, 3, false},
    {"__shfl_up", Scope::warp, Result::own, 2, 3, false},
    {"__shfl_down", Scope::warp, Result::own, 2, 3, false},
    {"__shfl_xor", Scope::warp, Result::own, 2, 3, false},
    {"__ballot", Scope::warp, Result::own, 1, 1, false},
    {"__any", Scope::warp, Result::own, 1, 1, false},
    {"__all", Scope::warp, Result::own, 1, 1, false},
};

// Functions of groups of threads. Their first argument is the group, if they have one.
constexpr Meeting group_meetings[] = {
    {"_group_sync", Scope::block, Result::none, 1, 1, false},
    {"_group_shfl", Scope::warp, Result::own, 3, 3, false},
    {"_group_shfl_up", Scope::warp, Result::own, 3, 3, false},
    {"_group_shfl_down", Scope::warp, Result::own, 3, 3, false},
    {"_group_shfl_xor", Scope::warp, Result::own, 3, 3, false},
    {"_group_any", Scope::warp, Result::own, 2, 2, false},
    {"_group_all", Scope::warp, Result::own, 2, 2, false},
    {"_group_ballot", Scope::warp, Result::own, 2, 2, false},
    {"_group_match_any", Scope::warp, Result::own, 2, 2, false},
    {"_group_reduce", Scope::warp, Result::own, 3, 3, false},
    {"_group_inclusive_scan", Scope::warp, Result::own, 2, 3, false},
    {"_group_exclusive_scan", Scope::warp, Result::own, 2, 3, false},
    {"_group_coalesced_threads", Scope::warp, Result::own, 0, 0, false},
    {"_group_binary_partition", Scope::warp, Result::own, 2, 2, false},
    {"_group_labeled_partition", Scope::warp, Result::own, 2, 2, false},
};
constexpr std::string_view group_prefix = "_group_";

constexpr std::string_view atomics[] = {"Add", "Sub", "Exch", "Min", "Max", "Inc", "Dec", "CAS", "And", "Or", "Xor"};

constexpr std::string_view plain_functions[] = {
    "min", "max", "abs", "fabs", "fabsf", "sqrt", "sqrtf", "rsqrt", "rsqrtf", "exp", "expf", "exp2", "exp2f", "log",
    "logf", "log2", "log2f", "log10", "log10f", "pow", "powf", "sin", "sinf", "cos", "cosf", "tan", "tanf", "tanh",
    "tanhf", "floor", "floorf", "ceil", "ceilf", "round", "roundf", "trunc", "truncf", "fmin", "fminf", "fmax",
    "fmaxf", "fma", "fmaf", "fmod", "fmodf", "__expf", "__logf", "__sinf", "__cosf", "__powf", "__fdividef", "__popc",
    "__popcll", "__clz", "__clzll", "__ffs", "__ffsll", "__brev", "__mul24", "__umul24", "__mulhi", "__umulhi",
    "__float_as_int", "__int_as_float", "__float_as_uint", "__uint_as_float", "__ldg", "__fmaf_rn", "__fmul_rn",
    "__fadd_rn", "__saturatef", "__float2int_rn", "__float2int_rz", "__int2float_rn", "__funnelshift_l",
    "__funnelshift_r", "isnan", "isinf", "thread_rank", "num_threads", "meta_group_rank", "meta_group_size",
    "weir_this_thread_block", "weir_this_grid", "weir_whole"};

}  // namespace

const Meeting* find_meeting(std::string_view name) {
  const auto find = [&](const auto& list) -> const Meeting* {
    const auto* const found =
        std::find_if(std::begin(list), std::end(list), [&](const Meeting& m) { return m.name == name; });
    return found == std::end(list) ? nullptr : found;
  };
  if (name.starts_with("__")) return find(meetings);
  return name.starts_with(group_prefix) ? find(group_meetings) : nullptr;
}

const Meeting* find_group_meeting(std::string_view name, bool member) {
  constexpr std::string_view free_functions[] = {"coalesced_threads", "reduce",         "binary_partition",
                                                 "labeled_partition", "inclusive_scan", "exclusive_scan"};
  const bool free_only = one_of(name, free_functions);
  if (member ? free_only : !free_only && name != "sync") return nullptr;
  for (const Meeting& m : group_meetings) {
    if (m.name.substr(group_prefix.size()) == name) return &m;
  }
  return nullptr;
}

bool is_of_group(const Meeting& meeting) { return meeting.name.starts_with(group_prefix); }

bool is_built_in_variable(std::string_view name) {
  constexpr std::string_view variables[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
  return one_of(name, variables);
}

bool is_atomic(std::string_view name) {
  if (!name.starts_with("atomic")) return false;
  name.remove_prefix(6);
  for (const std::string_view suffix : {"_block", "_system"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return one_of(name, atomics);
}

bool is_plain_function(std::string_view name) { return name.starts_with("make_") || one_of(name, plain_functions); }

bool is_cooperation(std::string_view name) {
  return name == "__shared__" || find_meeting(name) != nullptr || is_atomic(name);
}

}  // namespace weir::kernels
