// SPDX-License-Identifier: Apache-2.0
// The smallest library that benchmarks/gemm_ceiling can measure. With NAIVE_BLAS_WRONG set it
// forgets to transpose.
#include <cstdlib>

extern "C" void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k,
                            float alpha, const float* a, int lda, const float* b, int ldb,
                            float beta, float* c, int ldc) {
  constexpr int kRowMajor = 101;
  constexpr int kTransposed = 112;
  if (order != kRowMajor || std::getenv("NAIVE_BLAS_WRONG") != nullptr) transpose_b = 111;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int x = 0; x < k; ++x) {
        sum += (transpose_a == kTransposed ? a[x * lda + i] : a[i * lda + x]) *
               (transpose_b == kTransposed ? b[j * ldb + x] : b[x * ldb + j]);
      }
      c[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]);
    }
  }
}
