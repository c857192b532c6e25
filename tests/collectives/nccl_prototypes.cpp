// SPDX-License-Identifier: Apache-2.0
// Compares the hand-written declarations in collectives/nccl/api.hpp with a vendor's header at compile time. NCCL_HEADER is
// the header's name.
#include NCCL_HEADER

#include <cstddef>
#include <type_traits>

#include "collectives/nccl/api.hpp"
#include "weir/communicator.hpp"

namespace {

namespace ours = weir::nccl;

// Whether two types are passed alike: numbers of one size, pointers, structures of one size.
template <class A, class B>
constexpr bool is_alike = (std::is_pointer_v<A> && std::is_pointer_v<B>) ||
                          ((std::is_integral_v<A> || std::is_enum_v<A>)&&(std::is_integral_v<B> ||
                                                                          std::is_enum_v<B>)&&sizeof(A) == sizeof(B)) ||
                          (std::is_class_v<A> && std::is_class_v<B> && sizeof(A) == sizeof(B));

template <class Theirs, class Ours>
struct Functions : std::false_type {};
template <class R, class... P, class S, class... Q>
requires(sizeof...(P) == sizeof...(Q)) struct Functions<R (*)(P...), S (*)(Q...)>
    : std::bool_constant<is_alike<R, S> && (is_alike<P, Q> && ...)> {
};

#define CHECK_FUNCTION(name, parameters)                                                                           \
  static_assert(Functions<decltype(&::nccl##name), decltype(ours::Api::name)>::value, "nccl" #name " has another " \
                                                                                                   "signature");
WEIR_NCCL_FUNCTIONS(CHECK_FUNCTION)
#undef CHECK_FUNCTION
static_assert(Functions<decltype(&::ncclCommSplit), decltype(ours::Api::CommSplit)>::value);
static_assert(Functions<decltype(&::ncclGetErrorString), decltype(ours::Api::GetErrorString)>::value);
static_assert(Functions<decltype(&::ncclGetLastError), decltype(ours::Api::GetLastError)>::value);

static_assert(sizeof(ncclUniqueId) == sizeof(ours::UniqueId));
static_assert(offsetof(ncclConfig_t, size) == offsetof(ours::Config, size));
static_assert(offsetof(ncclConfig_t, magic) == offsetof(ours::Config, magic));
static_assert(offsetof(ncclConfig_t, version) == offsetof(ours::Config, version));
static_assert(offsetof(ncclConfig_t, blocking) == offsetof(ours::Config, blocking));
static_assert(sizeof(ours::Config) <= sizeof(ncclConfig_t));

constexpr bool is_magic() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  return config.magic == ours::Config{}.magic;
}
static_assert(is_magic());

static_assert(ours::success == ncclSuccess && ours::invalid_argument == ncclInvalidArgument &&
              ours::invalid_usage == ncclInvalidUsage && ours::in_progress == ncclInProgress);

constexpr int type(weir::ElementType t) { return ours::data_types[static_cast<std::size_t>(t)]; }
using weir::ElementType;
static_assert(type(ElementType::int8) == ncclInt8 && type(ElementType::uint8) == ncclUint8);
static_assert(type(ElementType::int32) == ncclInt32 && type(ElementType::uint32) == ncclUint32);
static_assert(type(ElementType::int64) == ncclInt64 && type(ElementType::uint64) == ncclUint64);
static_assert(type(ElementType::float16) == ncclFloat16 && type(ElementType::bfloat16) == ncclBfloat16);
static_assert(type(ElementType::float32) == ncclFloat32 && type(ElementType::float64) == ncclFloat64);

constexpr int reduction(weir::Reduction r) { return ours::reductions[static_cast<std::size_t>(r)]; }
static_assert(reduction(weir::Reduction::sum) == ncclSum && reduction(weir::Reduction::prod) == ncclProd);
static_assert(reduction(weir::Reduction::min) == ncclMin && reduction(weir::Reduction::max) == ncclMax);
static_assert(reduction(weir::Reduction::avg) == ncclAvg);

}  // namespace
