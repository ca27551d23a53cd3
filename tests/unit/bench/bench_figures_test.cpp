// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_figures.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "plan/scaling_model.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

namespace quern::test {

namespace {

const std::string kMachine =
    R"("machine": {"ranks": 4, "nodes": 1, "fma_peak_gflops": 400, "memory": {"gb_per_s": 40}})";

std::string step_text(const std::string& step_us = "1500") {
  return R"({"benchmark": "step", )" + kMachine +
         R"(, "workload": "toy", "global_batch": 130, "step_us": )" + step_us + "}";
}

std::string allreduce_text(const std::string& rows) {
  return R"({"benchmark": "allreduce", )" + kMachine + R"(, "rows": [)" + rows + "]}";
}

class BenchFiguresTest : public ::testing::Test {
 protected:
  std::string write(const std::string& text, const std::string& name = "figures.json") {
    const auto path = folder_.path() / name;
    std::ofstream(path) << text;
    return path.string();
  }
  BenchFigures read(const std::string& text) {
    BenchFigures figures;
    read_bench_figures(write(text), figures);
    return figures;
  }

 private:
  TempDir folder_;
};

}  // namespace

TEST_F(BenchFiguresTest, TakesStepsAndReductions) {
  const BenchFigures step = read(step_text());
  ASSERT_EQ(step.steps.size(), 1u);
  EXPECT_EQ(step.steps[0].workload, "toy");
  EXPECT_EQ(step.steps[0].samples, 33);
  EXPECT_DOUBLE_EQ(step.steps[0].seconds, 1500e-6);
  EXPECT_EQ(step.steps[0].machine.nodes, 1);
  EXPECT_DOUBLE_EQ(step.steps[0].machine.rank_flops, 100e9);
  EXPECT_DOUBLE_EQ(step.steps[0].machine.rank_bytes_per_s, 10e9);
  const BenchFigures sums = read(allreduce_text(
      R"({"bytes": 4096, "partials": 2, "rank_invariant": {"time_us": 20}, "fast": {"time_us": 10}},
         {"bytes": 8192, "partials": 0, "fast": {"time_us": 15}})"));
  ASSERT_EQ(sums.reductions.size(), 1u);
  ASSERT_EQ(sums.reductions[0].rows.size(), 2u);
  EXPECT_EQ(sums.reductions[0].rows[0].partial_sums, 2);
  EXPECT_DOUBLE_EQ(sums.reductions[0].rows[0].rank_invariant_s, 20e-6);
  EXPECT_EQ(sums.reductions[0].rows[1].rank_invariant_s, 0);
}

TEST_F(BenchFiguresTest, KnowsWhereAStepIsFrom) {
  BenchFigures figures;
  const std::string sums =
      write(allreduce_text(R"({"bytes": 4096, "fast": {"time_us": 10}})"), "sums.json");
  read_bench_figures(sums, figures);
  const std::string step = write(step_text());
  read_bench_figures(step, figures);
  ASSERT_EQ(figures.steps.size(), 1u);
  EXPECT_EQ(figures.steps[0].file, step);
}

TEST_F(BenchFiguresTest, RefusesEverythingElse) {
  BenchFigures figures;
  const std::string folder = std::filesystem::path(write("")).parent_path();
  expect_error([&] { read_bench_figures(folder, figures); }, ExitCode::bad_input,
               {"'" + folder + "' is a folder"});
  expect_error([&] { read_bench_figures("absent.json", figures); }, ExitCode::bad_input,
               {"cannot read 'absent.json'"});
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"", "no JSON document"},
           {"{\"benchmark\": 1}", "no JSON document"},
           {"[]", "no JSON document"},
           {"{\"benchmark\": \"io\"}", "benchmark 'io'"},
           {step_text("0"), "'step_us' is 0"},
           {step_text("-1"), "'step_us' is -1"},
           {step_text("\"fast\""), "no JSON document"},
           {step_text("1e999"), "no JSON document"},
           {std::string(step_text()).replace(step_text().find("nodes\": 1"), 9, "nodes\": 2"),
            "several nodes"},
           {std::string(step_text()).replace(step_text().find("nodes\": 1"), 9, "nodes\": 3"),
            "different numbers of ranks"},
           {allreduce_text("{\"bytes\": 3}"), "no floats"},
           {allreduce_text(""), "no rows"},
           {allreduce_text("{\"bytes\": 0}"), "'bytes' is 0"},
           {step_text().substr(0, 60), "no JSON document"}}) {
    const std::string file = write(text);
    expect_error([&] { read_bench_figures(file, figures); }, ExitCode::bad_input, {file, words});
  }
  EXPECT_TRUE(figures.steps.empty() && figures.reductions.empty());
}

