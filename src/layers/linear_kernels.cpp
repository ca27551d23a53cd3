// SPDX-License-Identifier: Apache-2.0
#include "layers/linear_kernels.hpp"

namespace quern {

namespace {

// [rows, units] in nc or cn16c.
Matrix matrix_of(const Activation& a) {
  const bool panels = a.layout == Layout::cn16c;
  return {a.data.data(), a.rows, a.shape.units(),
          panels ? std::int64_t{kLanes} : std::int64_t{a.row_stride()},
          panels ? a.panel_stride() : std::int64_t{kLanes}};
}

ConstMatrix values_of(const Activation& a) {
  const Matrix m = matrix_of(a);
  return {m.data, m.rows, m.columns, m.stride, m.panel};
}

ConstMatrix weight_t(const LinearPass& pass) {
  const LinearShape& shape = pass.shape;
  return {pass.parameters + shape.weight.offset, shape.in, shape.out, shape.weight.stride,
          shape.weight.panel};
}

std::int64_t nothing_kept(const LinearShape& /*shape*/) {
  return 0;
}

std::int64_t products_workspace_floats(const LinearShape& shape, const DenseProducts& products,
                                       int max_rows) {
  return products.workspace_floats(shape.in, shape.out, shape.weight.stride, max_rows);
}

void products_forward(const ExecSpace& exec, const LinearPass& pass, const StepContext& /*step*/,
                      const LayerArrays& arrays) {
  Epilogue epilogue;
  if (pass.shape.has_bias()) epilogue.bias = pass.parameters + pass.shape.bias;
  epilogue.relu = pass.with_relu;
  pass.products.multiply(exec, "quern::layers::linear_forward", matrix_of(arrays.y),
                         values_of(arrays.x), weight_t(pass), epilogue);
}

void products_backward(const ExecSpace& exec, const LinearPass& pass, const StepContext& step,
                       const LayerArrays& arrays) {
  // First, because it reads W, which the weight gradient displaces in the caches.
  if (!arrays.dx.empty()) {
    Epilogue epilogue;
    if (pass.with_input_relu) epilogue.relu_mask = arrays.x.data.data();
    pass.products.multiply_transposed(
        exec, "quern::layers::linear_input_gradient", matrix_of(arrays.dx), values_of(arrays.dy),
        weight_t(pass), epilogue, {arrays.workspace, "quern::layers::linear_transpose"});
  }
  if (!pass.is_trained) return;
  pass.products.multiply_blocks(
      exec, "quern::layers::linear_weight_gradient", step.schedule, step.gradients,
      pass.shape.weight, values_of(arrays.x), values_of(arrays.dy),
      {pass.shape.bias, "quern::layers::linear_bias_gradient"}, arrays.workspace);
}

}  // namespace

const LinearKernels& linear_by_products() {
  static constexpr LinearKernels kKernels = {
      .in_tiles = false,
      .own_floats = nothing_kept,
      .workspace_floats = products_workspace_floats,
      .forward = products_forward,
      .backward = products_backward,
  };
  return kKernels;
}

const LinearKernels& linear_kernels(const KernelChoice& choice) {
  return choose_kernels<const LinearKernels&()>(
      {.host = linear_by_products,
       .host_bf16 = host_set<host::linear_in_tiles>(),
       .host_bf16_pairs = host_set<host::linear_in_tiles_by_pairs>(),
       .device = linear_by_products},
      choice)();
}

}  // namespace quern
