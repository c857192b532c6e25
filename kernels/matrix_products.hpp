// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The texts of `<cublas_v2.h>` and `<cublasLt.h>` for whole CUDA programs: products of dense matrices, of a matrix and a
/// vector, and copies, with cuBLAS's names, parameters and results, as kernels of the program itself. So they run on every
/// backend; on NVIDIA's GPUs they are slower than cuBLAS. Sums are of the compute type: TF32 and the like are not used. A
/// call that is not here is an error of compilation; types that a call does not take are CUBLAS_STATUS_NOT_SUPPORTED.
namespace weir::kernels {

inline constexpr std::string_view cublas = R"weir(
#ifndef __CUDA__
#error "Weir's cublas_v2.h contains kernels: compile this file as CUDA, weir c++ -x cu"
#endif
#define CUBLAS_API_H_  // what the helper headers of NVIDIA's samples look for
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define WEIR_BLAS_STATUS(X)                                                                                   \
  X(SUCCESS, 0) X(NOT_INITIALIZED, 1) X(ALLOC_FAILED, 3) X(INVALID_VALUE, 7) X(ARCH_MISMATCH, 8)              \
  X(MAPPING_ERROR, 11) X(EXECUTION_FAILED, 13) X(INTERNAL_ERROR, 14) X(NOT_SUPPORTED, 15) X(LICENSE_ERROR, 16)
#define WEIR_BLAS_NUMBER(name, number) CUBLAS_STATUS_##name = number,
typedef enum { WEIR_BLAS_STATUS(WEIR_BLAS_NUMBER) } cublasStatus_t;
#undef WEIR_BLAS_NUMBER
typedef enum { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C } cublasOperation_t;
typedef enum { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE } cublasPointerMode_t;
typedef enum {
  CUBLAS_DEFAULT_MATH = 0, CUBLAS_TENSOR_OP_MATH = 1, CUBLAS_PEDANTIC_MATH = 2, CUBLAS_TF32_TENSOR_OP_MATH = 3
} cublasMath_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DFALT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 } cublasGemmAlgo_t;
typedef enum {
  CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_16F_PEDANTIC = 65, CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70, CUBLAS_COMPUTE_64F_PEDANTIC = 71, CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75, CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;
typedef enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 } cudaDataType;
typedef cudaDataType cublasDataType_t;
struct cublasContext {
  cudaStream_t stream;
  cublasPointerMode_t pointers;
  cublasMath_t math;
};
typedef struct cublasContext* cublasHandle_t;

static inline const char* cublasGetStatusName(cublasStatus_t status) {
#define WEIR_BLAS_NAME(name, number) if (status == number) return "CUBLAS_STATUS_" #name;
  WEIR_BLAS_STATUS(WEIR_BLAS_NAME)
#undef WEIR_BLAS_NAME
  return "unknown status";
}
#undef WEIR_BLAS_STATUS
static inline const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }
static inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  if (handle == 0) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasContext();
  return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return handle != 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}
#define WEIR_BLAS_STORED(name, type, member)                                        \
  static inline cublasStatus_t cublasSet##name(cublasHandle_t handle, type value) { \
    if (handle == 0) return CUBLAS_STATUS_NOT_INITIALIZED;                          \
    handle->member = value;                                                         \
    return CUBLAS_STATUS_SUCCESS;                                                   \
  }                                                                                 \
  static inline cublasStatus_t cublasGet##name(cublasHandle_t handle, type* value) { \
    if (handle == 0) return CUBLAS_STATUS_NOT_INITIALIZED;                          \
    *value = handle->member;                                                        \
    return CUBLAS_STATUS_SUCCESS;                                                   \
  }
WEIR_BLAS_STORED(Stream, cudaStream_t, stream)
WEIR_BLAS_STORED(PointerMode, cublasPointerMode_t, pointers)
WEIR_BLAS_STORED(MathMode, cublasMath_t, math)
#undef WEIR_BLAS_STORED

