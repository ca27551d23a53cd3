// SPDX-License-Identifier: Apache-2.0
#include "strategy/step_figures.hpp"

#include <algorithm>

#include "base/ceil_div.hpp"
#include "comm/agree.hpp"
#include "device/inventory.hpp"
#include "runtime/memory.hpp"
#include "strategy/block_update.hpp"
#include "strategy/tensor_plan.hpp"

namespace quern {

namespace {

constexpr std::int64_t kFloat = sizeof(float);

// A piece's output goes to the next stage, and its input's gradient to the one before.
std::vector<std::int64_t> stage_sent_bytes(const Model& model, const PlannedBatch& batch) {
  std::vector<std::int64_t> sent;
  for (int stage = 0; stage < model.place().stages; ++stage) {
    const CrossingFloats floats = crossing_floats(model.stages(), stage, batch.plan.limit().rows);
    sent.push_back(std::int64_t{batch.num_pieces()} * (floats.y + floats.dx) * kFloat);
  }
  return sent;
}

}  // namespace

StepFigures step_figures(const OptimizerSpec& optimizer, const Model& model,
                         const PlannedBatch& full, const StepRoom& room,
                         const GradientReducer& reducer, const RankSums& sums) {
  const ParameterTable& table = model.network().table();
  const std::int64_t sharers = reducer.shares_state() ? reducer.num_ranks() : 1;
  StepFigures figures;
  figures.activation_bytes = model.activation_bytes(room.limit, room.in_flight);
  figures.optimizer_bytes = BlockUpdate::state_bytes(optimizer, table, reducer);
  figures.parameter_bytes = ceil_div(table.block_size(), sharers) * kFloat +
                            figures.optimizer_bytes + reducer.bytes() + sums.bytes();
  figures.stage_sent_bytes = stage_sent_bytes(model, full);
  figures.sent_bytes = reducer.floats_sent(full.reduction) * kFloat +
                       figures.stage_sent_bytes[static_cast<std::size_t>(model.place().stage)] +
                       tensor_plan(model, full.plan.rows()).sent_bytes;
  return figures;
}

std::string memory_remedies(const Recipe& recipe, const PlannedBatch& full,
                            const StepFigures& figures) {
  if (figures.activation_bytes < figures.parameter_bytes)
    return "parallel.pipeline or parallel.tensor, with ranks on more nodes";
  const auto needs_whole_batch = [](const LayerSpec& layer) {
    return layer.type == LayerType::batch_norm && layer.statistics == Statistics::global;
  };
  std::string text = recipe.data.batch_per_rank > 0 ? "a smaller data.batch_per_rank"
                                                    : "a smaller data.global_batch";
  if (full.plan.partition.max_blocks() > recipe.parallel.micro_batches &&
      std::ranges::none_of(recipe.network.layers, needs_whole_batch))
    text += ", a larger parallel.micro_batches";
  if (!recipe.train.recompute) text += ", train.recompute = true";
  return text + ", or ranks on more nodes";
}

void check_step_memory(Communicator& world, const StepFigures& figures, std::int64_t data_bytes,
                       const std::string& remedies) {
  agree(world, [&] {
    check_device_memory({data_bytes, figures.activation_bytes, figures.parameter_bytes, remedies},
                        available_device_memory());
  });
  if (kHostExecution) check_node_memory(world, figures.memory_bytes(), "training", remedies);
}

}  // namespace quern
