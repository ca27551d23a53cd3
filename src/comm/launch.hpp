// SPDX-License-Identifier: Apache-2.0
// What the launcher (mpirun, srun) says about this process, read from the environment before MPI
// starts (MPI libraries add variables of their own).
#pragma once

#include <optional>
#include <string>

#include "comm/environment.hpp"

namespace quern {

/// torchrun's variable for the number of processes.
inline constexpr const char* kTorchrunSize = "WORLD_SIZE";

struct Launch {
  /// Processes the launcher nearest to us says it started, and which of its variables said so.
  /// mpirun's word counts before Slurm's: inside a job mpirun starts its daemons through srun, so
  /// the ranks see a SLURM_STEP_NUM_TASKS that counts daemons.
  std::optional<int> size;
  std::string size_variable;
  /// Rank according to the launcher; 0 when nobody says. Whoever fails before the ranks know each
  /// other speaks only as rank 0, so that one message appears.
  int rank = 0;
  /// Did anything start us that an MPI library could connect to?
  bool under_launcher = false;
  /// SLURM_NTASKS of the job around us when we are not in a step of srun: only worth a warning,
  /// since `mpirun -n 2` or a single-process command inside a larger job is legal.
  std::optional<int> job_tasks;
};

/// Reads the launcher's variables.
Launch read_launch(const EnvironmentLookup& lookup = {});

}  // namespace quern
