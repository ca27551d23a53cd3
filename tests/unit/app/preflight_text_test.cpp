// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "app/preflight/absence.hpp"
#include "unit/app/preflight_info.hpp"

namespace quern {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(PreflightText, TableOfAGoodLaunch) {
  const std::string text = preflight_text(test::good_gpu_launch(1, 2));
  EXPECT_THAT(text, HasSubstr("    1  node1  NVIDIA H100 GPU-1        1  1\n"));
  EXPECT_THAT(text, HasSubstr("2 ranks on 1 node;"));
  EXPECT_THAT(text, HasSubstr("good to go"));
}

TEST(PreflightText, FindingsSayWhatToChange) {
  Preflight info = test::good_launch(1, 2);
  info.ranks[1].threads = 2;
  info.findings = judge(info);
  const std::string text = preflight_text(info);
  EXPECT_THAT(text, HasSubstr("error: processors: 2 threads on"));
  EXPECT_THAT(text, HasSubstr("  change: --cpus-per-task"));
  EXPECT_THAT(text, HasSubstr("refused"));
  EXPECT_EQ(num_errors(info), 1);
}

TEST(PreflightText, NodesThatFailWhereOthersDoNot) {
  Preflight info = test::good_launch(4, 2);
  info.ranks[2].data_problem = info.ranks[6].data_problem = "no file";
  info.ranks[6].memory_problem = "too large";
  info.findings = judge(info);
  EXPECT_THAT(preflight_text(info), HasSubstr("error: data: node2: no file (and 1 more node)\n"));
  EXPECT_THAT(preflight_text(info),
              EndsWith("preflight: failed on node2,node4; good on 2 other nodes"));
  const auto json = nlohmann::json::parse(preflight_json(info));
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["failing_hosts"], (nlohmann::json{"node2", "node4"}));
  EXPECT_EQ(json["findings"][1]["hosts"], nlohmann::json{"node4"});

  Preflight all = info;
  all.ranks[0].data_problem = all.ranks[4].data_problem = "no file";
  all.findings = judge(all);
  EXPECT_THAT(preflight_text(all), EndsWith("preflight: refused"));
  info.recipe_problem = "of the launch";
  info.findings = judge(info);
  EXPECT_TRUE(failing_hosts(info).empty());
}

TEST(PreflightText, StagesHaveTheirNodes) {
  Preflight info = test::good_launch(2, 4);
  info.grid = GridInfo{{8, 1, 1}, ""};
  EXPECT_THAT(preflight_text(info), Not(HasSubstr("grid")));
  info.grid = GridInfo{{2, 2, 2}, ""};
  EXPECT_THAT(preflight_text(info), HasSubstr("\ngrid: data 2 x pipeline 2 x tensor 2\n"
                                              "  stage 0: ranks 0 to 3 on node1\n"
                                              "  stage 1: ranks 4 to 7 on node2\n"));
  EXPECT_EQ(nlohmann::json::parse(preflight_json(info))["grid"]["tensor"], 2);
  info.grid = GridInfo{{1, 1, 8}, ""};
  EXPECT_THAT(preflight_text(info), HasSubstr("\ngrid: data 1 x pipeline 1 x tensor 8\n"));
}

TEST(PreflightText, ManyRanksAreCutShort) {
  const std::string text = preflight_text(test::good_launch(100, 1));
  EXPECT_THAT(text, HasSubstr("... and 36 more"));
  EXPECT_THAT(text, Not(HasSubstr("node65 ")));
}

TEST(PreflightText, BandwidthBetweenDevicesStandsBesideItsReference) {
  Preflight info = test::good_gpu_launch(1, 2);
  EXPECT_THAT(preflight_text(info), Not(HasSubstr("between devices")));
  info.device_network.emplace();
  info.device_network->transport = "NCCL 2.28.9";
  info.device_network->network = {true, 2e-5, 4e10, 4e10, 1 << 20};
  EXPECT_THAT(
      preflight_text(info),
      HasSubstr("\nall-reduce by NCCL 2.28.9 between devices 20.0 us for 8 bytes, 40 GB/s for "
                "1024 KiB (40 on the bus); reference: 1 GB/s by MPI in host memory\n"));
  const auto json = nlohmann::json::parse(preflight_json(info));
  EXPECT_EQ(json["device_all_reduce"]["transport"], "NCCL 2.28.9");
  EXPECT_EQ(json["device_all_reduce"]["bytes_per_s"], 4e10);
}

