// SPDX-License-Identifier: Apache-2.0
#include "strategy/pipeline_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace quern {

namespace {

constexpr PipelineSchedule kOneEach = PipelineSchedule::one_forward_one_backward;
constexpr PipelineSchedule kGpipe = PipelineSchedule::gpipe;

// "F0 B0 F1 B1"
std::string text_of(PipelineSchedule schedule, const StagePlace& place, int pieces) {
  std::string text;
  for (const PipelineWork& work : pipeline_order(schedule, place, pieces)) {
    text += (text.empty() ? "" : " ") + std::string(work.is_backward ? "B" : "F") +
            std::to_string(work.piece);
  }
  return text;
}

}  // namespace

TEST(PipelineOrder, OneStageWorksPieceByPiece) {
  EXPECT_EQ(text_of(kOneEach, {0, 1}, 3), "F0 B0 F1 B1 F2 B2");
  EXPECT_EQ(text_of(kGpipe, {0, 1}, 3), "F0 B0 F1 B1 F2 B2");
  EXPECT_EQ(text_of(kOneEach, {0, 1}, 1), "F0 B0");
}

TEST(PipelineOrder, IsWhatThePapersDraw) {
  EXPECT_EQ(text_of(kOneEach, {0, 2}, 4), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(text_of(kOneEach, {1, 2}, 4), "F0 B0 F1 B1 F2 B2 F3 B3");
  EXPECT_EQ(text_of(kOneEach, {0, 4}, 4), "F0 F1 F2 F3 B0 B1 B2 B3");
  EXPECT_EQ(text_of(kGpipe, {1, 2}, 3), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(text_of(kOneEach, {0, 4}, 2), "F0 F1 B0 B1");
}

TEST(PipelineOrder, NeverHoldsMorePiecesThanItSays) {
  for (const PipelineSchedule schedule : {kOneEach, kGpipe}) {
    for (int stages = 1; stages <= 5; ++stages) {
      for (int stage = 0; stage < stages; ++stage) {
        for (int pieces = 1; pieces <= 9; ++pieces) {
          int held = 0;
          int most = 0;
          int next = 0;
          for (const PipelineWork& work : pipeline_order(schedule, {stage, stages}, pieces)) {
            held += work.is_backward ? -1 : 1;
            most = std::max(most, held);
            ASSERT_GE(held, 0);
            if (work.is_backward) {
              EXPECT_EQ(work.piece, next++);
            }
          }
          EXPECT_EQ(next, pieces);
          EXPECT_EQ(most, pieces_in_flight(schedule, {stage, stages}, pieces));
        }
      }
    }
  }
}

TEST(PipelineOrder, WaitsLessWithMorePieces) {
  EXPECT_EQ(pipeline_bubble(1, 7), 0);
  EXPECT_EQ(pipeline_bubble(2, 1), 0.5);
  EXPECT_EQ(pipeline_bubble(4, 13), 3.0 / 16);
}

}  // namespace quern
