// SPDX-License-Identifier: Apache-2.0
// cuBLAS's and cuBLASLt's products of matrices: transposed, padded, batched, of other types, with factors on the device.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <cmath>
#include <vector>

#include "check.h"

template <class T>
struct Matrices {
  std::vector<T> host;
  T* device = nullptr;
  explicit Matrices(std::size_t count, int seed = 0) : host(count) {
    for (std::size_t i = 0; i < count; ++i) host[i] = T(float(int(i * 37 + seed) % 101 - 50) / 32);
    cudaMalloc(&device, count * sizeof(T));
    write();
  }
  ~Matrices() { cudaFree(device); }
  Matrices(const Matrices&) = delete;
  void write() { cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice); }
  std::vector<T> read() const {
    std::vector<T> now(host.size());
    cudaMemcpy(now.data(), device, now.size() * sizeof(T), cudaMemcpyDeviceToHost);
    return now;
  }
};

#define CHECK_BLAS(call) CHECK((call) == CUBLAS_STATUS_SUCCESS)

// The rows of c between m and its leading dimension keep their values.
int products(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k) {
  const int batch = 2, lda = (ta ? k : m) + 3, ldb = (tb ? n : k) + 1, ldc = m + 2;
  const int next_a = lda * (ta ? m : k), next_b = ldb * (tb ? k : n), next_c = ldc * n;
  Matrices<float> a(next_a * batch + 1), b(next_b * batch + 1, 5), c(next_c * batch, 9);
  const float alpha = 1.5f, beta = 0.5f;
  CHECK_BLAS(cublasSgemmStridedBatched(handle, ta, tb, m, n, k, &alpha, a.device, lda, next_a, b.device, ldb, next_b, &beta,
                                       c.device, ldc, next_c, batch));
  const std::vector<float> made = c.read();
  for (int one = 0; one < batch; ++one) {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < ldc; ++i) {
        const int at = one * next_c + i + j * ldc;
        double sum = 0;
        for (int l = 0; l < k && i < m; ++l)
          sum += double(a.host[one * next_a + (ta ? l + i * lda : i + l * lda)]) *
                 b.host[one * next_b + (tb ? j + l * ldb : l + j * ldb)];
        CHECK(std::fabs(made[at] - (i < m ? alpha * sum + beta * c.host[at] : c.host[at])) < 1e-3);
      }
    }
  }
  return 0;
}

int of_vectors(cublasHandle_t handle) {
  Matrices<double> a(12), x(8, 1), y(9, 2), factors(2);
  factors.host = {2, 3};
  factors.write();
  CHECK_BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  CHECK_BLAS(
      cublasDgemv(handle, CUBLAS_OP_N, 3, 4, factors.device, a.device, 3, x.device, -2, factors.device + 1, y.device, 3));
  CHECK_BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
  std::vector<double> made = y.read();
  for (int i = 0; i < 9; ++i) {
    double sum = y.host[i];
    if (i % 3 == 0) {
      sum *= 3;
      for (int l = 0; l < 4; ++l) sum += 2 * a.host[i / 3 + 3 * l] * x.host[2 * (3 - l)];
    }
    CHECK(made[i] == sum);
  }
  const double one = 1, zero = 0;
  CHECK_BLAS(cublasDgemv(handle, CUBLAS_OP_T, 3, 4, &one, a.device, 3, x.device, 1, &zero, y.device, 1));
  made = y.read();
  for (int i = 0; i < 4; ++i)
    CHECK(made[i] == a.host[3 * i] * x.host[0] + a.host[3 * i + 1] * x.host[1] + a.host[3 * i + 2] * x.host[2]);
  return 0;
}

