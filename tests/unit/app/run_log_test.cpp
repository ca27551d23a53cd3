// SPDX-License-Identifier: Apache-2.0
// Reading run folders, whole, torn or none, and the table of their figures.
#include "app/monitor/run_log.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "app/monitor/metrics_csv.hpp"
#include "app/monitor/watch_text.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"
#include "unit/app/monitor_files.hpp"

namespace quern::test {

TEST(RunLog, ReadsWhatARunWrote) {
  const TempDir dir;
  write_run(dir / "run");
  const RunLog run = read_run_log(dir / "run");
  EXPECT_EQ(run.name, "toy");
  EXPECT_EQ(run.epochs, 4);
  EXPECT_TRUE(run.has_metrics);
  ASSERT_EQ(run.metrics.size(), 4u);
  EXPECT_EQ(run.metrics[0].loss, 2.0);
  EXPECT_EQ(run.metrics[0].learning_rate, 0.1);
  EXPECT_TRUE(std::isnan(run.metrics[1].loss.value()));
  EXPECT_FALSE(run.metrics[1].accuracy);
  EXPECT_EQ(run.metrics[2].rank_times.at(1).second, (std::vector<double>{0.75, 0.25}));
  EXPECT_EQ(run.metrics[2].rank_summaries.at(1).second.mean, 0.5);
  ASSERT_EQ(run.events.size(), 1u);
  EXPECT_EQ(run.events[0].time, 1000);
  EXPECT_EQ(run.events[0].total_steps, 40);
  EXPECT_FALSE(run.is_done);
  EXPECT_EQ(run.unreadable_lines, 0);
}

// What the reader keeps must show what all lines show.
TEST(RunLogReader, SeesWhatIsWrittenFromLookToLook) {
  const TempDir dir;
  const auto line = [](const std::string& kind, int step) {
    return "{\"kind\":\"" + kind + "\",\"epoch\":" + std::to_string((step + 99) / 100) +
           ",\"step\":" + std::to_string(step) + ",\"loss\":" + std::to_string(7.0 / step) +
           ",\"accuracy\":" + std::to_string(step % 77 / 100.0) +
           ",\"samples_per_s\":100,\"time_s\":" + std::to_string(step + (step > 1234 ? 500 : 0)) +
           "}\n";
  };
  write_run(dir / "run");
  const std::filesystem::path file = dir / "run/metrics.jsonl";
  RunLogReader reader(dir / "run");
  const auto expect_same = [&](const std::string& where) {
    const RunLog& seen = reader.read();
    const RunLog all = read_run_log(dir / "run");
    EXPECT_EQ(watch_text(seen, 4000, {}), watch_text(all, 4000, {})) << where;
    EXPECT_EQ(run_state(seen, 1000000), run_state(all, 1000000)) << where;
    EXPECT_EQ(seen.unreadable_lines, all.unreadable_lines) << where;
    EXPECT_LT(seen.metrics.size(), 2000u);
  };
  expect_same("the first lines");
  std::string text = kMetrics;
  for (int step = 11; step <= 5000; ++step) {
    text += line("step", step);
    if (step % 100 == 0) text += line("epoch", step) + line("eval", step);
    if (step == 2500) text += "torn\n";
    if (step % 1250 == 1) {
      write_text(file, text + "{\"kind\":\"st");
      expect_same(std::to_string(step));
      EXPECT_GT(reader.read().unreadable_lines, 0);
    }
  }
  write_text(file, text.substr(0, text.size() - 1));  // a whole line, but for its end
  expect_same("without an end of line");
  write_text(file, text);
  expect_same("all");
  EXPECT_GT(reader.read().earlier.losses.size(), 3000u);
  EXPECT_GE(reader.read().earlier.longest_gap, 500);
  write_text(file, text.substr(0, text.size() / 3) + "\n");
  expect_same("goes on from a checkpoint");
  std::string other = text;
  for (std::size_t at = text.size() / 2; (at = other.find("loss\":0", at)) != std::string::npos;)
    other[at + 6] = '9';
  write_text(file, text);
  expect_same("again");
  write_text(file, other + line("step", 5001));
  expect_same("other lines, and more of them than before");
  std::filesystem::remove(file);
  expect_same("none");
}

TEST(RunLog, ASummaryOfManyRanks) {
  const TempDir dir;
  write_run(dir / "run", std::string(kMetrics) + kManyRanks);
  const MetricsLine line = read_run_log(dir / "run").metrics.at(4);
  EXPECT_TRUE(line.rank_times.empty());
  ASSERT_EQ(line.rank_summaries.size(), 3u);
  const auto& [phase, waiting] = line.rank_summaries[1];
  EXPECT_EQ(phase, "waiting");
  EXPECT_EQ(waiting.min, 0.5);
  EXPECT_EQ(waiting.median, 2);
  EXPECT_EQ(waiting.mean, 2.5);
  EXPECT_EQ(waiting.max, 4);
  EXPECT_EQ(waiting.rank_of_min, 3999);
  EXPECT_EQ(waiting.rank_of_max, 7);
}

TEST(RunLog, TornAndForeignLinesAreLeftOut) {
  const TempDir dir;
  write_run(dir / "run", std::string(kMetrics) + "7\n\n{\"kind\":{},\"step\":\"x\"}\n{\"ki");
  const RunLog run = read_run_log(dir / "run");
  EXPECT_EQ(run.metrics.size(), 5u);
  EXPECT_EQ(run.unreadable_lines, 2);
}

TEST(RunLog, ARunThatHasNotWrittenAnything) {
  const TempDir dir;
  write_run(dir / "run", "", "");
  const RunLog run = read_run_log(dir / "run");
  EXPECT_TRUE(run.metrics.empty());
  EXPECT_FALSE(run.has_metrics);
  EXPECT_FALSE(run.last_change);
}

TEST(RunLog, WhatIsNoRunIsRefused) {
  const TempDir dir;
  const auto refuses = [&](const std::filesystem::path& path, const std::string& why) {
    expect_error([&] { read_run_log(path); }, ExitCode::bad_input, {path.filename().string(), why});
  };
  refuses(dir / "absent", "does not exist");
  std::filesystem::create_directories(dir / "empty");
  refuses(dir / "empty", "no recipe.toml");
  write_text(dir / "file", "x");
  refuses(dir / "file", "is no folder");
  write_text(dir / "broken/recipe.toml", "name = \n");
  expect_error([&] { read_run_log(dir / "broken"); }, ExitCode::bad_input, {"recipe.toml"});
}

// The clock of metrics.jsonl begins anew with each process.
TEST(RunLog, WallTimeIsThatOfTheLastStartBefore) {
  RunLog run;
  run.events = {
      {"start", 1000, 0, 0, 40, ""}, {"stop", 1010, 10, 1, 0, ""}, {"start", 2000, 10, 1, 40, ""}};
  MetricsLine line;
  line.step = 5;
  line.time_s = 3.5;
  EXPECT_EQ(wall_time(run, line), 1003.5);
  line.step = 15;
  EXPECT_EQ(wall_time(run, line), 2003.5);
  run.events.clear();
  EXPECT_EQ(wall_time(run, line), 0);
}

TEST(MetricsCsv, OneLineARecord) {
  const TempDir dir;
  write_run(dir / "run", std::string(kMetrics) + kManyRanks);
  EXPECT_EQ(metrics_csv(read_run_log(dir / "run")),
            "kind,epoch,step,loss,accuracy,rmse,r2,lr,samples_per_s,samples,ranks,time_s,data_s,"
            "forward_s,"
            "backward_s,reduction_s,update_s,waiting_s,other_s,longest_waiting_s\n"
            "step,1,5,2,0.25,,,0.1,100.5,10,2,1,,,,,,,,\n"
            "step,1,10,nan,,,,0.1,100,10,2,2,,,,,,,,\n"
            "epoch,1,10,1.5,0.5,,,0.1,12345.6,100,2,2,0.5,,,,,0.5,,0.75\n"
            "eval,1,10,1.25,0.625,7.5,0.875,,,50,2,2.5,,,,,,,,\n"
            "epoch,2,20,1.5,,,,,,,4000,2,,7.5,,,,2.5,,4");
}

}  // namespace quern::test
