// SPDX-License-Identifier: Apache-2.0
#include "linalg/cublas/matmul_plan.hpp"

#include "linalg/cublas/status.hpp"

namespace quern::cublas {

namespace {

cublasComputeType_t compute_type(OperandPrecision precision) {
  switch (precision) {
    case OperandPrecision::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case OperandPrecision::bf16:
    case OperandPrecision::bf16_pairs:
      return CUBLAS_COMPUTE_32F;
    case OperandPrecision::fp32:
      break;
  }
  return CUBLAS_COMPUTE_32F_PEDANTIC;  // no tensor cores, whatever the environment asks for
}

cublasLtEpilogue_t epilogue_of(const MatmulShape& shape) {
  if (shape.relu) return shape.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  return shape.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

template <class T>
void set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t name, const T& value) {
  check(cublasLtMatmulDescSetAttribute(desc, name, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute");
}

class Preference {
 public:
  Preference() {
    check(cublasLtMatmulPreferenceCreate(&preference_), "cublasLtMatmulPreferenceCreate");
  }
  ~Preference() { cublasLtMatmulPreferenceDestroy(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;

  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t name, const T& value) {
    check(cublasLtMatmulPreferenceSetAttribute(preference_, name, &value, sizeof(value)),
          "cublasLtMatmulPreferenceSetAttribute");
  }
  cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  cublasLtMatmulPreference_t preference_ = nullptr;
};

}  // namespace

MatmulPlan::Layout MatmulPlan::describe(const Side& side, cudaDataType type) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(side.rows),
                                   static_cast<std::uint64_t>(side.columns), side.stride),
        "cublasLtMatrixLayoutCreate");
  return Layout(layout);
}

MatmulPlan::MatmulPlan(cublasLtHandle_t handle, const MatmulShape& shape,
                       OperandPrecision precision) {
  cublasLtMatmulDesc_t desc = nullptr;
  check(cublasLtMatmulDescCreate(&desc, compute_type(precision), CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  desc_.reset(desc);
  set(desc, CUBLASLT_MATMUL_DESC_TRANSA, shape.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(desc, CUBLASLT_MATMUL_DESC_TRANSB, shape.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(shape));
  const cudaDataType operand = is_bf16(precision) ? CUDA_R_16BF : CUDA_R_32F;
  a_ = describe(shape.a, operand);
  b_ = describe(shape.b, operand);
  d_ = describe(shape.d, CUDA_R_32F);
  choose_algorithm(handle);
}

void MatmulPlan::choose_algorithm(cublasLtHandle_t handle) {
  Preference preference;
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  // Sums of split products go through the workspace in a fixed order: no atomic additions.
  const std::uint32_t schemes =
      CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
  // Rows of activations, weights and their bfloat16 copies begin on 32 bytes.
  const std::uint32_t alignment = 32;
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  check(cublasLtMatmulAlgoGetHeuristic(handle, desc_.get(), a_.get(), b_.get(), d_.get(), d_.get(),
                                       preference.get(), 1, &result, &found),
        "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0) throw Error("cuBLASLt knows no algorithm for a matrix product");
  algorithm_ = result.algo;
}

void MatmulPlan::run(cublasLtHandle_t handle, cudaStream_t stream, const void* a, const void* b,
                     float* d, const float* bias, void* workspace) const {
  if (bias) set(desc_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const float one = 1;
  const float zero = 0;
  check(cublasLtMatmul(handle, desc_.get(), &one, a, a_.get(), b, b_.get(), &zero, d, d_.get(), d,
                       d_.get(), &algorithm_, workspace, kWorkspaceBytes, stream),
        "cublasLtMatmul");
}

}  // namespace quern::cublas
