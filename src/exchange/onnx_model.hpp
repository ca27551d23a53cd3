// SPDX-License-Identifier: Apache-2.0
// A trained network for other programs, as ONNX: docs/formats.md describes what is in the file.
#pragma once

#include <string>

#include "checkpoint/checkpoint_state.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// The bytes of an ONNX model (IR version 8, opset 17) of the recipe's network with the weights of
/// `state`, whose names the initialisers have. InputError for a network that ONNX cannot say, and
/// for one above 2 GiB, which the format does not allow.
std::string onnx_model(const Recipe& recipe, const CheckpointState& state);

}  // namespace quern
