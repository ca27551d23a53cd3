// SPDX-License-Identifier: Apache-2.0
#include "comm/launch.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace quern {

namespace {

struct Launcher {
  const char* size;
  const char* rank;
};

// The nearest launcher first: mpirun and flux may themselves run inside a step of srun.
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},  // Open MPI's mpirun
    {"PMI_SIZE", "PMI_RANK"},                          // MPICH's and Intel's mpiexec, srun with PMI
    {"FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},  // srun; a batch script has only the latter
};

// Set by launchers that do not tell the number of processes by a variable.
constexpr const char* kRankOnly[] = {"PMIX_RANK", "PALS_RANKID"};

std::optional<int> read_number(const EnvironmentLookup& lookup, const char* name) {
  const char* text = lookup(name);
  if (!text) return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc() || rest != end || value < 0) return std::nullopt;
  return value;
}

}  // namespace

Launch read_launch(const EnvironmentLookup& lookup) {
  const EnvironmentLookup look =
      lookup ? lookup : [](const char* name) -> const char* { return std::getenv(name); };
  Launch launch;
  for (const Launcher& launcher : kLaunchers) {
    launch.size = read_number(look, launcher.size);
    if (!launch.size) continue;
    launch.size_variable = launcher.size;
    launch.rank = read_number(look, launcher.rank).value_or(0);
    launch.under_launcher = *launch.size > 1;
    return launch;
  }
  for (const char* name : kRankOnly) {
    const std::optional<int> rank = read_number(look, name);
    if (!rank) continue;
    launch.rank = *rank;
    launch.under_launcher = true;
    return launch;
  }
  launch.job_tasks = read_number(look, "SLURM_NTASKS");
  return launch;
}

}  // namespace quern
