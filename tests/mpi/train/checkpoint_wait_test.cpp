// SPDX-License-Identifier: Apache-2.0
// Exchanges between devices have a deadline, and writing a checkpoint has none: nobody enters one
// while rank 0 writes.
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/checkpoint_folder.hpp"
#include "comm/exchange.hpp"
#include "runtime/host_staged_transport.hpp"
#include "support/temp_dir.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"
#include "train/trainer.hpp"

namespace quern::test {

namespace {

using quern::testing::world;

/// Looks for the checkpoint of each step before the first exchange of the next one.
class Watched final : public DeviceTransport {
 public:
  explicit Watched(std::filesystem::path checkpoints)
      : by_(world()), checkpoints_(std::move(checkpoints)) {}

  int rank() const override { return by_.rank(); }
  int size() const override { return by_.size(); }
  const char* name() const override { return by_.name(); }
  bool is_capturable() const override { return false; }

  void all_reduce_sum(std::span<float> values, DeviceStream stream) override {
    look();
    by_.all_reduce_sum(values, stream);
  }
  void all_gather(std::span<float> all, DeviceStream stream) override {
    look();
    by_.all_gather(all, stream);
  }
  void all_gather_v(std::span<float> all, std::span<const std::int64_t> counts,
                    DeviceStream stream) override {
    look();
    by_.all_gather_v(all, counts, stream);
  }
  void all_to_all_v(std::span<const float> send, std::span<const Segment> send_to,
                    std::span<float> receive, std::span<const Segment> receive_from,
                    DeviceStream stream) override {
    look();
    by_.all_to_all_v(send, send_to, receive, receive_from, stream);
  }
  void send_and_receive(std::span<const float> send, std::span<const RankSegment> to,
                        std::span<float> receive, std::span<const RankSegment> from,
                        DeviceStream stream) override {
    look();
    by_.send_and_receive(send, to, receive, from, stream);
  }

  double steps() const { return static_cast<double>(exchanges_) / kExchangesOfStep; }
  int missing() const { return missing_; }

 private:
  // Of the sums of the loss; of one bucket, there and back.
  static constexpr int kExchangesOfStep = 3;

  void look() {
    const int steps = exchanges_ / kExchangesOfStep;
    const bool is_first = exchanges_++ % kExchangesOfStep == 0;
    if (is_first && steps > 0)
      missing_ += !std::filesystem::exists(checkpoints_ / checkpoint_name(steps));
  }

  HostStagedTransport by_;
  std::filesystem::path checkpoints_;
  int exchanges_ = 0;
  int missing_ = 0;  // checkpoints
};

struct Outcome {
  ExitCode code;
  double steps;
  int missing;  ///< checkpoints
};

Outcome run_with(const std::string& when) {
  TempDir own;
  const RunFolder folder(std::filesystem::path(broadcast_string(world(), own.path().string())) /
                         "run");
  const Samples samples = image_samples(18, kImage, 5);
  const Recipe recipe = image_recipe(
      10, {"train.micro_block=2", "train.epochs=10", "checkpoint.keep=100", "checkpoint." + when});
  Model model(recipe);
  Watched transport(folder.checkpoints());
  if (world().rank() == 0) std::filesystem::create_directories(folder.path());
  world().barrier();
  Trainer trainer(recipe, world(), folder, model, samples, nullptr,
                  {.transports = &transport, .report_every_steps = 1});
  const ExitCode code = trainer.run();
  world().barrier();  // rank 0's folder goes now
  return {code, transport.steps(), transport.missing()};
}

TEST(CheckpointWait, IsOverBeforeTheNextExchange) {
  const Outcome run = run_with("every_steps=1");
  EXPECT_EQ(run.code, ExitCode::done);
  EXPECT_EQ(run.steps, 20);
  EXPECT_EQ(run.missing, 0);
}

// The others' clocks may differ.
TEST(CheckpointWait, IsOfAllRanksWhenRankZerosClockSaysSo) {
  const Outcome run =
      run_with(world().rank() == 0 ? "every_seconds=0.000001" : "every_seconds=1000");
  EXPECT_EQ(run.code, ExitCode::done);
  EXPECT_EQ(run.steps, 20);
  EXPECT_EQ(run.missing, 0);
}

}  // namespace

}  // namespace quern::test
