// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/process_grid.hpp"
#include "layers/sliced_layer.hpp"
#include "spec/recipe.hpp"
#include "strategy/pipeline_order.hpp"

namespace quern {

/// What parallel.strategy says in the other keys, for so many ranks. InputError where "single" is
/// started on several. With "pipeline" there are as many stages as ranks unless parallel.pipeline
/// is stated, and four pieces for each unless parallel.micro_batches is, or a layer needs the whole
/// batch at once. With "tensor" all ranks share every layer unless parallel.tensor is stated;
/// InputError where parallel.tensor_slices does not fit them. Either leaves the other what it has.
Recipe with_strategy(Recipe recipe, int num_ranks);

/// The shape of a recipe's grid on so many ranks. InputError, with the numbers, when its stages and
/// parts of layers do not divide them.
GridShape grid_shape_of(const Recipe& recipe, int num_ranks);

/// This rank's part of the pipeline.
inline StagePlace stage_of(const ProcessGrid& grid) {
  return {grid.place().pipeline, grid.shape().pipeline};
}

/// And of its layers.
inline TensorSlices slices_of(const ProcessGrid& grid, const Recipe& recipe) {
  return {tensor_slices(recipe), grid.shape().tensor, grid.place().tensor};
}

/// Collective: the grid of the ranks of `world`. AgreedError (exit 2) as above.
ProcessGrid make_grid(Communicator& world, const Recipe& recipe);

}  // namespace quern
