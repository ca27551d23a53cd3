// SPDX-License-Identifier: Apache-2.0
#include "train/event_log.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "support/json_lines.hpp"
#include "support/temp_dir.hpp"

namespace quern::test {

namespace {

TrainingProgress at(std::int64_t step, std::int64_t epoch) {
  TrainingProgress progress{};
  progress.step = step;
  progress.epoch = epoch;
  return progress;
}

}  // namespace

TEST(EventLog, TellsARunFromStartToEnd) {
  const TempDir dir;
  std::ofstream(dir / "ckpt.h5") << "12345";
  {
    EventLog log(dir / "events.jsonl");
    log.started(at(0, 0), {.total_steps = 40,
                           .hosts = {"a", "a", "b"},
                           .threads = 4,
                           .monitor = Monitor::accuracy,
                           .test_data = "0a1b"});
    log.wrote_checkpoint(at(10, 1), dir / "ckpt.h5", 0.5);
    log.stopped(at(12, 1), "SIGUSR1");
  }
  {
    EventLog log(dir / "events.jsonl");
    log.started(at(12, 1), {.total_steps = 40, .hosts = {"c"}});
    log.failed(at(13, 1), "the loss is not finite");
    log.finished(at(20, 2), "ab12");
  }
  const auto lines = read_json_lines(dir / "events.jsonl");
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0]["event"], "start");
  EXPECT_EQ(lines[0]["total_steps"], 40);
  EXPECT_EQ(lines[0]["ranks"], 3);
  EXPECT_EQ(lines[0]["threads"], 4);
  EXPECT_EQ(lines[0]["monitor"], "accuracy");
  EXPECT_EQ(lines[0]["test_data"], "0a1b");
  EXPECT_EQ(lines[0]["hosts"], nlohmann::json::parse(R"({"a": 2, "b": 1})"));
  EXPECT_EQ(lines[0]["time"].get<std::string>().back(), 'Z');
  EXPECT_EQ(lines[1]["event"], "checkpoint");
  EXPECT_EQ(lines[1]["file"], "ckpt.h5");
  EXPECT_EQ(lines[1]["bytes"], 5);
  EXPECT_EQ(lines[1]["seconds"], 0.5);
  EXPECT_EQ(lines[2]["reason"], "SIGUSR1");
  EXPECT_EQ(lines[3]["step"], 12);
  EXPECT_FALSE(lines[3].contains("monitor") || lines[3].contains("test_data"));
  EXPECT_EQ(lines[3]["epoch"], 1);
  EXPECT_EQ(lines[4]["event"], "failure");
  EXPECT_EQ(lines[5]["model"], "ab12");
}

TEST(EventLog, TellsWhatAStartChanged) {
  const TempDir dir;
  {
    EventLog log(dir / "events.jsonl");
    TrainingStart start{.total_steps = 40, .hosts = {"c"}};
    log.started(at(12, 1), start);
    start.changes = {{12, "optimizer.lr", "0.1", "0.01"},
                     {12, "optimizer.decay", "\"all\"", "\"weights\""}};
    log.started(at(12, 1), start);
  }
  const auto lines = read_json_lines(dir / "events.jsonl");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_FALSE(lines[0].contains("changes"));
  EXPECT_EQ(lines[1]["changes"], nlohmann::json::parse(R"([
      {"key": "optimizer.lr", "before": "0.1", "after": "0.01"},
      {"key": "optimizer.decay", "before": "\"all\"", "after": "\"weights\""}])"));
}

TEST(EventLog, GoesOnAfterATornLine) {
  const TempDir dir;
  std::ofstream(dir / "events.jsonl") << "{\"event\":\"start\"}\n{\"eve";
  EventLog(dir / "events.jsonl").stopped(at(1, 0), "SIGTERM");
  const auto lines = read_json_lines(dir / "events.jsonl");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[1].is_discarded());
  EXPECT_EQ(lines[2]["event"], "stop");
}

// A disk that was full, and has room again.
TEST(EventLog, GoesOnAfterALineThatCouldNotBeWritten) {
  const TempDir dir;
  EventLog log(dir / "events.jsonl");
  log.stopped(at(1, 0), "SIGTERM");
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit tight = before;
  tight.rlim_cur = std::filesystem::file_size(dir / "events.jsonl") + 20;
  ::testing::internal::CaptureStderr();
  setrlimit(RLIMIT_FSIZE, &tight);
  log.stopped(at(2, 0), "SIGTERM");
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("cannot write"), std::string::npos);
  log.stopped(at(3, 0), "SIGTERM");
  std::signal(SIGXFSZ, handler);
  const auto lines = read_json_lines(dir / "events.jsonl");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[1].is_discarded()) << "20 bytes";
  EXPECT_EQ(lines[2]["step"], 3);
}

TEST(EventLog, DoesNotEndARunThatItCannotWriteAbout) {
  const TempDir dir;
  EventLog log(dir / "no/events.jsonl");
  ::testing::internal::CaptureStderr();
  log.stopped(at(1, 0), "SIGTERM");
  log.stopped(at(1, 0), "SIGTERM");
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("no/events.jsonl"), std::string::npos) << said;
  EXPECT_EQ(said.find('\n'), said.size() - 1) << "once";
}

}  // namespace quern::test
