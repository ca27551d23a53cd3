// SPDX-License-Identifier: Apache-2.0
#include "train/metrics_log.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

namespace quern::test {

namespace {

std::vector<nlohmann::json> read_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

MetricsRecord record() {
  MetricsRecord record;
  record.kind = "step";
  record.epoch = 2;
  record.step = 150;
  record.loss = 0.25;
  record.samples = 32;
  record.ranks = 4;
  record.time_s = 1.5;
  return record;
}

}  // namespace

TEST(MetricsLog, WritesOneObjectALine) {
  const TempDir dir;
  MetricsRecord full = record();
  full.accuracy = 0.5;
  full.learning_rate = 0.1;
  full.samples_per_s = 1000;
  {
    MetricsLog log(dir / "metrics.jsonl");
    log.write(full);
    log.write(record());
  }
  const auto lines = read_lines(dir / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], nlohmann::json::parse(R"({"kind": "step", "epoch": 2, "step": 150,
      "loss": 0.25, "accuracy": 0.5, "lr": 0.1, "samples_per_s": 1000.0, "samples": 32,
      "ranks": 4, "time_s": 1.5})"));
  EXPECT_FALSE(lines[1].contains("accuracy"));
  EXPECT_FALSE(lines[1].contains("lr"));
}

TEST(MetricsLog, NumbersThatJsonDoesNotKnowBecomeWords) {
  const TempDir dir;
  const double infinity = std::numeric_limits<double>::infinity();
  MetricsRecord odd = record();
  odd.loss = std::nan("");
  odd.accuracy = -infinity;
  odd.samples_per_s = infinity;
  MetricsLog(dir / "metrics.jsonl").write(odd);
  const auto lines = read_lines(dir / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["loss"], "nan");
  EXPECT_EQ(lines[0]["accuracy"], "-inf");
  EXPECT_EQ(lines[0]["samples_per_s"], "inf");
}

TEST(MetricsLog, AppendsAndIsReadableAtOnce) {
  const TempDir dir;
  MetricsLog(dir / "metrics.jsonl").write(record());
  MetricsLog log(dir / "metrics.jsonl");
  log.write(record());
  EXPECT_EQ(read_lines(dir / "metrics.jsonl").size(), 2u);
}

TEST(MetricsLog, FolderThatIsNotThere) {
  const TempDir dir;
  expect_error([&] { MetricsLog log(dir / "no/metrics.jsonl"); }, ExitCode::bad_input,
               {"cannot write", "no/metrics.jsonl"});
}

TEST(MetricsLog, FullDiskIsAnError) {
  MetricsLog log("/dev/full");
  expect_error([&] { log.write(record()); }, ExitCode::failure, {"/dev/full", "disk full"});
}

}  // namespace quern::test
