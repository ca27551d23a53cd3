// SPDX-License-Identifier: Apache-2.0
#include "inference/forward_model.hpp"

#include "comm/agree.hpp"
#include "comm/check_same.hpp"
#include "device/inventory.hpp"
#include "runtime/memory.hpp"
#include "state/restore.hpp"
#include "strategy/recipe_grid.hpp"

namespace quern {

namespace {

GridShape forward_shape(const Recipe& recipe, int num_ranks) {
  const ParallelSpec& parallel = recipe.parallel;
  if (num_ranks % (std::int64_t{parallel.pipeline} * parallel.tensor) != 0)
    return {num_ranks, 1, 1};
  return grid_shape(num_ranks, parallel.pipeline, parallel.tensor);
}

/// Forward has the same bits in slices and without: only what ranks share needs them.
TensorSlices forward_slices(const ProcessGrid& grid, const Recipe& recipe) {
  return grid.shape().tensor > 1 ? slices_of(grid, recipe) : TensorSlices{};
}

}  // namespace

ForwardModel::ForwardModel(Communicator& comm, const Recipe& recipe)
    : grid_(comm, forward_shape(recipe, comm.size())),
      model_(agree(comm,
                   [&] { return Model(recipe, stage_of(grid_), forward_slices(grid_, recipe)); })),
      connections_(connect_devices(grid_, recipe.parallel.backend)) {
  check_same(comm, "the network", tensors_text(model_.whole()));
}

void ForwardModel::load(const BatchLimit& most, const Samples& samples,
                        const CheckpointState* state) {
  const ParameterTable& table = model_.network().table();
  const DeviceMemoryNeeds needs{samples.num_bytes(), model_.activation_bytes(most),
                                table.block_size() * static_cast<std::int64_t>(sizeof(float))};
  agree(grid_.world(), [&] { check_device_memory(needs, available_device_memory()); });
  if (kHostExecution)
    check_node_memory(grid_.world(), needs.activation_bytes + needs.parameter_bytes,
                      "the forward pass");
  model_.allocate(most);
  model_.connect(grid_, connections_.tensor.get());
  restore(grid_, state, model_.whole().table(), table, model_.parameters());
}

}  // namespace quern
