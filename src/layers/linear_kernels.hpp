// SPDX-License-Identifier: Apache-2.0
// The passes of a linear layer. There are two sets of them: by products of matrices, which are a
// choice of their own (linalg/dense_products.hpp), and in tiles of bf16 on a CPU, where rounding,
// packed weights and the update of parameters go with the products (host/linear_tiles.hpp).
#pragma once

#include "layers/layer.hpp"
#include "linalg/matrix.hpp"

namespace quern {

/// W^T [I, O] lies at `weight` of the parameter block, on a CPU in panels of 16 outputs, and the
/// bias [O] at `bias`; below 0: there is none.
struct LinearShape {
  int in = 0;
  int out = 0;
  GradientPlace weight;
  std::int64_t bias = 0;

  bool has_bias() const { return bias >= 0; }
};

/// What kernels know of the layer.
struct LinearPass {
  LinearShape shape;
  const float* parameters;  ///< from which the places of `shape` count
  DenseProducts& products;
  bool with_relu;
  bool with_input_relu;
  bool is_trained;
  const OutputReader* reader;  ///< forward calls it in place of writing y; null: there is none
};

struct LinearKernels {
  /// Are x and dx in Layout::tiles? Then y and dy may be, and parameters can be updated by
  /// StepContext::update.
  bool in_tiles;
  /// Of LayerArrays::own and workspace.
  std::int64_t (*own_floats)(const LinearShape& shape);
  std::int64_t (*workspace_floats)(const LinearShape& shape, const DenseProducts& products,
                                   int max_rows);
  /// As Layer::forward and backward.
  void (*forward)(const ExecSpace& exec, const LinearPass& pass, const StepContext& step,
                  const LayerArrays& arrays);
  void (*backward)(const ExecSpace& exec, const LinearPass& pass, const StepContext& step,
                   const LayerArrays& arrays);
};

const LinearKernels& linear_by_products();
namespace host {
const LinearKernels& linear_in_tiles();
const LinearKernels& linear_in_tiles_by_pairs();
}  // namespace host

const LinearKernels& linear_kernels(const KernelChoice& choice = {});

}  // namespace quern
