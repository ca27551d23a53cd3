// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/report.hpp"

#include <gmock/gmock.h>

#include "unit/app/preflight_info.hpp"

namespace quern {
namespace {

using test::good_gpu_launch;
using test::good_launch;
using ::testing::HasSubstr;

// The only finding of a launch.
Finding only(const Preflight& info) {
  const auto findings = judge(info);
  EXPECT_EQ(findings.size(), 1u);
  return findings.empty() ? Finding{} : findings[0];
}

void expect_error(const Preflight& info, const std::string& text, const std::string& fix) {
  const Finding found = only(info);
  EXPECT_EQ(found.severity, Severity::error);
  EXPECT_THAT(found.text, HasSubstr(text));
  EXPECT_THAT(found.fix, HasSubstr(fix));
}

void expect_warning(const Preflight& info, const std::string& text, const std::string& fix) {
  const Finding found = only(info);
  EXPECT_EQ(found.severity, Severity::warning);
  EXPECT_THAT(found.text, HasSubstr(text));
  EXPECT_THAT(found.fix, HasSubstr(fix));
}

TEST(PreflightJudge, NothingToSayOfGoodLaunches) {
  EXPECT_TRUE(judge(good_launch(1, 1)).empty());
  EXPECT_TRUE(judge(good_launch(3, 4)).empty());
  EXPECT_TRUE(judge(good_gpu_launch(2, 4)).empty());
}

TEST(PreflightJudge, OtherLibrariesOnANode) {
  Preflight info = good_launch(2, 1);
  info.ranks[1].mpi = "Open MPI v5.0.7";
  expect_error(info, "node1 runs with Open MPI v4.1.4 and HDF5 1.10.8, node2 with Open MPI v5.0.7",
               "the same modules");
  info = good_launch(2, 1);
  for (RankInfo& rank : info.ranks) rank.mpi.clear();
  info.ranks[1].hdf5 = "1.14.5";
  expect_error(info, "node1 runs with HDF5 1.10.8, node2 with HDF5 1.14.5", "the same modules");
}

TEST(PreflightJudge, OtherRanksThanExpected) {
  Preflight info = good_launch(2, 3);
  info.job.expected_ranks = 8;
  expect_error(info, "6 ranks found each other, 8 were expected", "srun --mpi=pmix");
}

TEST(PreflightJudge, RanksThatShareLayersLieOnOneNode) {
  Preflight info = good_launch(2, 4);
  for (const GridShape shape : {GridShape{8, 1, 1}, GridShape{1, 8, 1}, GridShape{2, 2, 2},
                                GridShape{1, 2, 4}, GridShape{2, 1, 4}}) {
    info.grid = GridInfo{shape, ""};
    EXPECT_TRUE(judge(info).empty());
  }
  info.grid = GridInfo{{1, 1, 8}, ""};
  expect_error(info,
               "ranks 0 to 7 share every layer (parallel.tensor = 8), but lie on node1 and node2",
               "--ntasks-per-node=<a multiple of 8>, or a smaller parallel.tensor");
  info = good_launch(2, 3);
  info.grid = GridInfo{{3, 1, 2}, ""};
  expect_error(info, "ranks 2 to 3 share every layer (parallel.tensor = 2)", "a multiple of 2");
}

TEST(PreflightJudge, ANetworkThatCannotBeSplitSo) {
  Preflight info = good_launch(1, 3);
  info.grid = GridInfo{{}, "3 ranks cannot be cut into groups of 2 (pipeline) x 1 (tensor)"};
  expect_error(info, "3 ranks cannot be cut", "parallel.pipeline");
}

TEST(PreflightJudge, SingletonsInAJobOfSeveralTasks) {
  Preflight info = good_launch(1, 1);
  info.job.job_ranks = 6;
  expect_error(info, "one rank alone in a Slurm job of 6 tasks", "--ranks 1");
  info.job.expected_ranks = 1;
  EXPECT_TRUE(judge(info).empty());
}

TEST(PreflightJudge, PartOfAJobIsWorthAWarning) {
  Preflight info = good_launch(1, 2);
  info.job.job_ranks = 6;
  expect_warning(info, "2 ranks in a Slurm job of 6 tasks", "--ranks");
}

TEST(PreflightJudge, UnevenNodes) {
  Preflight info = good_launch(2, 3);
  info.ranks[3].host = "node1";
  info.ranks[3].cpus = {3};
  expect_warning(info, "2 to 4 ranks a node", "--ntasks-per-node");
}

TEST(PreflightJudge, SharedDevice) {
  Preflight info = good_gpu_launch(1, 4);
  info.ranks[3].device_id = info.ranks[1].device_id;
  expect_error(info, "ranks 1, 3 share the device GPU-1", "--gpu-bind=none");
  info.job.may_share_devices = true;
  expect_warning(info, "as QUERN_SHARE_GPU=1 allows", "--gpu-bind=none");
}

TEST(PreflightJudge, RankWithoutDevice) {
  Preflight info = good_gpu_launch(1, 2);
  info.ranks[1].device_id = "";
  expect_error(info, "rank 1 on node1 has no device", "--gpus-per-node");
  info = good_gpu_launch(3, 2);
  info.ranks[2].device_id = "";
  EXPECT_EQ(only(info).hosts, std::vector<std::string>{"node2"});
}

TEST(PreflightJudge, HiddenPeers) {
  Preflight info = good_gpu_launch(1, 2);
  info.ranks[0].visible_devices = "0";
  info.ranks[1].visible_devices = "1";
  expect_warning(info, "peers' are hidden", "instead of --gpus-per-task");
}

TEST(PreflightJudge, DevicesThatNobodyUses) {
  Preflight info = good_launch(1, 2);
  for (RankInfo& rank : info.ranks) rank.visible_devices = "0,1";
  expect_warning(info, "runs its kernels on processors", "partition");
}

TEST(PreflightJudge, MoreThreadsThanProcessors) {
  Preflight info = good_launch(1, 2);
  info.ranks[1].threads = 2;
  expect_error(info, "2 threads on node1 share 1 processor (1)", "--cpus-per-task");
}

TEST(PreflightJudge, RanksBoundToTheSameProcessor) {
  Preflight info = good_launch(1, 2);
  info.ranks[1].cpus = info.ranks[0].cpus;
  expect_error(info, "2 threads on node1 share 1 processor (0)", "srun -c");
}

TEST(PreflightJudge, OneFindingForAllNodes) {
  Preflight info = good_launch(5, 1);
  for (RankInfo& rank : info.ranks) rank.threads = 2;
  expect_error(info, "2 threads on node1 share 1 processor (0) (and on 4 more nodes)",
               "--cpus-per-task");
}

TEST(PreflightJudge, FullMachineWithTooManyThreads) {
  Preflight info = good_launch(1, 2);
  for (RankInfo& rank : info.ranks) {
    rank.cpus = {0, 1, 2, 3};
    rank.threads = 3;
  }
  expect_error(info, "6 threads of 2 ranks on node1 for 4 processors", "OMP_NUM_THREADS");
  info.job.cpus_overcommitted = true;
  expect_warning(info, "6 threads", "OMP_NUM_THREADS");
  info.job.cpus_overcommitted = false;
  info.job.under_slurm = false;  // a laptop: whoever types this knows it
  expect_warning(info, "6 threads", "OMP_NUM_THREADS");
}

TEST(PreflightJudge, DifferentRecipes) {
  Preflight info = good_launch(2, 2);
  info.ranks[0].recipe_hash = "aaaa";
  info.ranks[2].recipe_hash = "bbbb";
  expect_error(info, "node1 reads aaaa, node2 reads bbbb", "share");
  EXPECT_TRUE(only(info).hosts.empty());
  info.ranks[2].recipe_hash = kNoRecipe;
  EXPECT_EQ(only(info).hosts, std::vector<std::string>{"node2"});
  info.ranks[2].recipe_hash = "aaaa";
  EXPECT_TRUE(judge(info).empty());
}

TEST(PreflightJudge, DataThatANodeCannotRead) {
  Preflight info = good_launch(2, 1);
  info.ranks[1].data_problem = "there is no folder 'data'";
  expect_error(info, "node2: there is no folder 'data'", "that all nodes share");
  info = good_launch(1, 2);
  info.ranks[0].data_problem = "'data/a.h5' is not a whole HDF5 file";
  expect_error(info, "'data/a.h5'", "folders of whole shards");
}

TEST(PreflightJudge, DataThatCouldNotBeOpenedAMomentBefore) {
  Preflight info = good_launch(2, 1);
  info.data_problem = "rank 1 on node2: cannot open 'data/a.h5'";
  expect_error(info, "rank 1 on node2: cannot open 'data/a.h5'", "a moment before");
  info.ranks[1].data_problem = "cannot open 'data/a.h5'";
  expect_error(info, "node2: cannot open 'data/a.h5'", "that all nodes share");
}

TEST(PreflightJudge, ARecipeThatATrainingRefuses) {
  Preflight info = good_launch(2, 1);
  info.recipe_problem = "parallel.backend = \"serial\", but 2 ranks were started";
  expect_error(info, "but 2 ranks were started", "the number of ranks");
  info = good_launch(2, 1);
  info.fit_problem = "the network puts out [4], but the data has 10 classes";
  expect_error(info, "10 classes", "data.train");
}

TEST(PreflightJudge, DataThatANodeCannotHold) {
  Preflight info = good_launch(2, 1);
  info.ranks[1].memory_problem = "the data set needs 3 GiB";
  expect_error(info, "node2: the data set needs 3 GiB", "data.memory");
}

TEST(PreflightJudge, Network) {
  Preflight info = good_launch(2, 1);
  info.network.all_reduce_is_right = false;
  expect_error(info, "wrong sum", "MPI");
  info.network.all_reduce_is_right = true;
  info.job.min_bandwidth = 2e9;
  expect_error(info, "runs at 1 GB/s, 2 were asked for", "--min-bandwidth");
  info.job.min_bandwidth = 1e12;
  expect_error(info, "runs at 1 GB/s, 1000 were asked for", "--min-bandwidth");
}

TEST(PreflightJudge, OneRankHasNoNetworkToMeasure) {
  Preflight info = good_launch(1, 1);
  EXPECT_TRUE(judge(info).empty());
  info.job.min_bandwidth = 2e9;
  expect_warning(info, "one rank alone has no all-reduce", "--min-bandwidth");
}

TEST(PreflightJudge, NetworkBetweenDevices) {
  Preflight info = good_launch(2, 1);
  info.device_network.emplace();
  info.device_network->transport = "NCCL 2.28.9";
  NetworkInfo& devices = info.device_network->network;
  devices.bytes = 1 << 20;
  devices.bytes_per_s = 9e9;
  info.job.min_bandwidth = 8e9;  // MPI does not reach that, and need not
  EXPECT_TRUE(judge(info).empty());
  devices.bytes_per_s = 7e9;
  expect_error(info, "by NCCL 2.28.9 of 1048576 bytes runs at 7 GB/s, 8 were asked for",
               "--min-bandwidth");
  info.job.min_bandwidth = 0;
  devices.bytes_per_s = 0.5e9;
  expect_warning(info, "runs at 0.5 GB/s, and by MPI in host memory at 1", "--gpu-bind=none");
  devices.bytes_per_s = 9e9;
  devices.all_reduce_is_right = false;
  expect_error(info, "by NCCL 2.28.9 gave a wrong sum", "NCCL");
  info.device_network->problem = "rank 1 cannot join";
  expect_error(info, "rank 1 cannot join", "NCCL_DEBUG");
}

TEST(PreflightJudge, Clocks) {
  Preflight info = good_launch(2, 1);
  info.ranks[1].clock_offset_s = -90;
  expect_warning(info, "clock of node2 is -90.0 s away", "site");
}

TEST(PreflightJudge, Files) {
  Preflight info = good_launch(1, 1);
  info.files = {"/scratch", 1000, 4, 3999, "", ""};
  expect_error(info, "3999 bytes free, expected 4000 for 4 checkpoints of 1000 bytes",
               "checkpoint.keep");
  info.files.checkpoints = 1;
  info.files.free_bytes = 999;
  expect_error(info, "expected 1000 for 1 checkpoint of 1000 bytes", "make room");
  info.files.free_bytes = 1000;
  EXPECT_TRUE(judge(info).empty());
  info.files.locking_problem = "files cannot be locked";
  expect_warning(info, "cannot be locked", "without locks");
  info.files.problem = "cannot write";
  expect_error(info, "cannot write", "--run-dir");
}

TEST(PreflightJudge, ErrorsComeFirst) {
  Preflight info = good_launch(2, 1);
  info.ranks[1].clock_offset_s = 90;
  info.job.expected_ranks = 3;
  const auto findings = judge(info);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].check, "ranks");
  EXPECT_EQ(findings[1].check, "clocks");
}

}  // namespace
}  // namespace quern
