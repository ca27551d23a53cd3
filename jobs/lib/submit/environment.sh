# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What of the submitting shell's environment goes along. sbatch hands all of it to the job, and srun believes what it
# finds there: inside an allocation, an array or a step those are the facts of another job.

# Every locale has its own letters in [A-Z]; the job gets the user's back.
users_locale="${LC_ALL-}"
export LC_ALL=C
unset CDPATH # cd prints with it

# Is the variable of another job or launcher, or an option of sbatch's that would win over the filled job?
is_of_another_job() {
  case "$1" in
    SLURM_CONF | SLURM_CONF_SERVER | SLURM_CLUSTERS | SLURM_JWT | SLURM_PMIX_*) return 1 ;; # how to reach Slurm
    PMIX_MCA_*) return 1 ;;                                                                # users' settings
    SLURM_* | SLURMD_* | SBATCH_* | SRUN_* | SALLOC_*) ;;
    PMI_* | PMI2_* | PMIX_* | PALS_* | MPI_LOCAL* | HYDI_* | MV2_COMM_* | PRTE_LAUNCHED) ;;
    OMPI_COMM_* | OMPI_UNIVERSE_SIZE | OMPI_APP_CTX_* | OMPI_NUM_APP_CTX | OMPI_FIRST_RANKS | OMPI_ARGV) ;;
    OMPI_COMMAND | OMPI_FILE_LOCATION | OMPI_MCA_orte_* | OMPI_MCA_ess* | OMPI_MCA_initial_wdir) ;;
    # Outside of a job these are the user's own.
    *_VISIBLE_DEVICES | GPU_DEVICE_ORDINAL | ZE_AFFINITY_MASK) [[ -n ${SLURM_JOB_ID:-} ]] ;;
    *) return 1 ;;
  esac
}

# cleanly COMMAND...: with the user's environment, and nothing of another job in it.
cleanly() {
  local name options=()
  while IFS= read -r name; do
    ! is_of_another_job "$name" || options+=(-u "$name")
  done < <(compgen -e)
  if [[ -n $users_locale ]]; then options+=("LC_ALL=$users_locale"); else options+=(-u LC_ALL); fi
  env "${options[@]}" "$@"
}

# Users set SBATCH_* for scripts that do not say it themselves; a filled job does.
warn_of_options() {
  local name names=()
  while IFS= read -r name; do
    [[ $name != SBATCH_* || $name == SBATCH_ACCOUNT ]] || names+=("$name")
  done < <(compgen -e)
  ((${#names[@]} == 0)) ||
    warn "${names[*]} of the environment: not used (give the key, or SBATCH=--option=value)"
}
