# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

# set_environment THREADS OMP_BIND: what srun and OpenMP are told. The program itself picks a device,
# and with OMP_BIND=program its cores, by its rank on the node; all devices of the node stay visible.
set_environment() {
  export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-1}" # srun does not take it from sbatch by itself
  export SLURM_EXPORT_ENV=ALL                           # even after sbatch --export=NONE
  export OMP_NUM_THREADS="$1"
  case "$2" in
    program) export QUERN_BIND=cores OMP_PROC_BIND=false ;;
    none) export OMP_PROC_BIND=false ;;
    *) export OMP_PLACES=cores OMP_PROC_BIND="$2" ;;
  esac
}

said_as="" # the job as its user knows it, if not by SLURM_JOB_ID
speaker="" # who of this job speaks, where there are several
say() { printf '[job %s] %s%s\n' "${said_as:-${SLURM_JOB_ID:-?}}" "$speaker" "$*"; }
