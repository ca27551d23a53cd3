// SPDX-License-Identifier: Apache-2.0
#include "train/metrics_log.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "support/expect_error.hpp"
#include "support/json_lines.hpp"
#include "support/temp_dir.hpp"

namespace quern::test {

namespace {

MetricsLine record() {
  MetricsLine record;
  record.kind = "step";
  record.epoch = 2;
  record.step = 150;
  record.loss = 0.25;
  record.samples = 32;
  record.ranks = 4;
  record.time_s = 1.5;
  return record;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST(MetricsLog, WritesOneObjectALine) {
  const TempDir dir;
  MetricsLine full = record();
  full.accuracy = 0.5;
  full.learning_rate = 0.1;
  full.samples_per_s = 1000;
  {
    MetricsLog log(dir / "metrics.jsonl", 0, 0);
    log.write(full);
    log.write(record());
  }
  const auto lines = read_json_lines(dir / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], nlohmann::json::parse(R"({"kind": "step", "epoch": 2, "step": 150,
      "loss": 0.25, "accuracy": 0.5, "lr": 0.1, "samples_per_s": 1000.0, "samples": 32,
      "ranks": 4, "time_s": 1.5})"));
  EXPECT_FALSE(lines[1].contains("accuracy"));
  EXPECT_FALSE(lines[1].contains("lr"));
}

TEST(MetricsLog, TimesOfTheRanksByPhase) {
  const TempDir dir;
  MetricsLine line = record();
  line.rank_times = {{"data", {0.25, 1.0 / 3}}, {"other", {0, 2}}};
  MetricsLog(dir / "metrics.jsonl", 0, 0).write(line);
  const auto lines = read_json_lines(dir / "metrics.jsonl");
  EXPECT_EQ(lines.at(0)["rank_times_s"],
            nlohmann::json::parse(R"({"data": [0.25, 0.333333], "other": [0.0, 2.0]})"));
}

TEST(MetricsLog, OfManyRanksASummary) {
  const TempDir dir;
  MetricsLine line = record();
  std::vector<double> seconds(kMostListedRanks, 0.25);
  seconds[17] = 1.0 / 3;
  line.rank_times = {{"forward", seconds}, {"waiting", seconds}};
  MetricsLog log(dir / "metrics.jsonl", 0, 0);
  log.write(line);
  for (auto& [phase, all] : line.rank_times) all.push_back(0);
  log.write(line);
  const auto lines = read_json_lines(dir / "metrics.jsonl");
  EXPECT_EQ(lines.at(0)["rank_times_s"]["waiting"].size(), kMostListedRanks);
  EXPECT_FALSE(lines[0].contains("rank_summary_s"));
  EXPECT_FALSE(lines.at(1).contains("rank_times_s"));
  const auto expected = nlohmann::json::parse(R"({"min": 0.0, "median": 0.25, "mean": 0.249351,
      "max": 0.333333, "rank_of_min": 256, "rank_of_max": 17})");
  for (const char* phase : {"forward", "waiting", "work"})
    EXPECT_EQ(lines[1]["rank_summary_s"][phase], expected) << phase;
  EXPECT_EQ(lines[1]["rank_summary_s"].size(), 3u);
}

TEST(MetricsLine, IsReadAsItWasWritten) {
  MetricsLine line = record();
  line.loss = -std::numeric_limits<double>::infinity();
  line.r2 = 0.75;
  line.learning_rate = 0.1;
  line.rank_times = {{"data", {0.25, 0.5}}, {"waiting", {0, 2}}};
  const auto read = parse_metrics_line(json_text(line));
  ASSERT_TRUE(read);
  EXPECT_EQ(json_text(*read), json_text(line));
  EXPECT_EQ(read->loss, line.loss);
  EXPECT_EQ(read->samples, 32);
  EXPECT_FALSE(read->accuracy);
  EXPECT_EQ(read->rank_times, line.rank_times);
  ASSERT_EQ(read->rank_summaries.size(), 3u);
  EXPECT_EQ(read->rank_summaries[1].second.mean, 1);
  for (const char* text : {"", "7", "{\"kind\": \"step\""}) EXPECT_FALSE(parse_metrics_line(text));
}

TEST(MetricsLog, NumbersThatJsonDoesNotKnowBecomeWords) {
  const TempDir dir;
  const double infinity = std::numeric_limits<double>::infinity();
  MetricsLine odd = record();
  odd.loss = std::nan("");
  odd.accuracy = -infinity;
  odd.samples_per_s = infinity;
  MetricsLog(dir / "metrics.jsonl", 0, 0).write(odd);
  const auto lines = read_json_lines(dir / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["loss"], "nan");
  EXPECT_EQ(lines[0]["accuracy"], "-inf");
  EXPECT_EQ(lines[0]["samples_per_s"], "inf");
}

TEST(MetricsLog, AppendsAndIsReadableAtOnce) {
  const TempDir dir;
  MetricsLog(dir / "metrics.jsonl", 0, 0).write(record());
  MetricsLog log(dir / "metrics.jsonl", 150, 2);
  log.write(record());
  EXPECT_EQ(read_json_lines(dir / "metrics.jsonl").size(), 2u);
}

TEST(MetricsLog, DropsWhatIsDoneAgainAndWhatIsTorn) {
  const TempDir dir;
  {
    MetricsLog log(dir / "metrics.jsonl", 0, 0);
    for (const auto& [kind, epoch, step] : std::vector<std::tuple<std::string, int, int>>{
             {"step", 1, 50}, {"epoch", 1, 60}, {"eval", 1, 60}, {"step", 2, 100}}) {
      MetricsLine line = record();
      line.kind = kind;
      line.epoch = epoch;
      line.step = step;
      log.write(line);
    }
  }
  std::ofstream(dir / "metrics.jsonl", std::ios::app) << "{\"kind\":\"st";
  const auto kinds_after = [&](std::int64_t steps, std::int64_t epochs) {
    MetricsLog log(dir / "metrics.jsonl", steps, epochs);
    std::string kinds;
    for (const auto& line : read_json_lines(dir / "metrics.jsonl")) {
      kinds += line["kind"].get<std::string>() + " ";
    }
    return kinds;
  };
  EXPECT_EQ(kinds_after(100, 1), "step epoch eval step ");
  EXPECT_EQ(kinds_after(60, 1), "step epoch eval ");
  EXPECT_EQ(kinds_after(60, 0), "step ") << "the checkpoint of the epoch's last step";
  EXPECT_EQ(kinds_after(0, 0), "");
}

// A run of weeks has gigabytes of them.
TEST(MetricsLog, OfALongFileLooksAtTheEndAlone) {
  const TempDir dir;
  const std::filesystem::path file = dir / "metrics.jsonl";
  const auto line = [](std::int64_t step) {
    return "{\"kind\":\"step\",\"epoch\":1,\"step\":" + std::to_string(step) + "}\n";
  };
  const std::string upto_3 = "no line of this program\n" + line(2) + line(3);
  std::ofstream(file) << upto_3 << line(4) << line(5);
  const auto inode = [&] {
    struct stat state {};
    EXPECT_EQ(stat(file.c_str(), &state), 0);
    return state.st_ino;
  };
  const auto before = inode();
  int checks = 0;
  MetricsLog(file, 3, 0, [&] { ++checks; });
  EXPECT_EQ(read_text(file), upto_3);
  EXPECT_EQ(inode(), before) << "cut, not written again";
  EXPECT_EQ(checks, 1);
  MetricsLog(file, 3, 0, [&] { ++checks; });
  EXPECT_EQ(checks, 1) << "nothing is dropped";
  expect_error([&] { MetricsLog(file, 2, 0, [] { throw InputError("the lock is lost"); }); },
               ExitCode::bad_input, {"the lock is lost"});
  EXPECT_EQ(read_text(file), upto_3);
}

// Between the lines that stay.
TEST(MetricsLog, DropsDamagedLinesBeforeTheLast) {
  const TempDir dir;
  const std::filesystem::path file = dir / "metrics.jsonl";
  const std::string step = R"({"kind":"step","epoch":1,"step":6})";
  const std::string epoch = R"({"kind":"epoch","epoch":1,"step":6})";
  const std::string early = R"({"kind":"step","epoch":1,"step":5})";
  std::ofstream(file) << early << "\n" << step << "\n{\"kind\":\n" << epoch << "\n{\n\n{";
  MetricsLog(file, 6, 1);
  EXPECT_EQ(read_text(file), early + "\n" + step + "\n" + epoch + "\n");
}

TEST(MetricsLog, FolderThatIsNotThere) {
  const TempDir dir;
  expect_error([&] { MetricsLog log(dir / "no/metrics.jsonl", 0, 0); }, ExitCode::bad_input,
               {"cannot write", "no/metrics.jsonl"});
}

// What was read before a disk fails must not take the place of all lines.
TEST(MetricsLog, DiskThatFailsIsAnErrorAndDropsNothing) {
  const TempDir dir;
  std::filesystem::create_symlink("/proc/self/mem", dir / "metrics.jsonl");  // nothing at 0
  expect_error([&] { MetricsLog log(dir / "metrics.jsonl", 1, 1); }, ExitCode::failure,
               {"cannot read", "metrics.jsonl': Input/output error"});
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "metrics.jsonl"));
}

TEST(MetricsLog, FullDiskIsAnError) {
  const TempDir dir;
  MetricsLog log(dir / "metrics.jsonl", 0, 0);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit nothing{0, before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &nothing), 0);
  expect_error([&] { log.write(record()); }, ExitCode::failure, {"metrics.jsonl", "disk full"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_DFL);
}

}  // namespace quern::test
