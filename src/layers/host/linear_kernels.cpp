// SPDX-License-Identifier: Apache-2.0
#include "layers/linear_kernels.hpp"

#include "layers/host/linear_tiles.hpp"
#include "layers/host/tile_rounding.hpp"

namespace quern::host {

namespace {

// W rounded, for forward and for the input gradient.
std::int64_t packed_floats(const LinearShape& shape) {
  return packed_bf16(shape);  // two of half a float each
}

// dy rounded.
std::int64_t rounded_floats(const LinearShape& shape, const DenseProducts& /*products*/,
                            int max_rows) {
  return OperandTiles::floats(shape.out, max_rows);
}

template <OperandPrecision kPrecision>
void tiles_forward(const ExecSpace& exec, const LinearPass& pass, const StepContext& step,
                   const LayerArrays& arrays) {
  auto* packed = reinterpret_cast<std::uint16_t*>(arrays.own.data());
  const bool has_gradient = step.mode == Mode::train && !arrays.dx.empty();
  if (!step.has_packed_weights) {
    pack_linear_weights(exec, pass.shape, pass.parameters, packed,
                        has_gradient ? packed + packed_bf16(pass.shape) : nullptr);
  }
  linear_forward(exec, tile_unit(kPrecision), pass.shape, packed, pass.parameters, pass.with_relu,
                 arrays.x, arrays.y, pass.reader);
}

template <OperandPrecision kPrecision>
void tiles_backward(const ExecSpace& exec, const LinearPass& pass, const StepContext& step,
                    const LayerArrays& arrays) {
  const LinearShape& shape = pass.shape;
  const Activation& dy = arrays.dy;
  const OperandTiles x(arrays.x);
  OperandTiles gradient(dy);
  if (dy.layout != Layout::tiles) {
    gradient = {arrays.workspace.data(), shape.out, dy.rows, dy.block_rows};
    round_gradients(exec, dy, gradient);
  }
  auto* packed = reinterpret_cast<std::uint16_t*>(arrays.own.data());
  auto* packed_backward = arrays.dx.empty() ? nullptr : packed + packed_bf16(shape);
  // Before an update, which changes the weights.
  if (packed_backward) {
    linear_input_gradient(exec, tile_unit(kPrecision), shape, packed_backward, gradient,
                          pass.with_input_relu ? &x : nullptr, arrays.dx);
  }
  if (!pass.is_trained) return;
  linear_parameter_gradients(exec, tile_unit(kPrecision), shape, step.schedule, x, gradient,
                             step.gradients, step.update, pass.parameters, packed, packed_backward);
}

template <OperandPrecision kPrecision>
constexpr LinearKernels kKernels = {
    .in_tiles = true,
    .own_floats = packed_floats,
    .workspace_floats = rounded_floats,
    .forward = tiles_forward<kPrecision>,
    .backward = tiles_backward<kPrecision>,
};

}  // namespace

const LinearKernels& linear_in_tiles() {
  return kKernels<OperandPrecision::bf16>;
}

const LinearKernels& linear_in_tiles_by_pairs() {
  return kKernels<OperandPrecision::bf16_pairs>;
}

}  // namespace quern::host
