// SPDX-License-Identifier: Apache-2.0
// What quern watch shows of runs in every state.
#include "app/monitor/watch_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace quern::test {

namespace {

EventLine event(const std::string& name, std::int64_t time, std::int64_t step,
                const std::string& reason = "") {
  return {name, time, step, step / 10, name == "start" ? 100 : 0, reason};
}

/// 10 steps an epoch, a second a step, from second 1000 on.
RunLog run_of(int steps) {
  RunLog run;
  run.name = "toy";
  run.epochs = 10;
  run.events = {event("start", 1000, 0)};
  for (int step = 1; step <= steps; ++step) {
    MetricsLine line;
    line.kind = "step";
    line.epoch = (step - 1) / 10 + 1;
    line.step = step;
    line.loss = 3.0 / static_cast<double>(step);
    line.samples_per_s = 12345;
    line.ranks = 2;
    line.time_s = step;
    run.metrics.push_back(line);
    if (step % 10 != 0) continue;
    line.kind = "epoch";
    line.rank_times = {{"forward", {6, 9}}, {"waiting", {4, 1}}};
    run.metrics.push_back(line);
    line.kind = "eval";
    line.rank_times.clear();
    line.samples_per_s.reset();
    line.accuracy = 0.5 + 0.001 * step;
    run.metrics.push_back(line);
  }
  run.last_change = 1000 + steps;
  return run;
}

std::size_t lines_of(const std::string& text) {
  std::istringstream in(text);
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line);) ++lines;
  return lines;
}

}  // namespace

TEST(WatchText, TheBestAccuracyIsOfTheTestDataThatTheRunHasNow) {
  RunLog run = run_of(40);  // evaluated after the steps 10, 20, 30 and 40
  for (MetricsLine& line : run.metrics)
    if (line.accuracy && line.step <= 20) *line.accuracy = 0.99;
  const auto starts = [&](const std::vector<std::pair<int, const char*>>& list) {
    run.events.clear();
    for (const auto& [step, data] : list) {
      run.events.push_back(event("start", 1000 + step, step));
      run.events.back().test_data = data;
    }
    return watch_text(run, 1041, {});
  };
  const char* const latest = "test 54.00 %   best 54.00 %";
  EXPECT_THAT(starts({{0, "a"}, {20, "b"}}), testing::HasSubstr(latest));
  EXPECT_THAT(starts({{0, "a"}, {20, "b"}, {30, "b"}}), testing::HasSubstr(latest));
  const char* const always = "test 54.00 %   best 99.00 %";
  EXPECT_THAT(starts({{0, "a"}, {20, "a"}}), testing::HasSubstr(always));
  EXPECT_THAT(starts({{0, "a"}, {20, "b"}, {10, "a"}}),
              testing::HasSubstr(always));  // trained again
  EXPECT_THAT(starts({{0, "a"}, {20, "b"}, {20, "a"}}), testing::HasSubstr(always));
  EXPECT_THAT(starts({{0, ""}, {20, ""}}), testing::HasSubstr(always));
  EXPECT_THAT(starts({{0, ""}, {20, "b"}}), testing::HasSubstr(always));  // of an earlier program
  EXPECT_THAT(starts({{0, "a"}, {40, "b"}}),
              testing::HasSubstr("accuracy  test 54.00 % (of other test data)"));
}

