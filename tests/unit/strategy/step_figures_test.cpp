// SPDX-License-Identifier: Apache-2.0
#include "strategy/step_figures.hpp"

#include <gtest/gtest.h>

#include "comm/serial/communicator.hpp"
#include "parallel/make_reducer.hpp"
#include "strategy/block_update.hpp"
#include "support/train_samples.hpp"

namespace quern::test {
namespace {

constexpr int kBatch = 16;

/// Of the only rank with this stage, for batches in `micro_batches` pieces.
StepFigures figures_of(const StagePlace& stage, int micro_batches = 1) {
  SerialCommunicator comm;
  const Recipe recipe =
      image_recipe(kBatch, {"parallel.pipeline=" + std::to_string(stage.stages),
                            "parallel.micro_batches=" + std::to_string(micro_batches)});
  const Model model(recipe, stage);
  EpochBatches batches(training_batches(recipe, 1, kBatch), model.row_multiple(), {.stage = stage});
  const ParameterTable& table = model.network().table();
  const auto reducer = make_reducer(comm, nullptr, table.block_size() + kLanes, SumOrder::tree);
  const RankSums sums(comm, nullptr, {}, SumOrder::tree);
  batches.plan_reductions([&](const auto& partition) { return reducer->add_plan(partition); });
  const StepRoom room = batches.room();
  const StepFigures figures =
      step_figures(recipe.optimizer, model, batches.full(), room, *reducer, sums);
  EXPECT_EQ(figures.activation_bytes, model.activation_bytes(room.limit, room.in_flight));
  EXPECT_EQ(figures.optimizer_bytes, 2 * table.trained_size() * 4) << "two arrays of Adam";
  EXPECT_EQ(figures.parameter_bytes,
            table.block_size() * 4 + figures.optimizer_bytes + reducer->bytes());
  EXPECT_EQ(figures.memory_bytes(), figures.activation_bytes + figures.parameter_bytes);
  return figures;
}

TEST(StepFigures, OneRankSendsNothing) {
  const StepFigures figures = figures_of({0, 1});
  EXPECT_EQ(figures.sent_bytes, 0);
  EXPECT_EQ(figures.stage_sent_bytes, std::vector<std::int64_t>{0});
}

// The gradient of what a stage hands on comes back.
TEST(StepFigures, StagesSendEachPieceOnAndItsGradientBack) {
  const StepFigures first = figures_of({0, 2});
  const StepFigures second = figures_of({1, 2});
  ASSERT_EQ(first.stage_sent_bytes.size(), 2U);
  EXPECT_EQ(first.stage_sent_bytes, second.stage_sent_bytes);
  EXPECT_GE(first.sent_bytes, kBatch * 3 * 2 * 2 * 4) << "at least what the pooling puts out";
  EXPECT_EQ(first.sent_bytes, first.stage_sent_bytes[0]);
  EXPECT_EQ(second.sent_bytes, second.stage_sent_bytes[1]);
  EXPECT_EQ(first.sent_bytes, second.sent_bytes);
}

TEST(StepFigures, SmallerPiecesTakeLessMemoryAndSendAtLeastAsMuch) {
  const StepFigures whole = figures_of({0, 1});
  const StepFigures pieces = figures_of({0, 1}, 4);
  EXPECT_LT(pieces.activation_bytes, whole.activation_bytes);
  EXPECT_GE(figures_of({0, 2}, 4).sent_bytes, figures_of({0, 2}).sent_bytes);
}

TEST(StepFigures, RemediesAreThoseThatChangeSomething) {
  const auto remedies = [](const std::vector<std::string>& settings, std::int64_t activations = 9) {
    const Recipe recipe = image_recipe(kBatch, settings);
    const Model model(recipe);
    const EpochBatches batches(training_batches(recipe, 1, kBatch), model.row_multiple(), {});
    StepFigures figures;
    figures.activation_bytes = activations;
    figures.parameter_bytes = 5;
    return memory_remedies(recipe, batches.full(), figures);
  };
  EXPECT_EQ(remedies({}),
            "a smaller data.global_batch, a larger parallel.micro_batches, train.recompute = true, "
            "or ranks on more nodes");
  EXPECT_EQ(remedies({"train.recompute=true", "train.micro_block=16"}),
            "a smaller data.global_batch, or ranks on more nodes");
  EXPECT_EQ(remedies({}, 1), "parallel.pipeline or parallel.tensor, with ranks on more nodes");
}

TEST(StepFigures, CountAnArrayThatNoCheckpointHolds) {
  const auto bytes = [](const std::string& type) {
    const Recipe recipe = image_recipe(kBatch, {"optimizer={type=\"" + type + "\", lr=0.1}"});
    const Model model(recipe);
    SerialCommunicator comm;
    const auto reducer =
        make_reducer(comm, nullptr, model.network().table().block_size() + kLanes, SumOrder::tree);
    return BlockUpdate::state_bytes(recipe.optimizer, model.network().table(), *reducer) /
           (4 * model.network().table().trained_size());
  };
  EXPECT_EQ(bytes("adamw"), 2);
  EXPECT_EQ(bytes("lamb"), 3);
  EXPECT_EQ(bytes("lars"), 0);
}

}  // namespace
}  // namespace quern::test