namespace weir_blas {
static inline cublasStatus_t status(cudaError_t error) {
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
// Element (i, j) is at[i * row + j * column]; the next matrix of a batch is `next` elements further.
template <class T>
struct matrix {
  T* at;
  long long row, column, next;
};
template <class T>
static matrix<T> stored(T* at, long long leading, long long next = 0, bool transposed = false) {
  return transposed ? matrix<T>{at, leading, 1, next} : matrix<T>{at, 1, leading, next};
}
// A number, or where it is on the device.
template <class S>
struct factor {
  S value;
  const S* at;
  __device__ S get() const { return at != 0 ? *at : value; }
};
template <class S>
static factor<S> factor_of(cublasPointerMode_t mode, const void* number) {
  if (mode == CUBLAS_POINTER_MODE_DEVICE) return {S(), (const S*)number};
  return {*(const S*)number, 0};
}
// What is done with a product: a sum of cuBLASLt's numbers.
enum { relu = 2, add_bias = 4, gelu = 32 };

// d = alpha * a * b + beta * c, each a batch of matrices. A block of 256 threads makes tiles of 64 x 64 elements.
template <class T, class D, class S>
static __global__ void __launch_bounds__(256)
multiply(int m, int n, int k, int batch, factor<S> alpha, matrix<const T> a, matrix<const T> b, factor<S> beta,
         matrix<const D> c, matrix<D> d, int then, const D* bias) {
  constexpr int tile = 64, depth = 16;
  __shared__ S part_a[depth][tile + 1], part_b[depth][tile + 1];
  const int thread = threadIdx.x, x = thread % 16, y = thread / 16, down = (m + tile - 1) / tile;
  const int first_row = (int)(blockIdx.x % down) * tile, first_column = (int)(blockIdx.x / down) * tile;
  for (int one = blockIdx.z; one < batch; one += gridDim.z) {
    const T* const from_a = a.at + one * a.next;
    const T* const from_b = b.at + one * b.next;
    S sums[4][4] = {};
    for (int first = 0; first < k; first += depth) {
      for (int i = thread; i < tile * depth; i += 256) {
        // Neighbouring threads read neighbouring elements.
        const int l = a.row == 1 ? i / tile : i % depth, row = a.row == 1 ? i % tile : i / depth;
        part_a[l][row] = first + l < k && first_row + row < m
                             ? (S)from_a[(first_row + row) * a.row + (first + l) * a.column] : S(0);
        const int r = b.row == 1 ? i % depth : i / tile, column = b.row == 1 ? i / depth : i % tile;
        part_b[r][column] = first + r < k && first_column + column < n
                                ? (S)from_b[(first + r) * b.row + (first_column + column) * b.column] : S(0);
      }
      __syncthreads();
      for (int l = 0; l < depth; ++l) {
        for (int i = 0; i < 4; ++i)
          for (int j = 0; j < 4; ++j) sums[i][j] += part_a[l][x + 16 * i] * part_b[l][y + 16 * j];
      }
      __syncthreads();
    }
    const S by = alpha.get(), old = beta.get();
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        const long long row = first_row + x + 16 * i, column = first_column + y + 16 * j;
        if (row >= m || column >= n) continue;
        // With a factor 0, neither the product nor c needs to have numbers.
        S value = by != S(0) ? by * sums[i][j] : S(0);
        if (old != S(0)) value += old * (S)c.at[one * c.next + row * c.row + column * c.column];
        if (then & add_bias) value += (S)bias[row];
        if (then & relu) value = value > S(0) ? value : S(0);
        if (then & gelu)
          value *= S(0.5) * (S(1) + tanh(S(0.79788456080286535588) * (value + S(0.044715) * value * value * value)));
        d.at[one * d.next + row * d.row + column * d.column] = (D)value;
      }
    }
  }
}
template <class T, class D, class S>
static cublasStatus_t launch(cudaStream_t stream, long long m, long long n, long long k, int batch, factor<S> alpha,
                             matrix<const T> a, matrix<const T> b, factor<S> beta, matrix<const D> c, matrix<D> d,
                             int then = 0, const void* bias = 0) {
  if (m < 0 || n < 0 || k < 0 || batch < 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0 || batch == 0) return CUBLAS_STATUS_SUCCESS;
  const long long blocks = (m + 63) / 64 * ((n + 63) / 64);
  if (blocks > 0x7fffffff || m > 0x7fffffff - 64 || n > 0x7fffffff - 64 || k > 0x7fffffff - 64)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  multiply<T, D, S><<<dim3((unsigned int)blocks, 1, batch < 65535 ? batch : 65535), 256, 0, stream>>>(
      (int)m, (int)n, (int)k, batch, alpha, a, b, beta, c, d, then, (const D*)bias);
  return status(cudaGetLastError());
}
template <class T, class D, class S>
static cublasStatus_t product(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k,
                              factor<S> alpha, const void* a, int lda, long long next_a, const void* b, int ldb,
                              long long next_b, factor<S> beta, void* c, int ldc, long long next_c, int batch) {
  if (lda < (of_a ? k : m) || ldb < (of_b ? n : k) || ldc < m || lda < 1 || ldb < 1 || ldc < 1)
    return CUBLAS_STATUS_INVALID_VALUE;
  return launch<T, D, S>(handle->stream, m, n, k, batch, alpha, stored((const T*)a, lda, next_a, of_a != CUBLAS_OP_N),
                         stored((const T*)b, ldb, next_b, of_b != CUBLAS_OP_N), beta, stored((const D*)c, ldc, next_c),
                         stored((D*)c, ldc, next_c));
}
}  // namespace weir_blas

