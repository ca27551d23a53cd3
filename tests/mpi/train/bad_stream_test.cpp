// SPDX-License-Identifier: Apache-2.0
// A streamed set of which a rank cannot read all, where the host seldom looks at what steps led to,
// as on devices.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "checkpoint/checkpoint_folder.hpp"
#include "comm/exchange.hpp"
#include "dataset/window_order.hpp"
#include "parallel/batch_partition.hpp"
#include "strategy/sample_stream.hpp"
#include "support/temp_dir.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"
#include "train/trainer.hpp"

namespace quern::test {

namespace {

using quern::testing::world;

constexpr std::int64_t kCount = 64;
constexpr int kBatch = 8;
constexpr std::int64_t kSampleBytes = 36 + sizeof(std::int32_t);
constexpr int kFirstBadStep = 4;  // of a window of two

Recipe streaming_recipe() {
  Recipe recipe = image_recipe(kBatch, {"train.epochs=2"});
  // Two windows of two steps, and two last batches.
  recipe.data.memory = (2 * 2 * kBatch + 2 * kBatch) * kSampleBytes;
  return recipe;
}

/// Zeros. The last rank cannot read the first of its samples in the batch of step `bad_step`.
Samples stream_of_zeros(const Recipe& recipe, int bad_step) {
  const BatchRule batches = training_batches(recipe, world().size(), kCount);
  const WindowPlan plan = window_plan(recipe.data, batches, kSampleBytes);
  const WindowBuffers buffers = window_buffers(plan, batches, world().rank(), world().size());
  const BatchPartition batch(kBatch, batches.block_samples, world().size());
  const WindowOrder order(plan, recipe.seed, 0);
  const std::int64_t position = bad_step * kBatch + batch.first_sample(world().rank());
  const bool is_bad = world().rank() == world().size() - 1;
  const std::int64_t bad = is_bad ? order.sample(order.place(position)) : -1;

  Samples samples;
  samples.count = kCount;
  samples.shape = kImage;
  samples.classes = 5;
  samples.data_hash = std::string(64, '0');
  samples.images = View<std::uint8_t>("images", buffers.samples() * kImage.units());
  samples.labels = View<std::int32_t>("labels", buffers.samples());
  const auto read = [bad](std::int64_t first, std::int64_t count, std::int64_t) {
    if (first <= bad && bad < first + count) throw UnusableError("a bad sample");
  };
  samples.stream = std::make_shared<SampleStream>(
      plan, buffers, recipe.seed, recipe.train.epochs,
      SampleStream::Source{
          .announce = [](std::int64_t, std::int64_t) {}, .read = read, .finish = [] {}});
  return samples;
}

TEST(BadStream, EndsWithACheckpointOfAllThatWasLearned) {
  TempDir own;
  const RunFolder folder(std::filesystem::path(broadcast_string(world(), own.path().string())) /
                         "run");
  const Recipe recipe = streaming_recipe();
  const Samples samples = stream_of_zeros(recipe, kFirstBadStep);
  ASSERT_EQ(samples.stream->plan().first_step(2), kFirstBadStep);
  Model model(recipe);
  Trainer trainer(recipe, world(), folder, model, samples, nullptr, {.report_every_steps = 50});
  try {
    trainer.run();
    FAIL() << "a sample is bad";
  } catch (const AgreedError& error) {
    EXPECT_EQ(error.code(), ExitCode::do_not_requeue);
    EXPECT_NE(std::string(error.what()).find("a bad sample"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(std::filesystem::exists(folder.checkpoints() / checkpoint_name(kFirstBadStep)));
  world().barrier();  // rank 0's folder goes now
}

}  // namespace

}  // namespace quern::test
