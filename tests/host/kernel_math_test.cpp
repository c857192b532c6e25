// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <fstream>
#include <sstream>

#include "core/base/temporary_folder.hpp"
#include "tests/host/support.hpp"

/// Compares the mathematical functions of CUDA C++ and HIP C++ with the values in their manuals.
namespace weir::test {
namespace {

// A kernel that writes 1 for each expression that holds.
void check_all(const std::vector<std::string>& expressions, const CompileOptions& options = {}) {
  std::ostringstream source;
  source << "extern \"C\" __global__ void k(int* out, float zero) {\n"
            "  const float inf = 1 / zero, nan = zero / zero, one = zero + 1, tiny = one * 0x1p-30f;\n"
            "  const double dzero = zero, dinf = inf, dnan = nan; const int izero = (int)zero;\n"
            "  (void)tiny; (void)dzero; (void)dinf; (void)dnan; (void)izero; (void)one; (void)nan;\n";
  for (std::size_t i = 0; i < expressions.size(); ++i) source << "  out[" << i << "] = (" << expressions[i] << ");\n";
  source << "}\n";
  const auto out = upload(std::vector<int>(expressions.size()));
  launch(host().compile(source.str(), options)->untyped_kernel("k"), {}, out, 0.0F);
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    CAPTURE(expressions[i]);
    CHECK(out.data()[i] == 1);
  }
}

TEST_CASE("smaller and greater, of all types and of NaNs") {
  check_all({"min(izero - 1, 1) == -1",
             "max(izero - 1, 1) == 1",
             "min(izero - 1, 1u) == 1u",
             "max(1u, izero - 1) == 0xffffffffu",
             "min(1L, 2L) == 1",
             "max(1LL, -2LL) == 1",
             "min(1ULL, 2ULL) == 1",
             "min(-1LL, 1ULL) == 1",
             "min(1.5f, one) == 1",
             "max(1.5, dzero) == 1.5",
             "min(one, 0.5) == 0.5",
             "max(0.5, one) == 1.0",
             "fminf(nan, one) == 1",
             "fminf(one, nan) == 1",
             "fmaxf(nan, one) == 1",
             "fmaxf(one, nan) == 1",
             "min(nan, one) == 1",
             "max(one, nan) == 1",
             "fminf(nan, nan) != 0 && isnan(fminf(nan, nan))",
             "fmaxf(-inf, one) == 1",
             "fmin(dnan, 2.0) == 2",
             "fmax(2.0, dnan) == 2"});
}

TEST_CASE("functions that the C library lacks") {
  check_all({"rsqrtf(4 * one) == 0.5f", "rsqrt(dzero + 16) == 0.25", "rcbrtf(8 * one) == 0.5f",
             "fabs(normcdf(dzero + 1.959963984540054) - 0.975) < 1e-12", "norm3df(2, 3, 6 * one) == 7",
             "norm4d(1, 1, 1, 1 + dzero) == 2", "sinpi(dzero + 1e9 + 0.5) == 1", "fabs(cospi(dzero + 0.5)) < 1e-15",
             "sinpif(2.5f * one) == 1", "fabsf(cospif(3 * one) + 1) < 1e-6f", "__saturatef(2 * one) == 1",
             "__saturatef(-one) == 0", "__saturatef(nan) == 0", "__fdividef(one, 4) == 0.25f",
             "fabsf(__expf(one) - 2.7182818f) < 1e-6f", "__exp10f(2 * one) == 100", "__log2f(8 * one) == 3",
             "__powf(2, 3 * one) == 8"});
}

TEST_CASE("functions of C23 that the C library declares, too") {
  const detail::TemporaryFolder folder;
  const std::string header = folder.path() + "/newer_math.h";
  std::ofstream(header) << R"(
#define DECLARE(name) extern "C" double name(double) noexcept; extern "C" float name##f(float) noexcept;
DECLARE(sinpi) DECLARE(cospi) DECLARE(tanpi) DECLARE(asinpi) DECLARE(acospi) DECLARE(atanpi) DECLARE(rsqrt) DECLARE(exp10)
DECLARE(exp10m1) DECLARE(exp2m1) DECLARE(log10p1) DECLARE(log2p1) DECLARE(logp1)
)";
  CompileOptions options;
  options.extra = {"-include", header};
  const auto module = host().compile(R"(
extern "C" __global__ void f(double* x) {
  x[0] = sinpi(0.5) + cospi(1.0) + sinpif(0.5f) + cospif(1.0f) + rsqrt(0.25) + rsqrtf(0.25f) + rsqrt(1.0f);
}
)",
                                     options);
  const auto x = upload(std::vector<double>(1));
  launch(module->untyped_kernel("f"), {}, x);
  CHECK(download(x).front() == doctest::Approx(5));
}

