# shellcheck shell=bash disable=SC2154,SC2034  # jobs_folder is of jobs/submit
# SPDX-License-Identifier: Apache-2.0
# A site's facts: jobs/sites/NAME.env, lines KEY=value. Read, never executed; what the keys mean is
# told in jobs/README.md.

declare -A site
kSiteKeys="TITLE HOSTS SOURCE CHECKED UNCERTAIN ACCOUNT ACCOUNT_HINT PARTITION QOS CONSTRAINT LIMIT TIME \
CPUS_PER_NODE CPUS_PER_GPU CPUS_RULE THREADS_PER_CORE GPUS_PER_NODE GPU_REQUEST GPU_STEP MEM_FULL_NODE \
EXCLUSIVE HINT SRUN OMP_BIND REQUEUE SETUP SERIAL_PARTITION SERIAL_QOS SERIAL_CONSTRAINT SERIAL_CPUS \
SERIAL_GPUS SERIAL_SETUP MAX_ARRAY SCHEDULER RANKS_PER_NODE GPU_LIMIT CPU_LIMIT GPU_ACCOUNT_END OPTION UENV"
kRepeatedSiteKeys="SOURCE UNCERTAIN LIMIT GPU_LIMIT CPU_LIMIT OPTION SETUP SERIAL_SETUP"

read_site() {
  local file="$jobs_folder/sites/$1.env" line key number=0
  [[ $1 != */* && -f $file ]] || fail "there is no site '$1' (known: $(list_sites))"
  site=([NAME]="$1" [FILE]="$file")
  for key in $kSiteKeys; do site[$key]=""; done
  while IFS= read -r line || [[ -n $line ]]; do
    ((number += 1))
    [[ -z $line || $line == "#"* ]] && continue
    key="${line%%=*}"
    [[ $line == *=* && " $kSiteKeys " == *" $key "* ]] ||
      fail "$file:$number: unknown key '$key' (known: $kSiteKeys)"
    if [[ " $kRepeatedSiteKeys " == *" $key "* ]]; then
      site[$key]+="${site[$key]:+$'\n'}${line#*=}"
    else
      [[ -z ${site[$key]} ]] || fail "$file:$number: $key is there twice"
      site[$key]="${line#*=}"
    fi
  done <"$file"
  : "${site[GPUS_PER_NODE]:=0}" "${site[THREADS_PER_CORE]:=1}" "${site[CPUS_RULE]:=free}"
  : "${site[REQUEUE]:=yes}" "${site[EXCLUSIVE]:=no}" "${site[OMP_BIND]:=spread}"
  : "${site[SCHEDULER]:=slurm}"
  [[ ${site[SCHEDULER]} == slurm || ${site[SCHEDULER]} == none ]] || fail "$file: SCHEDULER=${site[SCHEDULER]}: slurm or none was expected"
}
