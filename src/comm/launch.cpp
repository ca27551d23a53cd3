// SPDX-License-Identifier: Apache-2.0
#include "comm/launch.hpp"

namespace quern {

namespace {

struct Launcher {
  const char* size;
  const char* rank;
  const char* mark = nullptr;  // its own, where others use the same names
};

constexpr const char* kTorchrunMark = "TORCHELASTIC_RUN_ID";

// The nearest launcher first: mpirun, flux and torchrun may themselves run inside a step of srun.
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},  // Open MPI's mpirun
    {"PMI_SIZE", "PMI_RANK"},                          // MPICH's and Intel's mpiexec, srun with PMI
    {"FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
    {kTorchrunSize, "RANK", kTorchrunMark},    // many environments have a WORLD_SIZE
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},  // srun; a batch script has only the latter
};

// Set by launchers that do not tell the number of processes by a variable.
constexpr const char* kRankOnly[] = {"PMIX_RANK", "PALS_RANKID"};

}  // namespace

Launch read_launch(const EnvironmentLookup& lookup) {
  Launch launch;
  const bool in_torchrun = environment_text(lookup, kTorchrunMark) &&
                           environment_number(lookup, kTorchrunSize).value_or(1) > 1;
  for (const Launcher& launcher : kLaunchers) {
    if (launcher.mark && !environment_text(lookup, launcher.mark)) continue;
    launch.size = environment_number(lookup, launcher.size);
    if (!launch.size) continue;
    // One rank is what started torchrun.
    if (in_torchrun && !launcher.mark && *launch.size == 1) continue;
    launch.size_variable = launcher.size;
    launch.rank = environment_number(lookup, launcher.rank).value_or(0);
    // No MPI library can connect to torchrun.
    launch.under_launcher = *launch.size > 1 && launch.size_variable != kTorchrunSize;
    return launch;
  }
  for (const char* name : kRankOnly) {
    const std::optional<int> rank = environment_number(lookup, name);
    if (!rank) continue;
    launch.rank = *rank;
    launch.under_launcher = true;
    return launch;
  }
  launch.job_tasks = environment_number(lookup, "SLURM_NTASKS");
  return launch;
}

}  // namespace quern
