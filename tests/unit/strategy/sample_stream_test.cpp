// SPDX-License-Identifier: Apache-2.0
#include "strategy/sample_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "parallel/batch_partition.hpp"
#include "support/expect_error.hpp"

namespace quern {
namespace {

constexpr std::uint64_t kSeed = 5;
constexpr std::int64_t kSampleBytes = 10;

Recipe recipe_of(int batch, int block, std::int64_t memory_samples) {
  Recipe recipe;
  recipe.data.global_batch = batch;
  recipe.data.memory = memory_samples * kSampleBytes;
  recipe.train.micro_block = block;
  recipe.train.epochs = 3;
  return recipe;
}

/// One rank's buffers, each place holding the number of the sample that was read there.
struct Reader {
  std::vector<std::int64_t> places;
  std::atomic<std::int64_t> samples_read{0};
  std::atomic<std::int64_t> bad_sample{-1};

  SampleStream::Source source() {
    return {.announce = [](std::int64_t, std::int64_t) {},
            .read =
                [this](std::int64_t first, std::int64_t count, std::int64_t place) {
                  for (std::int64_t i = 0; i < count; ++i) {
                    if (first + i == bad_sample) throw std::runtime_error("bad sample");
                    places.at(static_cast<std::size_t>(place + i)) = first + i;
                  }
                  samples_read += count;
                },
            .finish = [] {}};
  }
};

struct RankStream {
  RankStream(const Recipe& recipe, const BatchRule& batches, int rank, int num_ranks)
      : plan(window_plan(recipe.data, batches, kSampleBytes)),
        buffers(window_buffers(plan, batches, rank, num_ranks)),
        full(batches.full_batch, batches.block_samples, num_ranks),
        last(batches.last_batch, batches.block_samples, num_ranks),
        own_rank(rank),
        stream(plan, buffers, recipe.seed, recipe.train.epochs, reader.source()) {
    reader.places.assign(static_cast<std::size_t>(buffers.samples()), -1);
  }

  /// Places of the batch that do not hold the sample that the order says.
  int wrong_in_batch(std::int64_t epoch, std::int64_t cursor) {
    stream.prepare(epoch, cursor);
    const WindowOrder order(plan, kSeed, static_cast<std::uint32_t>(epoch));
    const BatchPartition& batch = plan.count - cursor < plan.batch ? last : full;
    int wrong = 0;
    for (int i = 0; i < batch.num_samples(own_rank); ++i) {
      const std::int64_t position = cursor + batch.first_sample(own_rank) + i;
      const WindowPlace place = order.place(position);
      const auto at = static_cast<std::size_t>(buffers.at(plan, epoch, position, place));
      wrong += reader.places.at(at) != order.sample(place);
    }
    return wrong;
  }