TEST(WatchText, ARunningRun) {
  const RunLog run = run_of(25);
  EXPECT_EQ(run_state(run, 1026), RunState::runs);
  EXPECT_NEAR(seconds_left(run).value(), 75, 1e-9);
  const std::string text = watch_text(run, 1026, {});
  for (const char* part :
       {"toy   runs", "epoch 2 of 10, step 25 of 100", "25 %", "batch 0.12", "training 0.15",
        "test 52.00 %   best 52.00 %", "12 345 samples/s on 2 ranks   1:15 left",
        "share of epoch 2, least first", "10.0 %", "40.0 %"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  EXPECT_LT(text.find("rank 1 "), text.find("rank 0 "));
}

TEST(WatchText, EveryState) {
  RunLog run = run_of(0);
  EXPECT_EQ(run_state(run, 1001), RunState::begins);
  EXPECT_NE(watch_text(run, 1001, {}).find("step 0 of 100"), std::string::npos);
  EXPECT_FALSE(seconds_left(run));
  run = run_of(25);
  EXPECT_EQ(run_state(run, 1025 + 121), RunState::silent);
  EXPECT_NE(watch_text(run, 1025 + 240, {}).find("silent for 4:00"), std::string::npos);
  run.events.push_back(event("stop", 1025, 25, "SIGTERM"));
  EXPECT_EQ(run_state(run, 9999), RunState::stopped);
  EXPECT_NE(watch_text(run, 9999, {}).find("stopped: SIGTERM"), std::string::npos);
  run.name = "\x1b]0;";
  run.events.back().reason = "\x1b[2J";
  EXPECT_NE(watch_text(run, 9999, {}).find("\\x1b]0;   stopped: \\x1b[2J"), std::string::npos);
  EXPECT_EQ(watch_text(run, 9999, {}).find(" left"), std::string::npos);
  run.events.push_back(event("checkpoint", 1900, 25));
  run.events.push_back(event("start", 2000, 25));
  run.last_change = 2000;
  EXPECT_EQ(run_state(run, 2001), RunState::runs);
  EXPECT_NE(watch_text(run, 2001, {}).find("wrote     checkpoint of step 25, 1:41 ago   2 starts"),
            std::string::npos);
  run.events.push_back(event("failure", 2001, 26, "not finite"));
  EXPECT_EQ(run_state(run, 2002), RunState::failed);
  EXPECT_NE(watch_text(run, 2002, {}).find("failed: not finite"), std::string::npos);
  run.is_done = true;
  EXPECT_EQ(run_state(run, 2002), RunState::finished);
}

// Not every step has a record.
TEST(WatchText, TheStepIsTheLastThatAnythingTellsOf) {
  RunLog run = run_of(25);
  run.events.push_back(event("checkpoint", 1026, 27));
  EXPECT_THAT(watch_text(run, 1026, {}), testing::HasSubstr("step 27 of 100"));
  run.events.push_back(event("stop", 1027, 28, "STOP"));
  EXPECT_THAT(watch_text(run, 1028, {}), testing::HasSubstr("step 28 of 100"));
  run.events = {event("start", 1000, 0), event("stop", 1027, 28, "STOP"), event("start", 2000, 20)};
  run.metrics.resize(20);
  run.metrics.back().step = 21;
  EXPECT_THAT(watch_text(run, 2001, {}), testing::HasSubstr("step 21 of 100"));
}

TEST(WatchText, AnEvaluationOfAnEarlierEpochSaysSo) {
  RunLog run = run_of(25);
  EXPECT_EQ(watch_text(run, 1026, {}).find("(epoch"), std::string::npos);
  std::erase_if(run.metrics,
                [](const MetricsLine& line) { return line.kind == "eval" && line.epoch == 2; });
  EXPECT_NE(watch_text(run, 1026, {}).find("training 0.15   test 0.3 (epoch 1)"), std::string::npos)
      << watch_text(run, 1026, {});
}

// Long epochs on a large model: minutes without a line are no silence.
TEST(WatchText, PatienceGrowsWithTheGapsBetweenLines) {
  RunLog run = run_of(2);
  run.metrics[1].time_s = 301;
  EXPECT_EQ(run_state(run, 1002 + 899), RunState::runs);
  EXPECT_EQ(run_state(run, 1002 + 901), RunState::silent);
}

TEST(WatchText, TheTimeLeftIsThatOfTheProcessThatRuns) {
  RunLog run = run_of(25);
  for (std::size_t i = run.metrics.size() - 3; i < run.metrics.size(); ++i)
    run.metrics[i].time_s = 10.0 * static_cast<double>(i + 3 - run.metrics.size());
  EXPECT_NEAR(seconds_left(run).value(), 750, 1e-9);
}

TEST(WatchText, ManyRanksAreCutToThoseThatMatter) {
  RunLog run = run_of(10);
  auto& times = run.metrics[10].rank_times;
  times = {{"forward", std::vector<double>(500, 1.0)}, {"waiting", std::vector<double>(500, 1.0)}};
  times[1].second[321] = 0;
  const std::string text = watch_text(run, 1011, {});
  EXPECT_NE(text.find("the ranks that wait least\n  rank 321 "), std::string::npos) << text;
  EXPECT_LT(lines_of(text), 30u);
}

TEST(WatchText, ASummaryOfManyRanks) {
  RunLog run = run_of(10);
  MetricsLine& epoch = run.metrics[10];
  epoch.rank_times.clear();
  epoch.rank_summaries = {{"forward", {6, 8, 7.5, 9.5, 7, 3999}},
                          {"waiting", {0.5, 2, 2.5, 4, 3999, 7}},
                          {kWork, {6, 8, 7.5, 9.5, 7, 3999}}};
  const std::string text = watch_text(run, 1011, {});
  for (const char* part :
       {"waiting   share of epoch 1\n  rank 3999 ", " 5.0 %\n  median ", " 20.0 %\n  rank 7 ",
        " 40.0 %\n", "rank 3999 has 1.19 times the median rank's work"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(TextPlot, FromTopLeftToBottomRight) {
  const TextPlot size{20, 2};
  EXPECT_EQ(text_plot({{0, 1}, {10, 0}}, size, "x"),
            "       1 ┤⠉⠒⠢⢄⣀     \n"
            "       0 ┤     ⠉⠑⠢⠤⣀\n"
            "          0     x 10");
}

TEST(TextPlot, NothingToDraw) {
  EXPECT_EQ(text_plot({}, {}, "x"), "");
  EXPECT_EQ(text_plot({{0, 1}}, {}, "x"), "");
  EXPECT_EQ(text_plot({{0, 1}, {1, std::nan("")}, {2, INFINITY}}, {}, "x"), "");
  EXPECT_EQ(lines_of(text_plot({{0, 1}, {1, std::nan("")}, {2, 1}}, {}, "x")), 11u)
      << "a flat line";
}

TEST(TextPlot, Bars) {
  EXPECT_EQ(text_bar(0, 4), "    ");
  EXPECT_EQ(text_bar(0.5, 4), "██  ");
  EXPECT_EQ(text_bar(0.28125, 4), "█▏  ");
  EXPECT_EQ(text_bar(7, 4), "████");
}

}  // namespace quern::test
