// SPDX-License-Identifier: Apache-2.0
#include "inference/class_metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "comm/serial/communicator.hpp"
#include "inference/evaluator.hpp"
#include "support/train_samples.hpp"

namespace quern::test {

// As of a network that has learnt nothing, or whose outputs are cut off.
TEST(ClassMetrics, OfEqualOutputsTheFirstCount) {
  constexpr int kClasses = 6;  // of eight outputs
  SerialCommunicator comm;
  const Samples samples = image_samples(40, {1, 2, 3}, kClasses);
  const Recipe recipe = image_recipe(
      16, {"network.input=[1, 2, 3]",
           "network.layers=[{type = \"flatten\"}, {type = \"linear\", features = 8}]"});
  Model model(recipe);
  Evaluator evaluator(comm, model, samples, evaluation_batches(recipe, 16, samples.count));
  model.allocate(evaluator.limit());
  Kokkos::deep_copy(model.parameters(), 0.0f);
  ClassMetrics metrics(model, samples);
  const ExecSpace exec;
  evaluator.run(exec, [&](const BatchPlan& plan) { metrics.add(exec, plan); });

  const std::vector<std::int32_t> labels = to_vector(samples.labels);
  EXPECT_EQ(metrics.correct_in_top(), std::ranges::count_if(labels, [](std::int32_t label) {
              return label < ClassMetrics::kTop;
            }));
  EXPECT_EQ(metrics.predicted(0), samples.count);
  for (int label = 0; label < kClasses; ++label) {
    EXPECT_EQ(metrics.count(label, 0), std::ranges::count(labels, label)) << label;
    EXPECT_EQ(metrics.wanted(label), std::ranges::count(labels, label)) << label;
  }
}

}  // namespace quern::test