TEST_F(BenchFiguresTest, FindsTheNetworkThatMadeTheTimes) {
  MeasuredReductions measured;
  measured.machine = {8, 4, 100e9, 10e9};
  ClusterFigures cluster;
  cluster.ranks_per_node = 2;
  cluster.adding_bytes_per_s = 10e9;
  cluster.message_s = 3e-6;
  cluster.node_bytes_per_s = 5e9;
  for (const double bytes : {4096.0, 65536.0, 1048576.0, 16777216.0}) {
    StepDemand demand;
    demand.ranks = 8;
    demand.floats = static_cast<std::int64_t>(bytes / 4);
    demand.partial_sums = 1;
    demand.all_partial_sums = 8;
    measured.rows.push_back({bytes, 1, predict_reduction(demand, cluster).reduction_s(), 0});
  }
  const NetworkFit fit = fit_network(measured);
  EXPECT_NEAR(fit.message_s, 3e-6, 1e-8);
  EXPECT_NEAR(fit.node_bytes_per_s, 5e9, 1e7);
  measured.rows.resize(1);
  expect_error([&] { fit_network(measured); }, ExitCode::bad_input, {"what a message costs"});
}

TEST_F(BenchFiguresTest, TellsWhatASumTakesLongerAfterAStep) {
  const std::string rows =
      R"({"bytes": 4000, "workload": "", "partials": 1, "rank_invariant": {"time_us": 5}},
         {"bytes": 4000, "workload": "toy", "partials": 1, "rank_invariant":
          {"time_us": 20, "after_step_us": 45}, "fast": {"time_us": 10, "after_step_us": -3}},
         {"bytes": 8000, "workload": "other", "partials": 1, "rank_invariant": {"time_us": 20}})";
  const MeasuredReductions measured = read(allreduce_text(rows)).reductions[0];
  // Four ranks of one node: each adds a fourth of four, and writes a fourth.
  EXPECT_DOUBLE_EQ(after_step_s_per_byte(measured, "toy", true), 25e-6 / 5000);
  EXPECT_EQ(after_step_s_per_byte(measured, "toy", false), 0);
  EXPECT_EQ(after_step_s_per_byte(measured, "other", true), 0);
  EXPECT_EQ(after_step_s_per_byte(measured, "absent", true), 0);
  MeasuredReductions between = measured;
  between.machine.nodes = 2;
  // Between nodes each sends three fourths of its partial sum, and of its slice's sum as much.
  EXPECT_DOUBLE_EQ(after_step_s_per_byte(between, "toy", true), 25e-6 / (5000 + 6000));
  BenchFigures figures;
  const std::string file = write(allreduce_text(
      R"({"bytes": 4000, "partials": 1, "rank_invariant": {"time_us": 5, "after_step_us": "x"}})"));
  expect_error([&] { read_bench_figures(file, figures); }, ExitCode::bad_input, {file});
}

TEST_F(BenchFiguresTest, FindsTheMessagesOfANodeInAllReduces) {
  MeasuredReductions measured;
  measured.machine = {4, 1, 100e9, 10e9};
  // Two times two messages of 3 us; six fourths of the bytes at 5 GB/s.
  for (const double bytes : {4096.0, 65536.0, 1048576.0})
    measured.rows.push_back({bytes, 1, 0, 0, 4 * 3e-6 + 1.5 * bytes / 5e9});
  const auto fit = fit_messages(measured);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->message_s, 3e-6, 1e-9);
  EXPECT_NEAR(fit->node_bytes_per_s, 5e9, 1e6);
  measured.rows.resize(1);
  EXPECT_FALSE(fit_messages(measured));
  EXPECT_DOUBLE_EQ(read(allreduce_text(R"({"bytes": 4096, "transport": {"time_us": 9}})"))
                       .reductions[0]
                       .rows[0]
                       .transport_s,
                   9e-6);
}

TEST_F(BenchFiguresTest, TakesSumsInsideANodeAsTheyAre) {
  MeasuredReductions measured;
  measured.machine = {2, 1, 100e9, 10e9};
  measured.rows = {{4000, 2, 5e-6, 0}, {4000000, 2, 900e-6, 0}};
  const MeasuredLine line = node_sum_line(measured, true);
  EXPECT_DOUBLE_EQ(line.seconds(5 * 4000.0 / 2), 5e-6);
  EXPECT_DOUBLE_EQ(line.seconds(5 * 4000000.0 / 2), 900e-6);
  expect_error([&] { node_sum_line(measured, false); }, ExitCode::bad_input, {"--mode both"});
}

}  // namespace quern::test
