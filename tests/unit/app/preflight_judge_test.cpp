// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/report.hpp"

#include <gmock/gmock.h>

#include "unit/app/preflight_facts.hpp"

namespace quern {
namespace {

using test::good_gpu_launch;
using test::good_launch;
using ::testing::HasSubstr;

// The only finding of a launch.
Finding only(const Preflight& facts) {
  const auto findings = judge(facts);
  EXPECT_EQ(findings.size(), 1u);
  return findings.empty() ? Finding{} : findings[0];
}

void expect_error(const Preflight& facts, const std::string& text, const std::string& fix) {
  const Finding found = only(facts);
  EXPECT_EQ(found.severity, Severity::error);
  EXPECT_THAT(found.text, HasSubstr(text));
  EXPECT_THAT(found.fix, HasSubstr(fix));
}

void expect_warning(const Preflight& facts, const std::string& text, const std::string& fix) {
  const Finding found = only(facts);
  EXPECT_EQ(found.severity, Severity::warning);
  EXPECT_THAT(found.text, HasSubstr(text));
  EXPECT_THAT(found.fix, HasSubstr(fix));
}

TEST(PreflightJudge, NothingToSayOfGoodLaunches) {
  EXPECT_TRUE(judge(good_launch(1, 1)).empty());
  EXPECT_TRUE(judge(good_launch(3, 4)).empty());
  EXPECT_TRUE(judge(good_gpu_launch(2, 4)).empty());
}

TEST(PreflightJudge, OtherRanksThanExpected) {
  Preflight facts = good_launch(2, 3);
  facts.job.expected_ranks = 8;
  expect_error(facts, "6 rank(s) found each other, 8 were expected", "srun --mpi=pmix");
}

TEST(PreflightJudge, SingletonsInAJobOfSeveralTasks) {
  Preflight facts = good_launch(1, 1);
  facts.job.job_ranks = 6;
  expect_error(facts, "one rank alone in a Slurm job of 6 tasks", "--ranks 1");
  facts.job.expected_ranks = 1;
  EXPECT_TRUE(judge(facts).empty());
}

TEST(PreflightJudge, PartOfAJobIsWorthAWarning) {
  Preflight facts = good_launch(1, 2);
  facts.job.job_ranks = 6;
  expect_warning(facts, "2 ranks in a Slurm job of 6 tasks", "--ranks");
}

TEST(PreflightJudge, UnevenNodes) {
  Preflight facts = good_launch(2, 3);
  facts.ranks[3].host = "node1";
  facts.ranks[3].cpus = {3};
  expect_warning(facts, "2 to 4 ranks a node", "--ntasks-per-node");
}

TEST(PreflightJudge, SharedDevice) {
  Preflight facts = good_gpu_launch(1, 4);
  facts.ranks[3].device_id = facts.ranks[1].device_id;
  expect_error(facts, "ranks 1, 3 share the device GPU-1", "--gpu-bind=none");
  facts.job.may_share_devices = true;
  expect_warning(facts, "as QUERN_SHARE_GPU=1 allows", "--gpu-bind=none");
}

TEST(PreflightJudge, RankWithoutDevice) {
  Preflight facts = good_gpu_launch(1, 2);
  facts.ranks[1].device_id = "";
  expect_error(facts, "rank 1 on node1 has no device", "--gpus-per-node");
}

TEST(PreflightJudge, HiddenPeers) {
  Preflight facts = good_gpu_launch(1, 2);
  facts.ranks[0].visible_devices = "0";
  facts.ranks[1].visible_devices = "1";
  expect_warning(facts, "peers' are hidden", "instead of --gpus-per-task");
}

TEST(PreflightJudge, DevicesThatNobodyUses) {
  Preflight facts = good_launch(1, 2);
  for (RankFacts& rank : facts.ranks) rank.visible_devices = "0,1";
  expect_warning(facts, "runs its kernels on processors", "partition");
}

TEST(PreflightJudge, MoreThreadsThanProcessors) {
  Preflight facts = good_launch(1, 2);
  facts.ranks[1].threads = 2;
  expect_error(facts, "2 thread(s) on node1 want the 1 processor(s) 1", "--cpus-per-task");
}

TEST(PreflightJudge, RanksBoundToTheSameProcessor) {
  Preflight facts = good_launch(1, 2);
  facts.ranks[1].cpus = facts.ranks[0].cpus;
  expect_error(facts, "2 thread(s) on node1 want the 1 processor(s) 0", "srun -c");
}

TEST(PreflightJudge, OneFindingForAllNodes) {
  Preflight facts = good_launch(5, 1);
  for (RankFacts& rank : facts.ranks) rank.threads = 2;
  expect_error(facts, "2 thread(s) on node1 want the 1 processor(s) 0 (and on 4 more nodes)",
               "--cpus-per-task");
}

TEST(PreflightJudge, FullMachineWithTooManyThreads) {
  Preflight facts = good_launch(1, 2);
  for (RankFacts& rank : facts.ranks) {
    rank.cpus = {0, 1, 2, 3};
    rank.threads = 3;
  }
  expect_error(facts, "6 threads of 2 rank(s) on node1 for 4 processors", "OMP_NUM_THREADS");
  facts.job.cpus_overcommitted = true;
  expect_warning(facts, "6 threads", "OMP_NUM_THREADS");
  facts.job.cpus_overcommitted = false;
  facts.job.under_slurm = false;  // a laptop: whoever types this knows it
  expect_warning(facts, "6 threads", "OMP_NUM_THREADS");
}

TEST(PreflightJudge, DifferentRecipes) {
  Preflight facts = good_launch(2, 2);
  facts.ranks[0].recipe_hash = "aaaa";
  facts.ranks[2].recipe_hash = "bbbb";
  expect_error(facts, "node1 reads aaaa, node2 reads bbbb", "share");
  facts.ranks[2].recipe_hash = "aaaa";
  EXPECT_TRUE(judge(facts).empty());
}

TEST(PreflightJudge, DataThatANodeCannotRead) {
  Preflight facts = good_launch(2, 1);
  facts.ranks[1].data_problem = "there is no folder 'data'";
  expect_error(facts, "node2: there is no folder 'data'", "data.train");
}

TEST(PreflightJudge, Network) {
  Preflight facts = good_launch(2, 1);
  facts.network.all_reduce_is_right = false;
  expect_error(facts, "wrong sum", "MPI");
  facts.network.all_reduce_is_right = true;
  facts.job.min_bandwidth = 2e9;
  expect_error(facts, "runs at 1 GB/s, 2 were asked for", "--min-bandwidth");
}

TEST(PreflightJudge, NetworkBetweenDevices) {
  Preflight facts = good_launch(2, 1);
  facts.device_network.emplace();
  facts.device_network->transport = "NCCL 2.28.9";
  NetworkFacts& devices = facts.device_network->network;
  devices.bytes = 1 << 20;
  devices.bytes_per_s = 9e9;
  facts.job.min_bandwidth = 8e9;  // MPI does not reach that, and need not
  EXPECT_TRUE(judge(facts).empty());
  devices.bytes_per_s = 7e9;
  expect_error(facts, "by NCCL 2.28.9 of 1048576 bytes runs at 7 GB/s, 8 were asked for",
               "--min-bandwidth");
  facts.job.min_bandwidth = 0;
  devices.bytes_per_s = 0.5e9;
  expect_warning(facts, "runs at 0.5 GB/s, and by MPI in host memory at 1", "--gpu-bind=none");
  devices.bytes_per_s = 9e9;
  devices.all_reduce_is_right = false;
  expect_error(facts, "by NCCL 2.28.9 gave a wrong sum", "NCCL");
  facts.device_network->problem = "rank 1 cannot join";
  expect_error(facts, "rank 1 cannot join", "NCCL_DEBUG");
}

TEST(PreflightJudge, Clocks) {
  Preflight facts = good_launch(2, 1);
  facts.ranks[1].clock_offset_s = -90;
  expect_warning(facts, "clock of node2 is -90.0 s away", "site");
}

TEST(PreflightJudge, Files) {
  Preflight facts = good_launch(1, 1);
  facts.files = {"/scratch", 1000, 4, 3999, "", ""};
  expect_error(facts, "4 checkpoints of 1000 bytes need 4000", "checkpoint.keep");
  facts.files.free_bytes = 4000;
  EXPECT_TRUE(judge(facts).empty());
  facts.files.locking_problem = "files cannot be locked";
  expect_warning(facts, "cannot be locked", "without locks");
  facts.files.problem = "cannot write";
  expect_error(facts, "cannot write", "--run-dir");
}

TEST(PreflightJudge, ErrorsComeFirst) {
  Preflight facts = good_launch(2, 1);
  facts.ranks[1].clock_offset_s = 90;
  facts.job.expected_ranks = 3;
  const auto findings = judge(facts);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].check, "ranks");
  EXPECT_EQ(findings[1].check, "clocks");
}

}  // namespace
}  // namespace quern
