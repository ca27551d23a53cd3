// SPDX-License-Identifier: Apache-2.0
#include "inference/output_metrics.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "comm/serial/communicator.hpp"
#include "inference/evaluator.hpp"
#include "samples/own_samples.hpp"
#include "support/train_samples.hpp"

namespace quern::test {

// As BinaryCrossEntropy counts right answers.
TEST(OutputMetrics, OneHalfIsNo) {
  SerialCommunicator comm;
  const std::vector<float> values(2 * 20, 1.0f);
  std::vector<float> targets;
  for (int i = 0; i < 20; ++i) targets.insert(targets.end(), {i < 7 ? 1.0f : 0.0f, 0.5f, 0.75f});
  const Samples samples = make_target_samples({2}, values, 3, targets);
  const Recipe recipe =
      image_recipe(8, {"network.input=[2]", "network.layers=[{type = \"linear\", features = 3}]",
                       "loss={type = \"binary_cross_entropy\"}", "data.target=\"values\""});
  Model model(recipe);
  Evaluator evaluator(comm, model, samples, evaluation_batches(recipe, 8, samples.count));
  model.allocate(evaluator.limit());
  const ExecSpace exec;
  for (const float bias : {0.0f, 0.25f}) {  // logits
    Kokkos::deep_copy(model.parameters(), 0.0f);
    std::vector<float> block = to_vector(model.parameters());
    const ParameterEntry& entry = model.network().table().entries().at(1);
    write_tensor(entry, std::vector<float>(3, bias), block);
    Kokkos::deep_copy(model.parameters(), to_view(block));
    OutputMetrics metrics(model, samples);
    evaluator.run(exec, [&](const BatchPlan& plan) { metrics.add(exec, plan); });
    const bool says_yes = bias > 0;
    const std::vector<int> wanted = {7, 0, 20};
    for (int output = 0; output < 3; ++output) {
      const int yes = wanted[static_cast<std::size_t>(output)];
      EXPECT_EQ(metrics.wanted(output), yes);
      EXPECT_EQ(metrics.predicted(output), says_yes ? 20 : 0);
      EXPECT_EQ(metrics.correct(output), says_yes ? yes : 0);
    }
  }
}

}  // namespace quern::test