// Templates, so that a program compiles only the kernels that it uses.
#define WEIR_BLAS_CALL template <class weir_Used = void> static inline cublasStatus_t
#define WEIR_BLAS_TYPED(prefix, T)                                                                                        \
  WEIR_BLAS_CALL prefix##gemmStridedBatched(                                                                              \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha,     \
      const T* a, int lda, long long nextA, const T* b, int ldb, long long nextB, const T* beta, T* c, int ldc,           \
      long long nextC, int batch) {                                                                                       \
    if (handle == 0) return CUBLAS_STATUS_NOT_INITIALIZED;                                                                \
    return weir_blas::product<T, T, T>(handle, transa, transb, m, n, k, weir_blas::factor_of<T>(handle->pointers, alpha), \
                                       a, lda, nextA, b, ldb, nextB, weir_blas::factor_of<T>(handle->pointers, beta), c,  \
                                       ldc, nextC, batch);                                                                \
  }                                                                                                                       \
  WEIR_BLAS_CALL prefix##gemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,           \
                                      int n, int k, const T* alpha, const T* a, int lda, const T* b, int ldb,             \
                                      const T* beta, T* c, int ldc) {                                                     \
    return prefix##gemmStridedBatched(handle, transa, transb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc,         \
                                              0, 1);                                                                      \
  }                                                                                                                       \
  WEIR_BLAS_CALL prefix##gemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const T* alpha,               \
                                      const T* a, int lda, const T* x, int incx, const T* beta, T* y, int incy) {         \
    if (handle == 0) return CUBLAS_STATUS_NOT_INITIALIZED;                                                                \
    if (m < 0 || n < 0 || lda < m || lda < 1 || incx == 0 || incy == 0) return CUBLAS_STATUS_INVALID_VALUE;               \
    const long long rows = trans ? n : m, sums = trans ? m : n;                                                           \
    if (incx < 0) x -= (sums - 1) * incx; /* the first element is the last one in memory */                               \
    if (incy < 0) y -= (rows - 1) * incy;                                                                                 \
    return weir_blas::launch<T, T, T>(                                                                                    \
        handle->stream, rows, 1, sums, 1, weir_blas::factor_of<T>(handle->pointers, alpha),                               \
        weir_blas::stored(a, lda, 0, trans != CUBLAS_OP_N), weir_blas::matrix<const T>{x, incx, 0, 0},                    \
        weir_blas::factor_of<T>(handle->pointers, beta), weir_blas::matrix<const T>{y, incy, 0, 0},                       \
        weir_blas::matrix<T>{y, incy, 0, 0});                                                                             \
  }
