// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/launch.hpp"

#include <gmock/gmock.h>

#include <map>

namespace quern {
namespace {

using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

constexpr const char* kOpenMpi = "Open MPI v4.1.4";

EnvironmentLookup lookup(const Variables& variables) {
  return [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

std::string problem(const Variables& variables, const std::string& library = kOpenMpi) {
  return launch_problem(read_launch(lookup(variables)), library, lookup(variables));
}

TEST(PreflightLaunch, SrunWithoutPmixCannotConnect) {
  const Variables bare = {{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}};
  EXPECT_THAT(problem(bare), HasSubstr("srun --mpi=pmix"));
  EXPECT_EQ(problem(bare, "MPICH Version: 4.0"), "");
}

TEST(PreflightLaunch, WhatCanConnectIsLeftAlone) {
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({{"SLURM_STEP_NUM_TASKS", "1"}}), "");
  EXPECT_EQ(problem({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "2"}}), "");
  EXPECT_EQ(problem({{"SLURM_STEP_NUM_TASKS", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), "");
}

TEST(PreflightLaunch, JobInfoOutsideSlurm) {
  const Variables none;
  const JobInfo info = job_info(lookup(none), 4);
  EXPECT_FALSE(info.under_slurm);
  EXPECT_FALSE(info.job_ranks);
}

TEST(PreflightLaunch, JobInfoOfAStepIsThatOfTheJob) {
  const Variables step = {{"SLURM_JOB_ID", "7"},
                          {"SLURM_NTASKS", "1"},
                          {"SLURM_NTASKS_PER_NODE", "3"},
                          {"SLURM_JOB_NUM_NODES", "2"},
                          {"SLURM_CPUS_ON_NODE", "4"}};
  const JobInfo info = job_info(lookup(step), 2);
  EXPECT_EQ(info.job_ranks, 6);
  EXPECT_EQ(info.ranks_per_node, 3);
  EXPECT_TRUE(info.cpus_overcommitted);
  EXPECT_FALSE(job_info(lookup(step), 4).cpus_overcommitted);
}

TEST(PreflightLaunch, NonsenseCountsAsUnset) {
  const Variables odd = {
      {"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "many"}, {"SLURM_CPUS_ON_NODE", ""}};
  const JobInfo info = job_info(lookup(odd), 2);
  EXPECT_FALSE(info.job_ranks);
  EXPECT_FALSE(info.cpus_overcommitted);
}

}  // namespace
}  // namespace quern
