// SPDX-License-Identifier: Apache-2.0
// The products of a linear layer on tiles of bfloat16 (linalg/host/bf16_tiles.hpp), on a CPU.
// Operands are rounded, sums, biases and gradients of parameters are float. For every element the
// steps along k are added in ascending order, micro-blocks in the order of the tree: the same bits
// for any number of rows, threads and ranks.
// Reference: layers/reference/linear.hpp on rounded operands.
#pragma once

#include "layers/linear_kernels.hpp"
#include "linalg/host/bf16_tiles.hpp"
#include "tensor/operand_tiles.hpp"
#include "tensor/output_reader.hpp"

namespace quern::host {

/// W as A tiles: [out / 16][in / 32][16 out][32 in] for forward, [in / 16][out / 32][16 in][32 out]
/// for the input gradient.
inline std::int64_t packed_bf16(const LinearShape& shape) {
  return std::int64_t{OperandTiles::round_up(shape.in)} * OperandTiles::round_up(shape.out);
}

/// Rounds W, for forward and, unless null, for the input gradient. Overwrites packed_bf16() values
/// of each, what is beyond W with zeros.
void pack_linear_weights(const ExecSpace& exec, const LinearShape& shape, const float* parameters,
                         std::uint16_t* forward, std::uint16_t* backward);

/// y = x W^T, plus b if there is one, then max(y, 0) if `with_relu`. Overwrites y, in cn16c or in
/// tiles; x in tiles. With a `reader` (null: there is none) y is read by it and not written.
void linear_forward(const ExecSpace& exec, const TileUnit& tile_unit, const LinearShape& shape,
                    const std::uint16_t* weights, const float* parameters, bool with_relu,
                    const Activation& x, const Activation& y, const OutputReader* reader);

/// dx = dy W, zero where x_mask (may be null) is not above 0. Overwrites dx, in cn16c or in tiles;
/// all else in tiles.
void linear_input_gradient(const ExecSpace& exec, const TileUnit& tile_unit,
                           const LinearShape& shape, const std::uint16_t* weights,
                           const OperandTiles& dy, const OperandTiles* x_mask,
                           const Activation& dx);

/// The gradients of W and b, of each partial sum. Overwrites. x and dy in tiles. With `update` they
/// go there instead, and partial_sums stay as they are; the new weights, which are in `parameters`,
/// are packed as pack_linear_weights() does.
void linear_parameter_gradients(const ExecSpace& exec, const TileUnit& tile_unit,
                                const LinearShape& shape, const BlockSchedule& schedule,
                                const OperandTiles& x, const OperandTiles& dy,
                                const GradientSums& partial_sums, const ParameterUpdate& update,
                                const float* parameters, std::uint16_t* forward,
                                std::uint16_t* backward);

}  // namespace quern::host