  WindowPlan plan;
  WindowBuffers buffers;
  BatchPartition full;
  BatchPartition last;
  int own_rank;
  Reader reader;
  SampleStream stream;
};

// Last batches and micro-blocks that are shorter; more ranks than micro-blocks.
TEST(SampleStream, HasTheSamplesOfEveryBatchInTheirPlaces) {
  for (const auto& [batch, block] : std::vector<std::pair<int, int>>{{49, 4}, {48, 16}, {10, 10}}) {
    for (const bool shuffle : {true, false}) {
      for (const int ranks : {1, 2, 3, 4, 7}) {
        Recipe recipe = recipe_of(batch, block, 400);
        recipe.seed = kSeed;
        recipe.data.shuffle = shuffle;
        const BatchRule batches = training_batches(recipe, ranks, 1003);
        std::int64_t held = 0;
        std::int64_t read = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          RankStream own(recipe, batches, rank, ranks);
          for (std::int64_t epoch = 0; epoch < recipe.train.epochs; ++epoch)
            for (std::int64_t cursor = 0; cursor < 1003; cursor += batch)
              ASSERT_EQ(own.wrong_in_batch(epoch, cursor), 0) << rank << " of " << ranks;
          held += own.buffers.samples();
          read += own.reader.samples_read;
        }
        EXPECT_LE(held, 400) << "data.memory";
        // Together the ranks read the set once an epoch, and what is left over once more.
        EXPECT_EQ(read, recipe.train.epochs * (1003 + 1003 % batch)) << ranks;
      }
    }
  }
}

TEST(SampleStream, BeginsAnywhere) {
  Recipe recipe = recipe_of(20, 4, 200);
  recipe.seed = kSeed;
  const BatchRule batches = training_batches(recipe, 2, 1003);
  RankStream own(recipe, batches, 1, 2);
  for (const auto& [epoch, cursor] :
       std::vector<std::pair<int, int>>{{1, 500}, {1, 520}, {2, 1000}, {0, 0}, {2, 980}, {2, 1000}})
    EXPECT_EQ(own.wrong_in_batch(epoch, cursor), 0) << epoch << " " << cursor;
  EXPECT_FALSE(own.stream.has_failed());
}

// It is known in time: the batch that was prepared is whole, and the caller can still vote.
TEST(SampleStream, TellsOfAFailureBeforeItsBatch) {
  Recipe recipe = recipe_of(20, 4, 200);
  recipe.seed = kSeed;
  const BatchRule batches = training_batches(recipe, 1, 1003);
  RankStream own(recipe, batches, 0, 1);
  own.reader.bad_sample = WindowOrder(own.plan, kSeed, 0)(300);
  int steps = 0;
  for (; !own.stream.has_failed() && steps < 51; ++steps)
    ASSERT_EQ(own.wrong_in_batch(0, steps * 20), 0);
  EXPECT_LE(steps, 300 / 20);
  EXPECT_THROW(own.stream.rethrow(), std::runtime_error);
  EXPECT_THROW(own.stream.prepare(0, 300), std::runtime_error);
}

// A device that is behind the host must not find other samples in their places.
TEST(SampleStream, HandsBackAWindowOnceABatchOfAnotherOneComes) {
  Recipe recipe = recipe_of(20, 4, 200);
  recipe.seed = kSeed;
  const BatchRule batches = training_batches(recipe, 1, 1003);
  RankStream own(recipe, batches, 0, 1);
  EXPECT_FALSE(own.stream.hands_back(0, 0)) << "nothing was used";
  int handed_back = 0;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    for (std::int64_t step = 0; step * 20 < 1003; ++step) {
      const bool is_first =
          step == 0 ? epoch > 0
                    : own.plan.window_of_step(step) != own.plan.window_of_step(step - 1);
      EXPECT_EQ(own.stream.hands_back(epoch, step * 20), is_first) << epoch << " " << step;
      handed_back += is_first;
      EXPECT_EQ(own.wrong_in_batch(epoch, step * 20), 0);
      EXPECT_FALSE(own.stream.hands_back(epoch, step * 20));
    }
  }
  EXPECT_EQ(handed_back, 2 * own.plan.windows - 1);
}

// Who stops does not wait for a window that nobody will use; what is on its way arrives.
TEST(SampleStream, StopsInTheMiddleOfAWindow) {
  Recipe recipe = recipe_of(20, 4, 1000);
  recipe.seed = kSeed;
  const BatchRule batches = training_batches(recipe, 1, 1003);
  const WindowPlan plan = window_plan(recipe.data, batches, kSampleBytes);
  std::promise<void> begun;
  std::atomic<int> reads[2] = {0, 0};  // of either window
  std::atomic<int> finished{0};
  {
    SampleStream stream(plan, window_buffers(plan, batches, 0, 1), kSeed, 1,
                        {.announce = [](std::int64_t, std::int64_t) {},
                         .read =
                             [&](std::int64_t, std::int64_t, std::int64_t) {
                               const bool is_second = finished > 0;
                               if (reads[is_second]++ == 0 && is_second) begun.set_value();
                               if (is_second)
                                 std::this_thread::sleep_for(std::chrono::milliseconds(40));
                             },
                         .finish = [&] { ++finished; }});
    stream.prepare(0, 0);
    begun.get_future().wait();
  }
  EXPECT_GE(reads[0], 20);
  EXPECT_LT(reads[1], reads[0]);
  EXPECT_EQ(finished, 2);
}