TEST_CASE("single roundings are not fused") {
  // (1 + 2^-12)^2 rounded to 24 bits loses its last term; fused with the subtraction it does not.
  check_all({"__fadd_rn(__fmul_rn(one + 0x1p-12f, one + 0x1p-12f), -one) == 0x1p-11f",
             "__fmaf_rn(one + 0x1p-12f, one + 0x1p-12f, -one) == 0x1p-11f + 0x1p-24f",
             "__dadd_rn(__dmul_rn(dzero + 1 + 0x1p-27, dzero + 1 + 0x1p-27), -1.0) == 0x1p-26", "__fsub_rn(one, tiny) == 1",
             "__fsqrt_rn(4 * one) == 2", "__fma_rn(2.0, 3.0, dzero) == 6", "__frsqrt_rn(4 * one) == 0.5f",
             "__ddiv_rn(1.0, 4 + dzero) == 0.25"});
}

TEST_CASE("bits") {
  check_all({"__popc(izero - 1) == 32", "__popcll(~0ull >> izero) == 64", "__clz(izero) == 32", "__clz(izero + 1) == 31",
             "__clz(izero - 1) == 0", "__clzll(izero) == 64", "__clzll(1LL << 40) == 23", "__ffs(izero) == 0",
             "__ffs(izero + 8) == 4", "__ffsll(1LL << 40) == 41", "__brev(izero + 1u) == 0x80000000u",
             "__brev(0x12345678u) == 0x1e6a2c48u", "__brevll(1ull) == 1ull << 63",
             "__byte_perm(0x33221100, 0x77665544, 0x7250) == 0x77225500", "__funnelshift_l(0x80000001u, 0xff, 4) == 0xff8u",
             "__funnelshift_r(0xf0, 0x1, 4) == 0x1000000fu", "__funnelshift_lc(0x12345678, 0, 40) == 0x12345678u",
             "__funnelshift_rc(1, 0x12345678, 40) == 0x12345678u", "__funnelshift_l(0x12345678, 0xabcd, 32) == 0xabcdu"});
}

TEST_CASE("whole numbers") {
  check_all({"__mul24(0x7fffff, 2) == 0xfffffe", "__mul24(0x1000002, 3) == 6", "__mul24(-3 - izero, 5) == -15",
             "__umul24(0xff000003u, 5u) == 15u", "__mulhi(izero - 1, 1) == -1", "__mulhi(1 << 30, 8) == 2",
             "__umulhi(0xffffffffu, 0xffffffffu) == 0xfffffffeu", "__mul64hi(-1LL, 1LL) == -1",
             "__umul64hi(~0ull, ~0ull) == ~0ull - 1", "__sad(-5 - izero, 7, 1u) == 13u",
             "__sad(2147483647, -2147483647 - 1, 0u) == 0xffffffffu", "__usad(3u, 10u, 1u) == 8u",
             "__hadd(2147483647, 2147483647 - izero) == 2147483647", "__hadd(-1 - izero, 0) == -1",
             "__rhadd(izero + 1, 2) == 2", "__uhadd(0xffffffffu, 0xfffffffdu) == 0xfffffffeu", "__urhadd(1u, 2u) == 2u"});
}

TEST_CASE("the same bits as another type") {
  check_all({"__float_as_int(one) == 0x3f800000", "__float_as_uint(-one) == 0xbf800000u", "__int_as_float(0x40000000) == 2",
             "__uint_as_float(0x3f000000u) == 0.5f", "__double_as_longlong(dzero + 1) == 0x3ff0000000000000LL",
             "__longlong_as_double(0x4000000000000000LL) == 2", "__double2hiint(dzero + 1) == 0x3ff00000",
             "__double2loint(dzero + 1 + 0x1p-52) == 1", "__hiloint2double(0x3ff00000, 1) == 1 + 0x1p-52"});
}