TEST(PreflightText, SizesHaveTheirUnits) {
  Preflight info = test::good_launch(1, 1);
  info.files = {"/scratch", 73100, 4, 600000, "", ""};
  const std::string text = preflight_text(info);
  EXPECT_THAT(text, HasSubstr("/scratch: 585.9 KiB free, 4 checkpoints of 71.4 KiB to come"));
  info.files.checkpoints = 1;
  EXPECT_THAT(preflight_text(info), HasSubstr("1 checkpoint of 71.4 KiB to come"));
}

TEST(PreflightText, WithoutARecipeNothingIsKnownOfCheckpoints) {
  Preflight info = test::good_launch(1, 1);
  info.files = {"/scratch", 0, 1, 600000, "", ""};
  EXPECT_THAT(preflight_text(info), HasSubstr("\n/scratch: 585.9 KiB free\n"));
  const auto files = nlohmann::json::parse(preflight_json(info))["files"];
  EXPECT_EQ(files["free_bytes"], 600000);
  EXPECT_FALSE(files.contains("checkpoint_bytes") || files.contains("checkpoints"));
}

TEST(PreflightText, JsonHoldsEverything) {
  Preflight info = test::good_launch(2, 1);
  info.version = "0.1.0";
  info.commit = "abc";
  info.files = {"/scratch", 10, 4, 1, "", ""};
  info.findings = judge(info);
  const auto json = nlohmann::json::parse(preflight_json(info));
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["ranks"].size(), 2u);
  EXPECT_EQ(json["ranks"][1]["host"], "node2");
  EXPECT_EQ(json["files"]["checkpoints"], 4);
  EXPECT_EQ(json["findings"][0]["check"], "files");
  EXPECT_FALSE(json["all_reduce"].empty());
  const nlohmann::json versions = {
      {"quern", "0.1.0"}, {"commit", "abc"}, {"mpi", "Open MPI v4.1.4"}, {"hdf5", "1.10.8"}};
  EXPECT_EQ(json["versions"], versions);
}

TEST(PreflightText, InfoSurvivesTheJourney) {
  RankInfo info;
  info.rank = 5;
  info.host = "node \"5\"\n";
  info.cpus = {1, 2, 9};
  info.threads = 3;
  info.device_id = "GPU-\xff";  // whatever a driver says
  info.clock_offset_s = -0.25;
  info.data_problem = "none";
  info.memory_problem = "little";
  info.mpi = "Intel MPI";
  info.hdf5 = "2.0.0";
  const RankInfo there = rank_info_of(to_text(info));
  EXPECT_EQ(there.rank, 5);
  EXPECT_EQ(there.host, info.host);
  EXPECT_EQ(there.cpus, info.cpus);
  EXPECT_EQ(there.clock_offset_s, -0.25);
  EXPECT_EQ(there.data_problem, "none");
  EXPECT_EQ(there.memory_problem, "little");
  EXPECT_EQ(there.mpi, "Intel MPI");
  EXPECT_EQ(there.hdf5, "2.0.0");
}

TEST(PreflightAbsence, NamesTheRanksThatDidNotCome) {
  const std::vector<std::string> hosts = {"a", "a", "b", "b", "c", "c"};
  EXPECT_EQ(
      absence_text({3}, hosts, "within 5 s during the all-reduce"),
      "no answer from 1 of 6 ranks within 5 s during the all-reduce (--timeout): rank 3 on b; "
      "a node, its network or its file system hangs");
  std::vector<int> most(100);
  std::iota(most.begin(), most.end(), 1);
  EXPECT_THAT(absence_text(most, std::vector<std::string>(101, "a"), ""),
              HasSubstr("rank 8 on a, and 92 more; a node"));
}

TEST(PreflightAbsence, JobTemplatesReadItsNodes) {
  const std::vector<std::string> hosts = {"a", "a", "b", "b", "c", "c"};
  EXPECT_EQ(absence_verdict({2, 3}, hosts), "preflight: failed on b; good on 2 other nodes");
  EXPECT_EQ(absence_verdict({5}, {"a", "a", "a", "c", "c", "c"}),
            "preflight: failed on c; good on 1 other node");
  // Then the one that hears of nobody may be to blame.
  EXPECT_EQ(absence_verdict({2, 3, 4, 5}, hosts), "");
  EXPECT_EQ(absence_verdict({1}, {"a", "a"}), "");
}

}  // namespace
}  // namespace quern
