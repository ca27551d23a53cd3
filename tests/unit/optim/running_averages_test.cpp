// SPDX-License-Identifier: Apache-2.0
#include "optim/running_averages.hpp"

#include <gtest/gtest.h>

#include "optim/clip.hpp"
#include "optim/optimizer.hpp"
#include "support/random_values.hpp"
#include "support/test_step.hpp"

namespace quern {
namespace {

using test::to_vector;
using test::to_view;

ParameterTable make_table() {
  ParameterTable table;
  table.add("bn.weight", {21}, 1, ParameterKind::scale);
  table.add_buffer("bn.running_mean", {21}, {0.0f, 0.1f});
  table.add_buffer("bn.running_var", {21}, {1.0f, 0.25f});
  table.add("fc.weight", {40}, 1, ParameterKind::weight);
  return table;
}

StepScalarsView make_scalars(bool apply_updates = true) {
  const StepScalarsView scalars("test::scalars");
  StepScalars values;
  values.learning_rate = 0.5f;
  values.apply_updates = apply_updates;
  test::set_scalars(scalars, values);
  return scalars;
}

struct Blocks {
  std::vector<float> before;
  std::vector<float> statistics;
  FloatView values;
  FloatView statistics_view;

  explicit Blocks(const ParameterTable& table) {
    const auto size = static_cast<std::size_t>(table.block_size());
    before = test::random_values(size, 1);
    statistics = test::random_values(size, 2);
    values = to_view(before);
    statistics_view = to_view(statistics);
  }
};

TEST(RunningAverages, MoveBuffersTowardsTheStatisticsOfTheBatchAndNothingElse) {
  const ParameterTable table = make_table();
  const Blocks blocks(table);
  RunningAverages(table, 0, 1 << 20)
      .update(ExecSpace(), make_scalars(), blocks.values, blocks.statistics_view);
  std::vector<float> expected = blocks.before;
  for (const ParameterEntry& entry : table.entries()) {
    if (!entry.is_buffer()) continue;
    for (std::int64_t i = 0; i < entry.count; ++i) {
      const auto at = static_cast<std::size_t>(entry.position(i));
      const float m = entry.average.momentum;
      expected[at] = (1 - m) * blocks.before[at] + m * blocks.statistics[at];
    }
  }
  const std::vector<float> after = to_vector(blocks.values);
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_NEAR(after[i], expected[i], expected[i] == blocks.before[i] ? 0 : 1e-6) << i;
  }
}

TEST(RunningAverages, UpdateTheirPartOnly) {
  const ParameterTable table = make_table();
  const Blocks whole(table);
  const Blocks in_parts(table);
  const StepScalarsView scalars = make_scalars();
  RunningAverages(table, 0, table.block_size())
      .update(ExecSpace(), scalars, whole.values, whole.statistics_view);
  const std::int64_t middle = table.trained_size() + 16;
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 32},
                                   {32, middle},
                                   {middle, middle + 32},
                                   {middle + 32, 1 << 20}}) {
    RunningAverages(table, begin, end)
        .update(ExecSpace(), scalars, in_parts.values, in_parts.statistics_view);
  }
  EXPECT_EQ(to_vector(in_parts.values), to_vector(whole.values));
  EXPECT_NE(to_vector(whole.values), whole.before);
}

TEST(RunningAverages, StayAfterALossThatIsNotFinite) {
  const ParameterTable table = make_table();
  const Blocks blocks(table);
  RunningAverages(table, 0, table.block_size())
      .update(ExecSpace(), make_scalars(false), blocks.values, blocks.statistics_view);
  EXPECT_EQ(to_vector(blocks.values), blocks.before);
}

TEST(RunningAverages, AreNothingToOptimizersAndToClipping) {
  const ParameterTable table = make_table();
  for (const OptimizerType type : {OptimizerType::sgd, OptimizerType::adamw}) {
    const Blocks blocks(table);
    OptimizerSpec spec;
    spec.type = type;
    spec.momentum = 0.9;
    spec.weight_decay = 0.1;
    const auto optimizer = make_optimizer(spec, table);
    const FloatView trained =
        Kokkos::subview(blocks.values, std::pair(std::int64_t{0}, table.trained_size()));
    optimizer->update(ExecSpace(), make_scalars(), trained, blocks.statistics_view);
    const std::vector<float> after = to_vector(blocks.values);
    const auto begin = static_cast<std::size_t>(table.trained_size());
    EXPECT_EQ(std::vector(after.begin() + begin, after.end()),
              std::vector(blocks.before.begin() + begin, blocks.before.end()));
    EXPECT_NE(after, blocks.before);
    for (const OptimizerState& state : optimizer->state())
      EXPECT_EQ(state.values.extent(0), begin) << state.name;
  }
  // A large statistic does not count as a large gradient.
  Blocks blocks(table);
  std::vector<float> gradient(blocks.before.size(), 0.0f);
  std::fill(gradient.begin() + table.trained_size(), gradient.end(), 1e6f);
  const StepScalarsView scalars = make_scalars();
  GradientClip(1.0, table.trained_size()).set_scale(ExecSpace(), scalars, to_view(gradient));
  EXPECT_EQ(scalars().gradient_scale, 1.0f);
}

}  // namespace
}  // namespace quern