TEST_CASE("conversions round as they say, saturate, and make 0 of a NaN") {
  check_all({"__float2int_rn(2.5f * one) == 2",
             "__float2int_rn(3.5f * one) == 4",
             "__float2int_rz(-2.7f * one) == -2",
             "__float2int_rd(-2.1f * one) == -3",
             "__float2int_ru(2.1f * one) == 3",
             "__float2int_rz(inf) == 2147483647",
             "__float2int_rz(-inf) == -2147483647 - 1",
             "__float2int_rz(nan) == 0",
             "__float2int_rz(2147483648.0f * one) == 2147483647",
             "__float2int_rz(-2147483648.0f * one) == -2147483647 - 1",
             "__float2uint_rz(-one) == 0",
             "__float2uint_rn(4294967296.0f * one) == 0xffffffffu",
             "__float2uint_rz(4294967040.0f * one) == 4294967040u",
             "__float2uint_rz(nan) == 0",
             "__float2ll_rz(-inf) == -9223372036854775807LL - 1",
             "__float2ull_rz(inf) == ~0ull",
             "__double2int_rn(dzero + 2147483647.5) == 2147483647",
             "__double2int_rz(dzero - 1e300) == -2147483647 - 1",
             "__double2uint_rd(dzero + 7.9) == 7",
             "__double2ll_ru(dzero + 7.1) == 8",
             "__double2ull_rz(dnan) == 0",
             "__int2float_rn(16777217 + izero) == 16777216.0f",
             "__uint2double_rn(0xffffffffu) == 4294967295.0",
             "__double2float_rn(dzero + 0.1) == 0.1f"});
}

TEST_CASE("vector types have the sizes and alignments of the GPU's") {
  check_all({"sizeof(char4) == 4 && alignof(char4) == 4",
             "sizeof(uchar3) == 3 && alignof(uchar3) == 1",
             "sizeof(short2) == 4 && alignof(short2) == 4",
             "sizeof(ushort4) == 8 && alignof(ushort4) == 8",
             "sizeof(int2) == 8 && alignof(int2) == 8",
             "sizeof(uint3) == 12 && alignof(uint3) == 4",
             "sizeof(int4) == 16 && alignof(int4) == 16",
             "sizeof(float2) == 8 && alignof(float2) == 8",
             "sizeof(float3) == 12",
             "alignof(float4) == 16",
             "sizeof(double2) == 16 && alignof(double2) == 16",
             "sizeof(double4) == 32 && alignof(double4) == 16",
             "sizeof(longlong2) == 16 && alignof(longlong2) == 16",
             "sizeof(ulong2) == 16",
             "make_float4(1, 2, 3, 4).z == 3",
             "make_uchar2(1, 255).y == 255",
             "dim3(2).y == 1 && dim3(2, 3).z == 1 && dim3().x == 1",
             "dim3(make_uint3(1, 2, 3)).z == 3",
             "uint3(dim3(4, 5, 6)).y == 5",
             "warpSize == 32"});
}

TEST_CASE("NaN and infinity remain with fast_math, and results stay near") {
  CompileOptions options;
  options.fast_math = true;
  check_all({"isnan(nan)", "isinf(inf)", "nan != nan", "fabsf(sinf(one) - 0.841471f) < 1e-5f",
             "fabsf(expf(one) - 2.718282f) < 1e-5f"},
            options);
  // In a loop the compiler may take vector functions.
  const auto module = host().compile(R"(extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = expf(x[i]) + logf(x[i] + 1) * sinf(x[i]);
})",
                                     options);
  std::vector<float> in(1000);
  for (int i = 0; i < 1000; ++i) in[static_cast<std::size_t>(i)] = static_cast<float>(i) * 0.01F;
  const auto x = upload(in), y = upload(std::vector<float>(1000));
  launch(module->untyped_kernel("k"), grid_for(1000, 256), x, y, 1000);
  for (std::size_t i = 0; i < 1000; ++i) {
    const double v = in[i], expected = std::exp(v) + std::log(v + 1) * std::sin(v);
    CHECK(std::abs(static_cast<double>(y.data()[i]) - expected) <= 1e-5 * std::max(1.0, std::abs(expected)));
  }
}

}  // namespace
}  // namespace weir::test
