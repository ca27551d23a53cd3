// SPDX-License-Identifier: Apache-2.0
#include "comm/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.hpp"
#include "comm/launch_checks.hpp"

namespace quern {
namespace {

using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

Launch launch_with(const Variables& variables) {
  return read_launch([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const Variables& variables, int num_ranks) {
  try {
    check_launch(launch_with(variables), num_ranks);
  } catch (const InputError& e) {
    EXPECT_EQ(e.code(), ExitCode::bad_input);
    return e.what();
  }
  return "";
}

const Variables kStepOfFour = {{"SLURM_NTASKS", "4"},
                               {"SLURM_STEP_NUM_TASKS", "4"},
                               {"SLURM_PROCID", "3"},
                               {"PMIX_RANK", "3"}};
// mpirun -n 2 in a job of four tasks on two nodes: its daemon runs in a step of one task.
const Variables kMpirunInAJob = {{"SLURM_NTASKS", "4"},         {"SLURM_STEP_NUM_TASKS", "1"},
                                 {"SLURM_PROCID", "0"},         {"PMIX_RANK", "1"},
                                 {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}};
const Variables kBatchScript = {{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}};

TEST(Launch, NothingMeansAlone) {
  const Launch launch = launch_with({});
  EXPECT_FALSE(launch.size);
  EXPECT_FALSE(launch.under_launcher);
  EXPECT_EQ(launch.rank, 0);
  EXPECT_EQ(refusal({}, 1), "");
  EXPECT_EQ(launch_warning(launch, 1), "");
}

TEST(Launch, AStepOfSrun) {
  const Launch launch = launch_with(kStepOfFour);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.rank, 3);
  EXPECT_TRUE(launch.under_launcher);
  EXPECT_EQ(refusal(kStepOfFour, 4), "");
}

TEST(Launch, SilentSingletonsAreRefused) {
  const std::string message = refusal(kStepOfFour, 1);
  EXPECT_THAT(message, HasSubstr("4 processes started (SLURM_STEP_NUM_TASKS)"));
  EXPECT_THAT(message, HasSubstr("only 1 rank found each other"));
  EXPECT_THAT(message, HasSubstr("MPI"));
}

TEST(Launch, AStepOfOneNeedsNoMpi) {
  const Launch launch = launch_with({{"SLURM_STEP_NUM_TASKS", "1"}, {"PMIX_RANK", "0"}});
  EXPECT_FALSE(launch.under_launcher);
}

TEST(Launch, MpirunInsideAJobCountsItsOwnProcesses) {
  const Launch launch = launch_with(kMpirunInAJob);
  EXPECT_EQ(launch.size, 2);
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.size_variable, "OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(refusal(kMpirunInAJob, 2), "");
  EXPECT_EQ(launch_warning(launch, 2), "");
}

TEST(Launch, MpirunOfAnotherMpiIsRefused) {
  EXPECT_NE(refusal(kMpirunInAJob, 1), "");
  EXPECT_THAT(refusal({{"PMI_SIZE", "8"}, {"PMI_RANK", "0"}}, 1), HasSubstr("8 processes"));
}

TEST(Launch, ABatchScriptMayRunOneProcessButIsWarned) {
  EXPECT_EQ(refusal(kBatchScript, 1), "");
  const Launch launch = launch_with(kBatchScript);
  EXPECT_FALSE(launch.under_launcher);
  EXPECT_THAT(launch_warning(launch, 1), HasSubstr("4 tasks"));
}

TEST(Launch, UnknownLaunchersWithPmixAreTrusted) {
  const Launch launch = launch_with({{"PMIX_RANK", "5"}});
  EXPECT_TRUE(launch.under_launcher);
  EXPECT_EQ(launch.rank, 5);
  EXPECT_FALSE(launch.size);
}

const Variables kTorchrun = {
    {"WORLD_SIZE", "2"}, {"RANK", "1"}, {"LOCAL_RANK", "1"}, {"TORCHELASTIC_RUN_ID", "none"}};

TEST(Launch, TorchrunStartsNoRanksOfMpi) {
  const Launch launch = launch_with(kTorchrun);
  EXPECT_EQ(launch.rank, 1);
  EXPECT_FALSE(launch.under_launcher);
  const std::string message = refusal(kTorchrun, 1);
  EXPECT_THAT(message, HasSubstr("2 processes started (WORLD_SIZE)"));
  EXPECT_THAT(message, HasSubstr("torchrun does not start ranks of MPI"));
  EXPECT_THAT(message, HasSubstr("mpirun or srun"));
}

TEST(Launch, TorchrunInAStepOfSrunIsRefusedToo) {
  Variables variables = kTorchrun;
  variables.insert({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}, {"PMIX_RANK", "0"}});
  EXPECT_THAT(refusal(variables, 1), HasSubstr("torchrun"));
}

TEST(Launch, VariablesOfWhatStartedTorchrunDoNotHideIt) {
  for (const auto& [size, rank] : {std::pair("PMI_SIZE", "PMI_RANK"),
                                   std::pair("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK")}) {
    Variables variables = kTorchrun;
    variables.insert({{size, "1"}, {rank, "0"}});
    EXPECT_THAT(refusal(variables, 1), HasSubstr("torchrun")) << size;
  }
}

TEST(Launch, AWorldSizeAloneSaysNothing) {
  const Variables stray = {{"WORLD_SIZE", "8"}, {"RANK", "3"}};
  EXPECT_FALSE(launch_with(stray).size);
  EXPECT_EQ(launch_with(stray).rank, 0);
  EXPECT_EQ(refusal(stray, 1), "");
}

TEST(Launch, TorchrunOfOneProcessMayTrain) {
  Variables alone = kTorchrun;
  alone["WORLD_SIZE"] = "1";
  alone["RANK"] = "0";
  EXPECT_EQ(refusal(alone, 1), "");
}

TEST(Launch, MpirunBelowTorchrunCountsItsOwnProcesses) {
  Variables variables = kTorchrun;
  variables.insert({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "2"}});
  EXPECT_EQ(launch_with(variables).rank, 2);
  EXPECT_EQ(refusal(variables, 4), "");
}

TEST(Launch, GarbageIsIgnored) {
  for (const char* text : {"", "four", "4x", "-1", "99999999999999999999"}) {
    EXPECT_FALSE(launch_with({{"SLURM_STEP_NUM_TASKS", text}}).size) << text;
  }
}

}  // namespace
}  // namespace quern
