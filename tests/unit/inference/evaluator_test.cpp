// SPDX-License-Identifier: Apache-2.0
#include "inference/evaluator.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "comm/agree.hpp"
#include "comm/serial/communicator.hpp"
#include "support/failing_transport.hpp"
#include "support/train_samples.hpp"

namespace quern::test {

namespace {

constexpr int kClasses = 5;
const Shape kSmall{1, 2, 3};

// One linear layer: what it puts out is easy to compute by hand.
Recipe linear_recipe(int global_batch) {
  return image_recipe(global_batch,
                      {"network.input=[1, 2, 3]",
                       "network.layers=[{type = \"flatten\"}, {type = \"linear\", features = 5}]"});
}

Evaluation expected_evaluation(const Model& model, const Samples& samples) {
  const std::vector<float> block = to_vector(model.parameters());
  const auto& entries = model.network().table().entries();
  const std::vector<std::uint8_t> pixels = to_vector(samples.images);
  const std::vector<std::int32_t> labels = to_vector(samples.labels);
  const int units = samples.shape.units();
  Evaluation result;
  result.samples = samples.count;
  for (std::int64_t n = 0; n < samples.count; ++n) {
    double logits[kClasses];
    double total = 0;
    int best = 0;
    for (int v = 0; v < kClasses; ++v) {
      logits[v] = block[static_cast<std::size_t>(entries[1].offset + v)];
      for (int u = 0; u < units; ++u) {
        logits[v] += double{block[static_cast<std::size_t>(entries[0].position(v * units + u))]} *
                     pixels[static_cast<std::size_t>(n * units + u)] / 255.0;
      }
      total += std::exp(logits[v]);
      if (logits[v] > logits[best]) best = v;
    }
    const int label = labels[static_cast<std::size_t>(n)];
    result.loss += (std::log(total) - logits[label]) / static_cast<double>(samples.count);
    result.correct += best == label ? 1 : 0;
  }
  return result;
}

}  // namespace

TEST(Evaluator, EverySampleCountsOnceWhateverTheBatch) {
  SerialCommunicator comm;
  for (const int count : {1, 5, 64, 101}) {
    const Samples samples = image_samples(count, kSmall, kClasses);
    for (const int batch : {1, 7, 64, 500}) {
      const Recipe recipe = linear_recipe(batch);
      Model model(recipe);
      Evaluator evaluator(comm, model, samples, evaluation_batches(recipe, batch, count));
      model.allocate(evaluator.limit());
      const Evaluation result = evaluator.run(ExecSpace());
      const Evaluation expected = expected_evaluation(model, samples);
      EXPECT_EQ(result.samples, count);
      EXPECT_EQ(result.correct, expected.correct);
      EXPECT_NEAR(result.loss, expected.loss, 1e-6 * expected.loss);
      EXPECT_EQ(evaluator.run(ExecSpace()).loss, result.loss) << "a second run is the same";
    }
  }
}

TEST(Evaluator, LooksAtExchangesBeforeTheQueueOfADeviceIsFull) {
  SerialCommunicator comm;
  const int count = 1000;
  const Samples samples = image_samples(count, kSmall, kClasses);
  const Recipe recipe = linear_recipe(1);
  for (const bool fails : {false, true}) {
    FailingTransport transport(comm, fails ? 3 : 100);
    Model model(recipe);
    Evaluator evaluator(comm, model, samples, evaluation_batches(recipe, 1, count), &transport);
    model.allocate(evaluator.limit());
    int batches = 0;
    const auto run = [&] { evaluator.run(ExecSpace(), [&](const BatchPlan&) { ++batches; }); };
    if (fails) {
      EXPECT_THROW(run(), AgreedError);
      EXPECT_LE(batches, 512);
    } else {
      run();
      EXPECT_EQ(batches, count);
      EXPECT_LT(transport.looks_left(), 95);
    }
  }
}

TEST(Evaluator, LeavesTheParametersAlone) {
  SerialCommunicator comm;
  const Samples samples = image_samples(20, kSmall, kClasses);
  const Recipe recipe = linear_recipe(8);
  Model model(recipe);
  Evaluator evaluator(comm, model, samples, evaluation_batches(recipe, 8, samples.count));
  model.allocate(evaluator.limit());
  const std::vector<float> before = to_vector(model.parameters());
  evaluator.run(ExecSpace());
  EXPECT_EQ(to_vector(model.parameters()), before);
}

}  // namespace quern::test
