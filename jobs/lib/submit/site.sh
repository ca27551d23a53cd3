# shellcheck shell=bash disable=SC2154,SC2034  # jobs_folder, reading, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# A site's facts: a file NAME.env, lines KEY=value. Read, never executed; what the keys mean is told in
# jobs/README.md. Files of $QUERN_SITES and of the user's come before those of jobs/sites.

declare -A site
# KEY=TYPE of the values, as in values.sh
kSiteKeys="TITLE=text HOSTS=text SOURCE=text CHECKED=text UNCERTAIN=text ACCOUNT=required|optional \
ACCOUNT_HINT=text PARTITION=word QOS=word CONSTRAINT=word LIMIT=limit TIME=time/UNLIMITED CPUS_PER_NODE=count \
CPUS_PER_GPU=count CPUS_RULE=exact|multiple|min|free THREADS_PER_CORE=count GPUS_PER_NODE=number \
GPU_REQUEST=request GPU_STEP=request MEM_FULL_NODE=memory EXCLUSIVE=yes/no \
HINT=compute_bound|memory_bound|multithread|nomultithread SRUN=options OMP_BIND=spread|close|none|program \
REQUEUE=yes/no SETUP=text SERIAL_PARTITION=word SERIAL_QOS=word SERIAL_CONSTRAINT=word SERIAL_CPUS=count \
SERIAL_GPUS=number SERIAL_SETUP=text MAX_ARRAY=count SCHEDULER=slurm|none RANKS_PER_NODE=count GPU_LIMIT=share \
CPU_LIMIT=share GPU_ACCOUNT_END=word OPTION=options UENV=yes/no BCAST=disk"
kRepeatedSiteKeys="SOURCE UNCERTAIN LIMIT GPU_LIMIT CPU_LIMIT OPTION SETUP SERIAL_SETUP"

# Where a site's name is looked for, in this order.
site_folders=()
find_site_folders() {
  local folder folders
  IFS=: read -r -a folders <<<"${QUERN_SITES:-}"
  for folder in "${folders[@]}" "${config_folder:+$config_folder/sites}" "$jobs_folder/sites"; do
    [[ -z $folder ]] || site_folders+=("$(absolute "$folder")")
  done
}
find_site_folders

is_site_path() { [[ $1 == */* || $1 == *.env ]]; }

# find_site NAME_OR_PATH: its file.
find_site() {
  local folder file="$1"
  if is_site_path "$1"; then
    [[ -f $file ]] || file+=.env
    [[ -f $file ]] && absolute "$file"
    return
  fi
  for folder in "${site_folders[@]}"; do
    file="$folder/$1.env"
    [[ -n $1 && -f $file ]] && printf '%s\n' "$file" && return
  done
  return 1
}

list_sites() {
  local folder
  for folder in "${site_folders[@]}"; do names_in "$folder" .env; done | tr ' ' '\n' | sed '/^$/d' | sort -u | paste -sd' '
}

# no_site NAME_OR_PATH: what to say where there is none.
no_site() {
  local folders
  printf -v folders ', %s' "${site_folders[@]}"
  if is_site_path "$1"; then
    printf "there is no site '%s': no such file, from %s (known by name: %s)" "$1" "$PWD" "$(list_sites)"
  else
    printf "there is no site '%s' (known: %s; looked for in %s)" "$1" "$(list_sites)" "${folders#, }"
  fi
}

read_site() {
  local file line key text entry known=() number=0
  local -A type=()
  file="$(find_site "$1")" || fail "$(no_site "$1")"
  [[ $file =~ ^[^[:cntrl:]]*/[A-Za-z0-9_.+-]+$ ]] ||
    fail "the site file '$file': a name of letters, digits and _.+- was expected"
  [[ -r $file ]] || fail "cannot read the site file $file"
  site=([NAME]="$(basename "$file" .env)" [FILE]="$file")
  for entry in $kSiteKeys; do
    key="${entry%%=*}"
    known+=("$key")
    type[$key]="${entry#*=}" site[$key]=""
  done
  while IFS= read -r line || [[ -n $line ]]; do
    ((number += 1))
    reading="$file:$number"
    line="${line%"${line##*[![:space:]]}"}" # blanks, and the CR of line ends from Windows
    [[ -z $line || $line == "#"* ]] && continue
    key="${line%%=*}" text="${line#*=}"
    [[ $line == *=* && $key =~ ^[A-Z_]+$ && -n ${type[$key]:-} ]] ||
      fail "unknown key '$key' (known: ${known[*]})"
    check_value "$key" "${type[$key]}" "$text"
    [[ ! $key=$text =~ ^OPTION=(--clu|-M) ]] ||
      fail "$key=$text: squeue and scancel would ask another cluster: SLURM_CLUSTERS in the user's shell was expected"
    if [[ " $kRepeatedSiteKeys " == *" $key "* ]]; then
      site[$key]+="${site[$key]:+$'\n'}$text"
    else
      [[ -z ${site[$key]} ]] || fail "$key is there twice"
      site[$key]="$text"
    fi
  done <"$file"
  : "${site[GPUS_PER_NODE]:=0}" "${site[THREADS_PER_CORE]:=1}" "${site[CPUS_RULE]:=free}"
  : "${site[REQUEUE]:=yes}" "${site[EXCLUSIVE]:=no}" "${site[OMP_BIND]:=spread}"
  : "${site[SCHEDULER]:=slurm}"
  reading="$file"
  [[ -n ${site[LIMIT]} ]] || fail "LIMIT is missing: a line such as LIMIT=*:* 1-1000 UNLIMITED was expected"
  [[ ${site[CPUS_RULE]} == free || -n ${site[CPUS_PER_GPU]} ]] ||
    fail "CPUS_RULE=${site[CPUS_RULE]}: CPUS_PER_GPU is missing, the number that the rule is about"
  reading=""
}
