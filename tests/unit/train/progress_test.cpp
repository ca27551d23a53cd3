// SPDX-License-Identifier: Apache-2.0
#include "train/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string>
#include <thread>

#include "base/log.hpp"
#include "train/report_text.hpp"

namespace quern::test {

TEST(DurationText, SecondsMinutesHours) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(3), "3 s");
  EXPECT_EQ(duration_text(59.6), "1:00");
  EXPECT_EQ(duration_text(123), "2:03");
  EXPECT_EQ(duration_text(3599.7), "1:00:00");
  EXPECT_EQ(duration_text(3723), "1:02:03");
  EXPECT_EQ(duration_text(360000), "100:00:00");
}

TEST(DurationText, NonsenseIsZero) {
  EXPECT_EQ(duration_text(-5), "0 s");
  EXPECT_EQ(duration_text(std::nan("")), "0 s");
}

TEST(LongCheckpoint, IsToldOfWhereItIsALargeShare) {
  CheckpointSpec when{.every_epochs = 0, .every_steps = 10};
  EXPECT_EQ(long_checkpoint_text(when, 10, 0.9, 0), "") << "short";
  EXPECT_EQ(long_checkpoint_text(when, 10, 5, 95), "") << "5 %";
  EXPECT_EQ(long_checkpoint_text(when, 10, 6, 94),
            "to write the checkpoint of step 10 took 6.0 s, in which all ranks wait: 6 % of the "
            "time since the one before (expected 5 % at most: checkpoint.every_steps above 10)");
  when = {.every_epochs = 2, .every_seconds = 20, .keep_best = true};
  EXPECT_NE(long_checkpoint_text(when, 7, 3, 20)
                .find("(expected 5 % at most: checkpoint.every_epochs above 2, "
                      "checkpoint.every_seconds from 60 on, checkpoint.keep_best = false)"),
            std::string::npos);
}

TEST(Progress, OutsideATerminalIsQuietAtFirst) {
  testing::internal::CaptureStderr();
  Progress progress(true, 0, 10);
  bool asked = false;
  progress.step(1, [&] {
    asked = true;
    return std::string("loss");
  });
  progress.finish();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(asked) << "the text is made only when it is shown";
}

TEST(Progress, OutsideATerminalTellsOfLongEpochs) {
  testing::internal::CaptureStderr();
  Progress progress(true, 2, 10, 0);
  progress.step(6, [] { return bar_text(1, 2, 0.5, 123.4); });
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      testing::HasSubstr("step 6/10 (60 %), epoch 1/2  loss 0.5000  123 samples/s, 0 s left"));
}

TEST(Progress, OutsideATerminalALineOfAnotherKindIsEnough) {
  constexpr double kSeconds = 0.5;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Progress progress(true, 0, 10, kSeconds);
  std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
  const Stopwatch since_line;
  progress.line("epoch 1");
  progress.step(1, [] { return std::string("loss"); });
  const std::string said = testing::internal::GetCapturedStderr();
  if (since_line.seconds() < kSeconds) {
    EXPECT_EQ(said, "");
  }
  testing::internal::GetCapturedStdout();
}

TEST(Progress, LinesGoToStandardOutput) {
  testing::internal::CaptureStdout();
  Progress(true, 0, 10).line("epoch 1");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "epoch 1\n");
}

TEST(ReportText, Sentences) {
  EXPECT_EQ(epoch_text(2, 10, 0.39712, 0.8532, 3.2, 18750.4),
            "epoch 2/10  loss 0.3971  accuracy 85.32 %  3.20 s  18750 samples/s");
  EXPECT_EQ(epoch_text(1, 1, 0.5, {}, 1, 2), "epoch 1/1  loss 0.5000  1.00 s  2 samples/s");
  EXPECT_EQ(rank_losses_text({1, 2.5}),
            "  rank 0: sum of batch losses 1.0000\n  rank 1: sum of batch losses 2.5000");
  EXPECT_EQ(rank_losses_text({1}, false),
            "  rank 0: sum of batch losses 1.0000 since the run was resumed");
}

TEST(ReportText, DivergenceSaysWhereAndWhatIsLeft) {
  const std::string text = divergence_text(12, 2, std::nan(""), "fc1", "stage 1 of 2", 8);
  for (const char* part :
       {"step 12", "epoch 2", "nan", "'fc1' (stage 1 of 2)", "checkpoint of step 8"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("inputs reach"), std::string::npos) << text;
  EXPECT_NE(divergence_text(12, 2, std::nan(""), "fc1", "", 8, 9732.5).find("inputs reach 9732.5"),
            std::string::npos);
  EXPECT_NE(divergence_text(1, 1, 0, "", "", -1).find("no checkpoint"), std::string::npos);
  EXPECT_NE(bad_weights_text(9, 4).find("checkpoint of step 4 is untouched"), std::string::npos);
}

}  // namespace quern::test