TEST(SampleStream, AnnouncesWhatItReads) {
  Recipe recipe = recipe_of(20, 4, 200);
  recipe.seed = kSeed;
  const BatchRule batches = training_batches(recipe, 1, 1003);
  const WindowPlan plan = window_plan(recipe.data, batches, kSampleBytes);
  for (const std::int64_t ahead : {1, 10, 1000}) {
    std::vector<std::pair<std::int64_t, std::int64_t>> announced;
    std::size_t read = 0;
    std::int64_t most = 0;
    SampleStream stream(
        plan, window_buffers(plan, batches, 0, 1), kSeed, 1,
        {.announce = [&](std::int64_t first,
                         std::int64_t count) { announced.emplace_back(first, count); },
         .read =
             [&](std::int64_t first, std::int64_t count, std::int64_t) {
               EXPECT_EQ(announced.at(read), std::pair(first, count));
               std::int64_t samples = 0;
               for (std::size_t i = read; i < announced.size(); ++i) samples += announced[i].second;
               most = std::max(most, samples - announced.back().second);
               ++read;
             },
         .finish = [] {},
         .ahead = ahead});
    for (std::int64_t cursor = 0; cursor < 1003; cursor += 20) stream.prepare(0, cursor);
    EXPECT_EQ(read, announced.size());
    std::int64_t samples = 0;
    for (const auto& run : announced) samples += run.second;
    EXPECT_EQ(samples, 1003 + 1003 % 20) << "the last batch is read with the last window";
    EXPECT_LT(most, ahead);
    EXPECT_EQ(most > 0, ahead > 1);
  }
}

// So that every file is opened once a window, and ranks that begin together do not all open the
// same.
TEST(SampleStream, ReadsAWindowInTheOrderOfTheSetFromAPlaceOfItsOwn) {
  const auto from_own_place = [](std::int64_t place) {
    return [place](std::int64_t first) { return first < place ? first + 1003 : first; };
  };
  for (const bool shuffle : {true, false}) {
    Recipe recipe = recipe_of(20, 4, 200);
    recipe.seed = kSeed;
    recipe.data.shuffle = shuffle;
    const BatchRule batches = training_batches(recipe, 5, 1003);
    const WindowPlan plan = window_plan(recipe.data, batches, kSampleBytes);
    for (int rank = 0; rank < 5; ++rank) {
      std::vector<std::vector<std::int64_t>> windows(1);
      {
        SampleStream stream(plan, window_buffers(plan, batches, rank, 5), kSeed, 1,
                            {.announce = [](std::int64_t, std::int64_t) {},
                             .read = [&](std::int64_t first, std::int64_t,
                                         std::int64_t) { windows.back().push_back(first); },
                             .finish = [&] { windows.emplace_back(); }});
        for (std::int64_t cursor = 0; cursor < 1003; cursor += 20) stream.prepare(0, cursor);
      }
      ASSERT_EQ(windows.size(), static_cast<std::size_t>(plan.windows) + 1);
      windows.pop_back();
      for (const std::vector<std::int64_t>& window : windows)
        EXPECT_TRUE(std::ranges::is_sorted(window, {}, from_own_place(200 * rank)))
            << rank << " " << shuffle;
    }
  }
}

TEST(SampleStream, OneThatIsNeverUsedReadsNothing) {
  const Recipe recipe = recipe_of(20, 4, 200);
  const BatchRule batches = training_batches(recipe, 1, 1003);
  RankStream own(recipe, batches, 0, 1);
  EXPECT_EQ(own.reader.samples_read, 0);
}

TEST(WindowPlan, FollowsFromMemoryOrIsStated) {
  const auto plan = [](const Recipe& recipe) {
    return window_plan(recipe.data, training_batches(recipe, 1, 1000), kSampleBytes);
  };
  EXPECT_FALSE(plan(recipe_of(20, 4, 1000)).is_active()) << "it fits";
  EXPECT_EQ(plan(recipe_of(20, 4, 400)).window_samples(), 180);
  Recipe stated = recipe_of(20, 4, 0);
  EXPECT_FALSE(plan(stated).is_active());
  stated.data.window = 180;
  EXPECT_EQ(plan(stated).windows, plan(recipe_of(20, 4, 400)).windows);
  EXPECT_EQ(plan(stated).chunk, plan(recipe_of(20, 4, 400)).chunk);
  stated.data.memory = 400 * kSampleBytes;
  EXPECT_EQ(plan(stated).window_samples(), 180);
  stated.data.window = 400;
  test::expect_error([&] { plan(stated); }, ExitCode::bad_input,
                     {"two windows of 400 samples", "or a smaller data.window"});
  test::expect_error([&] { plan(recipe_of(20, 4, 79)); }, ExitCode::bad_input,
                     {"data.memory = 790 B is too small", "20 samples of 10 bytes",
                      "expected at least \"800 B\""});
  const Recipe little = recipe_of(20, 4, 79);
  const BatchRule batches = training_batches(little, 1, 1000);
  test::expect_error([&] { window_plan(little.data, batches, kSampleBytes, "--memory"); },
                     ExitCode::bad_input, {"--memory = 790 B is too small"});
  EXPECT_TRUE(plan(recipe_of(20, 4, 80)).is_active());
}

}  // namespace
}  // namespace quern