WEIR_BLAS_TYPED(cublasS, float)
WEIR_BLAS_TYPED(cublasD, double)
#undef WEIR_BLAS_TYPED

WEIR_BLAS_CALL cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                          int n, int k, const void* alpha, const void* a, cudaDataType typeA, int lda,
                                          long long nextA, const void* b, cudaDataType typeB, int ldb, long long nextB,
                                          const void* beta, void* c, cudaDataType typeC, int ldc, long long nextC, int batch,
                                          cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (handle == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  using namespace weir_blas;
  const bool halves = compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC;
  const bool doubles = compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC;
#define WEIR_BLAS_TYPES(T, D, S, of_ab, of_c, one, other)                                                                  \
  if (typeA == of_ab && typeB == of_ab && typeC == of_c)                                                                   \
    return product<T, D, S>(handle, transa, transb, m, n, k, one, a, lda, nextA, b, ldb, nextB, other, c, ldc, nextC, batch);
  if (doubles) {
    WEIR_BLAS_TYPES(double, double, double, CUDA_R_64F, CUDA_R_64F, factor_of<double>(handle->pointers, alpha),
                    factor_of<double>(handle->pointers, beta))
  } else if (halves) {
    if (handle->pointers != CUBLAS_POINTER_MODE_HOST) return CUBLAS_STATUS_NOT_SUPPORTED;
    WEIR_BLAS_TYPES(__half, __half, float, CUDA_R_16F, CUDA_R_16F, (factor<float>{(float)*(const __half*)alpha, 0}),
                    (factor<float>{(float)*(const __half*)beta, 0}))
  } else {
    const factor<float> one = factor_of<float>(handle->pointers, alpha), other = factor_of<float>(handle->pointers, beta);
    WEIR_BLAS_TYPES(float, float, float, CUDA_R_32F, CUDA_R_32F, one, other)
    WEIR_BLAS_TYPES(__half, __half, float, CUDA_R_16F, CUDA_R_16F, one, other)
    WEIR_BLAS_TYPES(__half, float, float, CUDA_R_16F, CUDA_R_32F, one, other)
    WEIR_BLAS_TYPES(__nv_bfloat16, __nv_bfloat16, float, CUDA_R_16BF, CUDA_R_16BF, one, other)
    WEIR_BLAS_TYPES(__nv_bfloat16, float, float, CUDA_R_16BF, CUDA_R_32F, one, other)
  }
#undef WEIR_BLAS_TYPES
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
WEIR_BLAS_CALL cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
                            const void* alpha, const void* a, cudaDataType typeA, int lda, const void* b, cudaDataType typeB,
                            int ldb, const void* beta, void* c, cudaDataType typeC, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a, typeA, lda, 0, b, typeB, ldb, 0, beta, c,
                                    typeC, ldc, 0, 1, compute, algorithm);
}
WEIR_BLAS_CALL cublasHgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
                           const __half* alpha, const __half* a, int lda, const __half* b, int ldb, const __half* beta,
                           __half* c, int ldc) {
  return cublasGemmEx(handle, transa, transb, m, n, k, alpha, a, CUDA_R_16F, lda, b, CUDA_R_16F, ldb, beta, c, CUDA_R_16F,
                      ldc, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
}

#define WEIR_BLAS_COPIES(name)                                                                                            \
  static inline cublasStatus_t cublas##name##Vector(int n, int size, const void* x, int incx, void* y, int incy) {        \
    if (n < 0 || size <= 0 || incx <= 0 || incy <= 0) return CUBLAS_STATUS_INVALID_VALUE;                                 \
    return weir_blas::status(                                                                                             \
        cudaMemcpy2D(y, (size_t)incy * size, x, (size_t)incx * size, size, n, cudaMemcpyDefault));                        \
  }                                                                                                                       \
  static inline cublasStatus_t cublas##name##Matrix(int rows, int columns, int size, const void* a, int lda, void* b,     \
                                                    int ldb) {                                                            \
    if (rows < 0 || columns < 0 || size <= 0 || lda <= 0 || ldb <= 0) return CUBLAS_STATUS_INVALID_VALUE;                 \
    return weir_blas::status(                                                                                             \
        cudaMemcpy2D(b, (size_t)ldb * size, a, (size_t)lda * size, (size_t)rows * size, columns, cudaMemcpyDefault));     \
  }
