// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/report.hpp"

namespace quern {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

MachineInfo machine() {
  MachineInfo info;
  info.processor = "Test 9000";
  info.vectors = "AVX2";
  info.device = "OpenMP";
  info.ranks = 2;
  info.threads = 3;
  info.fma_flops = {100e9, 90e9, 110e9};
  info.l1 = {1 << 15, 1 << 14, {400e9, 390e9, 410e9}};
  info.l2 = {1 << 20, 1 << 19, {200e9, 190e9, 210e9}};
  info.l3 = {1 << 25, 1 << 24, {50e9, 40e9, 60e9}};
  info.memory = {0, 1 << 27, {20e9, 19e9, 21e9}};
  return info;
}

void expect_head(const json& document, const std::string& name, int rounds) {
  EXPECT_EQ(document["benchmark"], name);
  EXPECT_EQ(document["rounds"], rounds);
  EXPECT_EQ(document["machine"]["processor"], "Test 9000");
  EXPECT_EQ(document["machine"]["ranks"], 2);
  EXPECT_EQ(document["machine"]["fma_peak_gflops"], 100.0);
  EXPECT_EQ(document["machine"]["memory"]["gb_per_s"], 20.0);
  EXPECT_EQ(document["machine"]["l1"]["gb_per_s"], 400.0);
  EXPECT_EQ(document["machine"]["l2"]["cache_bytes"], 1 << 20);
}

TEST(StepReport, DerivesRatesFromTheMedian) {
  StepBenchInfo info;
  info.workload = "toy";
  info.global_batch = 100;
  info.steps = 7;
  info.settling = 20;
  info.rounds = 5;
  info.step_s = {1e-3, 0.9e-3, 2e-3};
  info.flop_per_sample = 250e3;
  const json document = json::parse(step_bench_json(machine(), info));
  expect_head(document, "step", 5);
  EXPECT_DOUBLE_EQ(document["samples_per_s"], 100e3);
  EXPECT_DOUBLE_EQ(document["slowest_step_us"], 2000);
  EXPECT_DOUBLE_EQ(document["seconds_per_epoch"], 0.6);
  EXPECT_DOUBLE_EQ(document["gflops"], 25);
  EXPECT_DOUBLE_EQ(document["fraction_of_peak"], 0.25);
  EXPECT_EQ(document["untimed_steps"], 20);
  const std::string text = step_bench_text(machine(), info);
  EXPECT_THAT(text, HasSubstr("25.0 % of the FMA peak"));
  EXPECT_THAT(text, HasSubstr("median of 5 rounds of 7 steps after 20 untimed"));
  EXPECT_THAT(text, HasSubstr("400 GB/s from 16.0 KiB (L1), 200 GB/s from 512.0 KiB (L2)"));
}

TEST(StepReport, SaysWhoseSamplesItCounts) {
  StepBenchInfo info;
  info.global_batch = 1;
  info.step_s = {1e-6, 1e-6, 1e-6};
  EXPECT_THAT(step_bench_text(machine(), info), HasSubstr("1.00 us a step of 1 sample (median of"));
  EXPECT_THAT(step_bench_text(machine(), info),
              HasSubstr("60.0 ms for 60000 samples, however many the recipe's data has\n"));
  info.epoch_samples = 1200;
  info.knows_epoch = true;
  EXPECT_THAT(step_bench_text(machine(), info), HasSubstr("1.20 ms per epoch of 1200\n"));
  EXPECT_DOUBLE_EQ(json::parse(step_bench_json(machine(), info))["seconds_per_epoch"], 1.2e-3);
}

TEST(StepReport, RelatesTilesToTheirOwnPeak) {
  StepBenchInfo info;
  info.global_batch = 100;
  info.step_s = {1e-3, 1e-3, 1e-3};
  info.flop_per_sample = 2500e3;
  MachineInfo with_tiles = machine();
  with_tiles.tile_unit = "AMX";
  with_tiles.tile_flops = {1000e9, 900e9, 1100e9};
  const json document = json::parse(step_bench_json(with_tiles, info));
  EXPECT_DOUBLE_EQ(document["fraction_of_peak"], 2.5);
  EXPECT_DOUBLE_EQ(document["fraction_of_tile_peak"], 0.25);
  EXPECT_DOUBLE_EQ(document["machine"]["tile_peak_gflops"], 1000);
  EXPECT_EQ(document["machine"]["tile_unit"], "AMX");
  const std::string text = step_bench_text(with_tiles, info);
  EXPECT_THAT(text, HasSubstr("250.0 Gflop/s, 25.0 % of the peak of tiles"));
  EXPECT_THAT(text, HasSubstr("tiles of bf16 on AMX 1000.0 Gflop/s; read bandwidth"));
  EXPECT_FALSE(json::parse(step_bench_json(machine(), info)).contains("fraction_of_tile_peak"));
}

KernelsBenchInfo kernels() {
  KernelsBenchInfo info;
  info.workload = "toy";
  info.rounds = 5;
  info.steps = 7;
  info.settling = 20;
  info.step_s = {90e-6, 89e-6, 95e-6};
  info.profiled_step_s = {100e-6, 99e-6, 110e-6};
  info.kernels_s = {80e-6, 79e-6, 81e-6};
  info.rows = {{"fc1",
                "quern::layers::linear_forward",
                "8 x [3] -> [2]",
                1,
                {50e-6, 49e-6, 60e-6},
                {2.5e6, 1e5, 8e4}},
               {"", "quern::strategy::begin_batch", "", 1, {1e-6, 1e-6, 1e-6}, {}}};
  return info;
}

TEST(KernelsReport, RelatesKernelsToTheLimitOfTheMachine) {
  const json document = json::parse(kernels_bench_json(machine(), {kernels()}));
  expect_head(document, "kernels", 5);
  const json& workload = document["workloads"][0];
  EXPECT_DOUBLE_EQ(workload["all_kernels_us"], 80);
  EXPECT_EQ(workload["untimed_steps"], 20);
  const json& row = workload["kernels"][0];
  EXPECT_DOUBLE_EQ(row["share_of_step"], 0.5);
  EXPECT_DOUBLE_EQ(row["gflops"], 50);
  EXPECT_DOUBLE_EQ(row["fraction_of_peak"], 0.5);
  EXPECT_DOUBLE_EQ(row["gb_per_s"], 2);
  EXPECT_DOUBLE_EQ(row["fraction_of_memory_bandwidth"], 0.1);
  EXPECT_EQ(row["bound"], "FMA");
  EXPECT_EQ(row["level"], "L2");
  EXPECT_DOUBLE_EQ(row["working_set_bytes"], 8e4);
  EXPECT_DOUBLE_EQ(row["limit_us"], 25);
  EXPECT_DOUBLE_EQ(row["limit_gflops"], 100);
  EXPECT_DOUBLE_EQ(row["fraction_of_limit"], 0.5);
}

TEST(KernelsReport, SaysNothingOfWhatIsNotKnown) {
  const json document = json::parse(kernels_bench_json(machine(), {kernels()}));
  const json& row = document["workloads"][0]["kernels"][1];
  EXPECT_FALSE(row.contains("gflops"));
  EXPECT_FALSE(row.contains("bound"));
  EXPECT_DOUBLE_EQ(row["time_us"], 1);
}

TEST(KernelsReport, TellsTheTimeOutsideOfKernels) {
  const std::string text = kernels_bench_text(machine(), kernels());
  EXPECT_THAT(text, HasSubstr("layers::linear_forward"));
  EXPECT_THAT(text, HasSubstr("outside of kernels 20.0 us (20.0 %)"));
  EXPECT_THAT(text, HasSubstr("without profiling a step takes 90.0 us (89.0 us to 95.0 us)"));
}

TEST(AllreduceReport, ComparesTheMethods) {
  AllreduceBenchInfo info;
  info.rounds = 5;
  info.rows = {{"toy", 4096, 8, 2, Spread{6e-6, 5e-6, 7e-6}, Spread{4e-6, 4e-6, 4e-6},
                Spread{3e-6, 3e-6, 3e-6}}};
  const json document = json::parse(allreduce_bench_json(machine(), info));
  expect_head(document, "allreduce", 5);
  const json& row = document["rows"][0];
  EXPECT_EQ(row["bytes"], 4096);
  EXPECT_EQ(row["partials"], 2);
  EXPECT_DOUBLE_EQ(row["rank_invariant"]["time_us"], 6);
  EXPECT_DOUBLE_EQ(row["rank_invariant"]["over_transport"], 2);
  EXPECT_DOUBLE_EQ(row["fast"]["gb_per_s"], 1.024);
  EXPECT_DOUBLE_EQ(row["rank_invariant_over_fast"], 1.5);
  EXPECT_FALSE(row["rank_invariant"].contains("after_step_us"));
}

TEST(AllreduceReport, OneRankHasNoRates) {
  MachineInfo alone = machine();
  alone.ranks = 1;
  AllreduceBenchInfo info;
  info.rows = {{"toy", 4096, 8, 1, Spread{6e-9, 5e-9, 7e-9}, Spread{4e-9, 4e-9, 4e-9},
                Spread{3e-9, 3e-9, 3e-9}}};
  const json row = json::parse(allreduce_bench_json(alone, info))["rows"][0];
  for (const char* method : {"rank_invariant", "fast", "transport"}) {
    EXPECT_TRUE(row[method].contains("time_us"));
    EXPECT_FALSE(row[method].contains("gb_per_s"));
    EXPECT_FALSE(row[method].contains("over_transport"));
  }
  EXPECT_FALSE(row.contains("rank_invariant_over_fast"));
  EXPECT_THAT(allreduce_bench_text(alone, info),
              testing::EndsWith("         -         -         -         -"));
}

TEST(AllreduceReport, HasWhatASumTakesAfterAStep) {
  AllreduceBenchInfo info;
  info.rows = {{"toy", 4096, 8, 2, Spread{6e-6, 5e-6, 7e-6}, Spread{4e-6, 4e-6, 4e-6},
                Spread{3e-6, 3e-6, 3e-6}, Spread{17e-6, 16e-6, 18e-6}, Spread{9e-6, 8e-6, 11e-6}}};
  const json row = json::parse(allreduce_bench_json(machine(), info))["rows"][0];
  EXPECT_DOUBLE_EQ(row["rank_invariant"]["after_step_us"], 17);
  EXPECT_DOUBLE_EQ(row["fast"]["slowest_after_step_us"], 11);
  EXPECT_THAT(allreduce_bench_text(machine(), info), HasSubstr("17.0"));
}

TEST(AllreduceReport, LeavesOutTheModeThatWasNotAskedFor) {
  AllreduceBenchInfo info;
  info.rows = {{"", 4096, 8, 0, std::nullopt, Spread{4e-6, 4e-6, 4e-6}, Spread{3e-6, 3e-6, 3e-6}}};
  const json row = json::parse(allreduce_bench_json(machine(), info))["rows"][0];
  EXPECT_FALSE(row.contains("rank_invariant"));
  EXPECT_FALSE(row.contains("rank_invariant_over_fast"));
  EXPECT_FALSE(row.contains("partials"));
  EXPECT_THAT(allreduce_bench_text(machine(), info),
              HasSubstr("   4.0 KiB      8        -              -        4.0"));
}

TEST(IoReport, ComparesWithPlainFiles) {
  IoBenchInfo info;
  info.folder = "there";
  info.rounds = 5;
  info.rows = {{"checkpoint_write", "toy", 1000000, 0, {4e-3, 3e-3, 5e-3}, {2e-3, 1e-3, 3e-3}},
               {"shards_read", "synthetic", 1000000, 500, {1e-3, 1e-3, 1e-3}, {1e-3, 1e-3, 1e-3}},
               {"shards_streamed_again", "toy", 10, 5, {2, 2, 2}, {1, 1, 1}, true}};
  const json document = json::parse(io_bench_json(machine(), info));
  expect_head(document, "io", 5);
  EXPECT_DOUBLE_EQ(document["rows"][0]["over_raw"], 2);
  EXPECT_DOUBLE_EQ(document["rows"][0]["gb_per_s"], 0.25);
  EXPECT_DOUBLE_EQ(document["rows"][0]["fastest_raw_us"], 1000);
  EXPECT_FALSE(document["rows"][0].contains("samples_per_s"));
  EXPECT_DOUBLE_EQ(document["rows"][1]["samples_per_s"], 500e3);
  EXPECT_EQ(document["rows"][1]["cold"], false);
  EXPECT_EQ(document["rows"][2]["cold"], true);
  EXPECT_THAT(io_bench_text(machine(), info), HasSubstr("stream again, cold "));
}

}  // namespace
}  // namespace quern