template <class T>
int of_type(cublasHandle_t handle, cudaDataType type) {
  Matrices<T> a(4), b(4, 3), small(4);
  Matrices<float> c(4);
  c.host.assign(4, NAN);  // a factor 0 ignores what c has
  c.write();
  const float one = 1, zero = 0;
  CHECK_BLAS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.device, type, 2, b.device, type, 2, &zero,
                          c.device, CUDA_R_32F, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  CHECK_BLAS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.device, type, 2, b.device, type, 2, &zero,
                          small.device, type, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  const std::vector<float> made = c.read();
  const std::vector<T> rounded = small.read();
  for (int i = 0; i < 4; ++i) {
    const float sum =
        float(a.host[i % 2]) * float(b.host[i / 2 * 2]) + float(a.host[i % 2 + 2]) * float(b.host[i / 2 * 2 + 1]);
    CHECK(made[i] == sum);
    CHECK(float(rounded[i]) == float(T(sum)));
  }
  CHECK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.device, type, 2, b.device, CUDA_R_64F, 2, &zero,
                     c.device, CUDA_R_32F, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_NOT_SUPPORTED);
  return 0;
}

int with_bias() {
  cublasLtHandle_t handle;
  CHECK_BLAS(cublasLtCreate(&handle));
  cublasLtMatmulDesc_t product;
  CHECK_BLAS(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  Matrices<float> a(6), b(6, 3), c(9), bias(3, 7);
  const cublasOperation_t transposed = CUBLAS_OP_T;
  const cublasLtEpilogue_t then = CUBLASLT_EPILOGUE_RELU_BIAS;
  CHECK_BLAS(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
  CHECK_BLAS(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &then, sizeof then));
  CHECK_BLAS(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias.device, sizeof bias.device));
  cublasLtMatrixLayout_t of_ab, of_c;
  CHECK_BLAS(cublasLtMatrixLayoutCreate(&of_ab, CUDA_R_32F, 2, 3, 2));
  CHECK_BLAS(cublasLtMatrixLayoutCreate(&of_c, CUDA_R_32F, 3, 3, 3));
  const float one = 1, zero = 0;
  CHECK_BLAS(cublasLtMatmul(handle, product, &one, a.device, of_ab, b.device, of_ab, &zero, c.device, of_c, c.device, of_c,
                            nullptr, nullptr, 0, nullptr));
  const std::vector<float> made = c.read();
  int positive = 0;
  for (int i = 0; i < 9; ++i) {
    const int row = i % 3, column = i / 3;
    const float sum = bias.host[row] + a.host[2 * row] * b.host[2 * column] + a.host[2 * row + 1] * b.host[2 * column + 1];
    CHECK(std::fabs(made[i] - (sum > 0 ? sum : 0)) < 1e-5);
    positive += sum > 0;
  }
  CHECK(positive > 0 && positive < 9);
  CHECK_BLAS(cublasLtMatrixLayoutDestroy(of_ab));
  CHECK_BLAS(cublasLtMatrixLayoutDestroy(of_c));
  CHECK_BLAS(cublasLtMatmulDescDestroy(product));
  CHECK_BLAS(cublasLtDestroy(handle));
  return 0;
}

int main() {
  cublasHandle_t handle;
  CHECK_BLAS(cublasCreate(&handle));
  cudaStream_t stream;
  CHECK_CALL(cudaStreamCreate(&stream));
  CHECK_BLAS(cublasSetStream(handle, stream));
  for (const cublasOperation_t ta : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    for (const cublasOperation_t tb : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      if (products(handle, ta, tb, 70, 33, 17) + products(handle, ta, tb, 5, 129, 40) + products(handle, ta, tb, 3, 2, 0) !=
          0)
        return 1;
    }
  }
  if (of_vectors(handle) + of_type<__half>(handle, CUDA_R_16F) + of_type<__nv_bfloat16>(handle, CUDA_R_16BF) + with_bias() !=
      0)
    return 1;
  const float one = 1;
  CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, nullptr, 3, nullptr, 4, &one, nullptr, 4) ==
        CUBLAS_STATUS_INVALID_VALUE);
  CHECK_BLAS(cublasDestroy(handle));
  return 0;
}