WEIR_BLAS_COPIES(Set)
WEIR_BLAS_COPIES(Get)
#undef WEIR_BLAS_COPIES
)weir";

inline constexpr std::string_view cublas_lt = R"weir(
#include <cublas_v2.h>

#include <stdint.h>
typedef struct cublasLtContext* cublasLtHandle_t;
struct cublasLtContext {
  int unused;
};
typedef enum {
  CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_RELU = 2, CUBLASLT_EPILOGUE_BIAS = 4, CUBLASLT_EPILOGUE_RELU_BIAS = 6,
  CUBLASLT_EPILOGUE_GELU = 32, CUBLASLT_EPILOGUE_GELU_BIAS = 36
} cublasLtEpilogue_t;
typedef enum {
  CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0, CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1, CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,
  CUBLASLT_MATMUL_DESC_TRANSA = 3, CUBLASLT_MATMUL_DESC_TRANSB = 4, CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8
} cublasLtMatmulDescAttributes_t;
typedef enum {
  CUBLASLT_MATRIX_LAYOUT_TYPE = 0, CUBLASLT_MATRIX_LAYOUT_ROWS = 2, CUBLASLT_MATRIX_LAYOUT_COLS = 3,
  CUBLASLT_MATRIX_LAYOUT_LD = 4, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6
} cublasLtMatrixLayoutAttribute_t;
typedef enum { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1 } cublasLtMatmulPreferenceAttributes_t;
typedef struct weir_lt_desc {
  cublasComputeType_t compute;
  cudaDataType scale;
  int pointers, of_a, of_b, epilogue;
  const void* bias;
}* cublasLtMatmulDesc_t;
typedef struct weir_lt_layout {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch;
  int64_t next;
}* cublasLtMatrixLayout_t;
typedef struct weir_lt_preference {
  uint64_t workspace;
}* cublasLtMatmulPreference_t;
typedef struct { uint64_t data[8]; } cublasLtMatmulAlgo_t;
typedef struct {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
} cublasLtMatmulHeuristicResult_t;

