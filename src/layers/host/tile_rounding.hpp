// SPDX-License-Identifier: Apache-2.0
// Between floats and Layout::tiles, on a CPU. A work item is 16 units of one sample tile.
#pragma once

#include "tensor/operand_tiles.hpp"

namespace quern::host {

/// Rounds values in cn16c. Overwrites, padding with zeros.
void round_values(const ExecSpace& exec, const Activation& from, const OperandTiles& to);
/// Rounds gradients in cn16c. The same.
void round_gradients(const ExecSpace& exec, const Activation& from, const OperandTiles& to);
/// Either, back to floats in cn16c. Overwrites.
void unround(const ExecSpace& exec, const OperandTiles& from, const Activation& to);

}  // namespace quern::host
