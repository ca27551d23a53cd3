// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/launch.hpp"

namespace quern {

std::string launch_problem(const Launch& launch, const std::string& mpi_library,
                           const EnvironmentLookup& lookup) {
  if (launch.size_variable != "SLURM_STEP_NUM_TASKS" || launch.size.value_or(1) <= 1) return "";
  if (mpi_library.rfind("Open MPI", 0) != 0) return "";  // others have ways of their own
  for (const char* name : {"PMIX_RANK", "PMIX_NAMESPACE", "PMI_RANK", "PMI_FD"}) {
    if (environment_text(lookup, name)) return "";
  }
  return "srun started " + std::to_string(*launch.size) +
         " processes without the means to find each other, each would be rank 0 of 1 (change: "
         "srun --mpi=pmix; srun --mpi=list names what this Slurm knows)";
}

JobInfo job_info(const EnvironmentLookup& lookup, int machine_cpus) {
  JobInfo job;
  job.under_slurm = environment_text(lookup, "SLURM_JOB_ID") != nullptr;
  if (!job.under_slurm) return job;
  job.ranks_per_node = environment_number(lookup, "SLURM_NTASKS_PER_NODE", 1);
  const auto nodes = environment_number(lookup, "SLURM_JOB_NUM_NODES", 1);
  // In a step SLURM_NTASKS is the step's; what sbatch was asked for is still there.
  if (job.ranks_per_node && nodes) {
    job.job_ranks = *job.ranks_per_node * *nodes;
  } else {
    job.job_ranks = environment_number(lookup, "SLURM_NTASKS", 1);
  }
  job.cpus_overcommitted =
      environment_number(lookup, "SLURM_CPUS_ON_NODE", 1).value_or(0) > machine_cpus;
  return job;
}

}  // namespace quern
