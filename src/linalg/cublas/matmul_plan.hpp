// SPDX-License-Identifier: Apache-2.0
// One matrix product of cuBLASLt, described and with its algorithm chosen.
#pragma once

#include <cublasLt.h>

#include <compare>
#include <cstdint>
#include <memory>

#include "tensor/operand_precision.hpp"

namespace quern::cublas {

/// A matrix as cuBLASLt sees it, column by column: a row-major matrix is its transpose.
struct Side {
  int rows = 0;
  int columns = 0;
  std::int64_t stride = 0;
  bool transposed = false;  ///< enters the product transposed
  auto operator<=>(const Side&) const = default;
};

/// D = op(A) op(B) (+ bias, a value for each row of D, then ReLU).
struct MatmulShape {
  Side a;
  Side b;
  Side d;
  bool bias = false;
  bool relu = false;
  auto operator<=>(const MatmulShape&) const = default;
};

/// Workspace of all products: what cuBLAS advises for Hopper, and more than it advises for others.
inline constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

/// Owns the descriptors. The algorithm is the first that the library's heuristics offer for the
/// shape: the same shape, GPU and library give the same algorithm, and it adds in the same order in
/// every run.
class MatmulPlan {
 public:
  /// Throws Error where the library knows no algorithm.
  MatmulPlan(cublasLtHandle_t handle, const MatmulShape& shape, OperandPrecision precision);

  /// Enqueues the product on `stream`. a, b: float or bfloat16, as the precision says; bias null
  /// unless the shape has one.
  void run(cublasLtHandle_t handle, cudaStream_t stream, const void* a, const void* b, float* d,
           const float* bias, void* workspace) const;

 private:
  struct DestroyLayout {
    void operator()(cublasLtMatrixLayout_t layout) const { cublasLtMatrixLayoutDestroy(layout); }
  };
  struct DestroyDescription {
    void operator()(cublasLtMatmulDesc_t desc) const { cublasLtMatmulDescDestroy(desc); }
  };
  using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, DestroyLayout>;
  using Description = std::unique_ptr<cublasLtMatmulDescOpaque_t, DestroyDescription>;

  static Layout describe(const Side& side, cudaDataType type);
  void choose_algorithm(cublasLtHandle_t handle);

  Description desc_;
  Layout a_;
  Layout b_;
  Layout d_;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace quern::cublas