namespace weir_blas {
template <class T>
static cublasStatus_t make(T** made, const T& value) {
  *made = new T(value);
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
static cublasStatus_t store(T& member, const void* value, size_t bytes) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(&member, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
}  // namespace weir_blas
#define WEIR_BLAS_DESTROYED(name, type)                   \
  static inline cublasStatus_t cublasLt##name(type made) { \
    delete made;                                          \
    return CUBLAS_STATUS_SUCCESS;                         \
  }
WEIR_BLAS_DESTROYED(Destroy, cublasLtHandle_t)
WEIR_BLAS_DESTROYED(MatmulDescDestroy, cublasLtMatmulDesc_t)
WEIR_BLAS_DESTROYED(MatrixLayoutDestroy, cublasLtMatrixLayout_t)
WEIR_BLAS_DESTROYED(MatmulPreferenceDestroy, cublasLtMatmulPreference_t)
#undef WEIR_BLAS_DESTROYED
static inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return weir_blas::make(handle, cublasLtContext()); }
static inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                                      cudaDataType scale) {
  return weir_blas::make(made, {compute, scale, 0, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, 0});
}
static inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, uint64_t rows,
                                                        uint64_t columns, int64_t leading) {
  return weir_blas::make(made, {type, rows, columns, leading, 1, 0});
}
static inline cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  return weir_blas::make(made, {0});
}
static inline cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t name,
                                                            const void* value, size_t bytes) {
  switch (name) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return weir_blas::store(desc->compute, value, bytes);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return weir_blas::store(desc->scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return weir_blas::store(desc->pointers, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA: return weir_blas::store(desc->of_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return weir_blas::store(desc->of_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return weir_blas::store(desc->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return weir_blas::store(desc->bias, value, bytes);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
static inline cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                              cublasLtMatrixLayoutAttribute_t name, const void* value,
                                                              size_t bytes) {
  switch (name) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return weir_blas::store(layout->type, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return weir_blas::store(layout->rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return weir_blas::store(layout->columns, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD: return weir_blas::store(layout->leading, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return weir_blas::store(layout->batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return weir_blas::store(layout->next, value, bytes);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
static inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                                  cublasLtMatmulPreferenceAttributes_t name,
                                                                  const void* value, size_t bytes) {
  if (name != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return CUBLAS_STATUS_NOT_SUPPORTED;
  return weir_blas::store(preference->workspace, value, bytes);
}
// There is one algorithm. It needs no workspace.
static inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                                            cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                            cublasLtMatrixLayout_t, cublasLtMatmulPreference_t,
                                                            int requested, cublasLtMatmulHeuristicResult_t* results,
                                                            int* count) {
  if (requested < 1) return CUBLAS_STATUS_INVALID_VALUE;
  *results = cublasLtMatmulHeuristicResult_t();
  results->wavesCount = 1;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}
WEIR_BLAS_CALL cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t layoutA, const void* b, cublasLtMatrixLayout_t layoutB,
                              const void* beta, const void* c, cublasLtMatrixLayout_t layoutC, void* d,
                              cublasLtMatrixLayout_t layoutD, const cublasLtMatmulAlgo_t*, void*, size_t,
                              cudaStream_t stream) {
  using namespace weir_blas;
  if (handle == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  const uint64_t m = layoutD->rows, n = layoutD->columns, k = desc->of_a ? layoutA->rows : layoutA->columns;
  if ((desc->of_a ? layoutA->columns : layoutA->rows) != m || (desc->of_b ? layoutB->rows : layoutB->columns) != n ||
      (desc->of_b ? layoutB->columns : layoutB->rows) != k || layoutC->rows != m || layoutC->columns != n)
    return CUBLAS_STATUS_INVALID_VALUE;
  const int batch = layoutD->batch, then = desc->epilogue & ~CUBLASLT_EPILOGUE_DEFAULT;
  if (layoutA->batch != batch || layoutB->batch != batch || layoutC->batch != batch) return CUBLAS_STATUS_INVALID_VALUE;
  if ((then & ~(relu | gelu | add_bias)) != 0 || desc->pointers > 1 || layoutC->type != layoutD->type)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if ((then & add_bias) != 0 && desc->bias == 0) return CUBLAS_STATUS_INVALID_VALUE;
  const cublasPointerMode_t mode = (cublasPointerMode_t)desc->pointers;
#define WEIR_BLAS_TYPES(T, D, S, of_ab, of_d, of_scale)                                                                     \
  if (layoutA->type == of_ab && layoutB->type == of_ab && layoutD->type == of_d && desc->scale == of_scale)                 \
    return launch<T, D, S>(stream, m, n, k, batch, factor_of<S>(mode, alpha),                                               \
                           stored((const T*)a, layoutA->leading, layoutA->next, desc->of_a != CUBLAS_OP_N),                 \
                           stored((const T*)b, layoutB->leading, layoutB->next, desc->of_b != CUBLAS_OP_N),                 \
                           factor_of<S>(mode, beta), stored((const D*)c, layoutC->leading, layoutC->next),                  \
                           stored((D*)d, layoutD->leading, layoutD->next), then, desc->bias);
  WEIR_BLAS_TYPES(float, float, float, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F)
  WEIR_BLAS_TYPES(double, double, double, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F)
  WEIR_BLAS_TYPES(__half, __half, float, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F)
  WEIR_BLAS_TYPES(__half, float, float, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F)
  WEIR_BLAS_TYPES(__nv_bfloat16, __nv_bfloat16, float, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F)
  WEIR_BLAS_TYPES(__nv_bfloat16, float, float, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F)
#undef WEIR_BLAS_TYPES
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
)weir";

}  // namespace weir::kernels
