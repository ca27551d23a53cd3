# shellcheck shell=bash disable=SC2154  # key_type is of keys.sh
# SPDX-License-Identifier: Apache-2.0
# SBATCH= is for what no key does: an option that comes last wins, and would undo what was checked.

# Options and what they belong to: a key, or what the template sees to.
kOptionsWithKeys="account=ACCOUNT partition=PARTITION qos=QOS constraint=CONSTRAINT time=TIME job-name=JOB_NAME \
nodes=NODES ntasks=RANKS ntasks-per-node=RANKS ntasks-per-socket=RANKS ntasks-per-core=RANKS ntasks-per-gpu=RANKS \
tasks-per-node=RANKS cpus-per-task=CPUS cpus-per-gpu=CPUS gpus=RANKS gpus-per-node=RANKS gpus-per-task=RANKS \
gpus-per-socket=RANKS gres=gpu:RANKS mem=MEM mem-per-cpu=MEM mem-per-gpu=MEM dependency=AFTER \
reservation=RESERVATION comment=COMMENT mail-user=MAIL uenv=UENV view=VIEW signal=SIGNAL \
requeue=REQUEUE no-requeue=REQUEUE clusters=SLURM_CLUSTERS array=- output=- error=- open-mode=- chdir=- test-only=- wrap=- parsable=- wait=-"
kShortOptions="A=account p=partition q=qos C=constraint t=time J=job-name N=nodes n=ntasks c=cpus-per-task G=gpus \
d=dependency a=array o=output e=error D=chdir W=wait M=clusters"

# check_option TEXT: of SBATCH=, one option of sbatch or more.
check_option() {
  local text="$1" words word name entry key
  IFS=$' \t' read -r -a words <<<"$text"
  for word in "${words[@]}"; do
    name=""
    if [[ $word == --* ]]; then
      name="${word#--}" && name="${name%%=*}"
    elif [[ $word == -[A-Za-z]* && " $kShortOptions " == *" ${word:1:1}="* ]]; then
      name=" $kShortOptions" && name="${name#* "${word:1:1}"=}" && name="${name%% *}"
    fi
    [[ -n $name ]] || continue
    for entry in $kOptionsWithKeys; do
      # Slurm takes the beginning of a name for the name.
      [[ ${entry%%=*} == "$name"* ]] || continue
      key="${entry#*=}"
      if [[ $key == gpu:* ]]; then
        [[ $text == *gpu* ]] || continue # other resources have no key
        key="${key#gpu:}"
      fi
      [[ $key != - ]] || fail "SBATCH=$text: jobs/submit sees to --$name by itself"
      [[ $key != SLURM_CLUSTERS ]] || fail "SBATCH=$text: squeue and scancel would ask another cluster about the job: \
export SLURM_CLUSTERS=NAME in your shell, for jobs/submit as for jobs/status and jobs/stop"
      if [[ $key == RANKS && $text == *gpu* ]] && ((site[GPUS_PER_NODE] == 0)); then
        fail "SBATCH=$text: no job of the site ${site[NAME]} asks for devices: take the site generic-gpu, or a file of your \
own with GPUS_PER_NODE (RANKS= is one rank for each then)"
      fi
      [[ $key != MEM || $name == mem ]] || fail "SBATCH=$text: MEM= is the key for memory, and counts a whole node's"
      if [[ -n ${key_type[$key]:-} ]]; then fail "SBATCH=$text: $key= is the key for that"; fi
      fail "SBATCH=$text: the template sees to --$name by itself"
    done
  done
}
