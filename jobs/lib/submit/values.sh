# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The types of values, and Slurm's times as seconds.

# What a #SBATCH line may hold: it knows no quotes that we could rely on.
kDirectiveText='^[]A-Za-z0-9_./:,=&|+*()[@-]*$'

# Jobs to wait for, as sbatch --dependency names them; without a kind, AFTER means afterok.
kJob='[1-9][0-9]{0,9}([_+][0-9]{1,9})?'
kJobs="((after|afterok|afterany|afternotok|aftercorr):)?$kJob(:$kJob)*"

future_folders=""

# seconds_of TIME: of M, M:S, H:M:S, D-H, D-H:M or D-H:M:S; fails on anything else.
seconds_of() {
  local time="$1" days=0 parts=() part
  if [[ $time =~ ^([0-9]{1,6})-(.+)$ ]]; then
    days="${BASH_REMATCH[1]}"
    time="${BASH_REMATCH[2]}"
    IFS=: read -r -a parts <<<"$time"
    while ((${#parts[@]} < 3)); do parts+=(0); done
  else
    IFS=: read -r -a parts <<<"$time"
    case ${#parts[@]} in
      1) parts=(0 "${parts[0]}" 0) ;;
      2) parts=(0 "${parts[0]}" "${parts[1]}") ;;
    esac
  fi
  ((${#parts[@]} == 3)) || return 1
  for part in "${parts[@]}"; do [[ $part =~ ^[0-9]{1,6}$ ]] || return 1; done
  printf '%d\n' $((((10#$days * 24 + 10#${parts[0]}) * 60 + 10#${parts[1]}) * 60 + 10#${parts[2]}))
}

is_time() {
  local seconds
  seconds="$(seconds_of "$1")" && ((seconds > 0))
}

# is_longer TIME OTHER: is it? Both may be UNLIMITED.
is_longer() {
  [[ $2 != UNLIMITED ]] || return 1
  [[ $1 == UNLIMITED ]] || (($(seconds_of "$1") > $(seconds_of "$2")))
}

# is_rule TEXT WORDS: of a site, PARTITION[:QOS] FIRST-LAST and, of three words, a time.
is_rule() {
  local words
  read -r -a words <<<"$1"
  ((${#words[@]} == $2)) && [[ ${words[0]} =~ $kDirectiveText ]] || return 1
  [[ ${words[1]} =~ ^(0|[1-9][0-9]{0,8})-([1-9][0-9]{0,8})$ ]] || return 1
  ((BASH_REMATCH[1] <= BASH_REMATCH[2])) || return 1
  (($2 == 2)) || [[ ${words[2]} == UNLIMITED ]] || is_time "${words[2]}"
}

# spoken_time TIME: 12:00 is "12 min", 12:00:00 is "12 h".
spoken_time() {
  local -i seconds hours minutes
  [[ $1 != UNLIMITED ]] || { echo "as long as it takes" && return; }
  [[ -n $1 ]] || { echo "as long as Slurm lets it" && return; }
  seconds="$(seconds_of "$1")"
  hours=$((seconds / 3600)) minutes=$((seconds / 60 % 60)) seconds=$((seconds % 60))
  local text=""
  ((hours == 0)) || text+="$hours h "
  ((minutes == 0)) || text+="$minutes min "
  ((seconds == 0)) || text+="$seconds s "
  printf '%s\n' "${text% }"
}

# check_value KEY TYPE VALUE
check_value() {
  local key="$1" type="$2" value="$3"
  [[ -n $value ]] || return 0
  [[ $value != *$'\n'* ]] || fail "$key: a value of one line was expected"
  case "$type" in
    count) [[ $value =~ ^[1-9][0-9]{0,8}$ ]] || fail "$key=$value: a number from 1 on was expected" ;;
    number) [[ $value =~ ^(0|[1-9][0-9]{0,8})$ ]] || fail "$key=$value: a number from 0 on was expected" ;;
    counts)
      [[ $value =~ ^[1-9][0-9]{0,5}([, ][1-9][0-9]{0,5})*$ ]] ||
        fail "$key=$value: numbers with commas between them were expected, such as 1,2,4"
      ;;
    time) is_time "$value" || fail "$key=$value: a time of Slurm was expected: minutes, HH:MM:SS or D-HH:MM:SS" ;;
    time/UNLIMITED)
      [[ $value == UNLIMITED ]] || is_time "$value" ||
        fail "$key=$value: a time of Slurm was expected: minutes, HH:MM:SS, D-HH:MM:SS or UNLIMITED"
      ;;
    memory) [[ $value =~ ^[0-9]{1,12}[KMGTkmgt]?[Bb]?$ ]] || fail "$key=$value: memory was expected, such as 480G (without a unit: MB)" ;;
    limit)
      is_rule "$value" 3 || fail "$key=$value: PARTITION[:QOS] FIRST-LAST TIME was expected, nodes and a time of Slurm \
or UNLIMITED, such as main 1-64 1-00:00:00"
      ;;
    share) is_rule "$value" 2 || fail "$key=$value: PARTITION[:QOS] FIRST-LAST was expected, such as main 1-4" ;;
    options) [[ $value =~ ^--?[A-Za-z] ]] || fail "$key=$value: an option was expected, --name=value" ;;
    request)
      [[ $value =~ ^--[a-z] && ${value//@GPUS@/} != *@* ]] ||
        fail "$key=$value: an option with @GPUS@ for the number of devices was expected, such as --gpus-per-node=@GPUS@"
      ;;
    word) [[ $value =~ $kDirectiveText ]] || fail "$key='$value': blanks and quotes cannot be in it" ;;
    path)
      [[ $value =~ ^[A-Za-z0-9_./:,=+@-]+$ ]] ||
        fail "$key='$value': a path of letters, digits and _./:,=+@- was expected (Slurm's lines \
cannot hold blanks, and %x stands for something else there)"
      ;;
    disk) [[ $value =~ ^/[A-Za-z0-9_./+=@-]+$ ]] || fail "$key=$value: the path of a folder on each node's own disk was expected, such as /tmp" ;;
    file) [[ -f $value && -r $value ]] || fail "$key=$value: there is no such file (from $PWD)" ;;
    folder | folders)
      # Earlier jobs of the same plan will make it.
      [[ -d $value || $'\n'$future_folders$'\n' == *$'\n'"$value"$'\n'* ]] || fail "$key=$value: there is no such folder (from $PWD)"
      ;;
    after)
      [[ $value =~ ^$kJobs(,$kJobs)*$ ]] ||
        fail "$key=$value: job ids with commas between them were expected, or dependencies such as afterany:4711"
      ;;
    comment) [[ $value != *[\\\"\'\`\$\#[:cntrl:]]* ]] || fail "$key='$value': none of \\ \" ' \` \$ # can be in it" ;;
    yes/no) [[ $value == yes || $value == no ]] || fail "$key=$value: yes or no was expected" ;;
    setting) [[ $value == *=* ]] || fail "$key=$value: key.path=value was expected, as after --set" ;;
    option)
      [[ $value == --* ]] || fail "$key=$value: an option of sbatch was expected, --name=value"
      check_option "$value"
      ;;
    text) ;;
    *\|*) [[ "|$type|" == *"|$value|"* ]] || fail "$key=$value: one of ${type//|/, } was expected" ;;
    *) fail "the key $key has the unknown type '$type'" ;;
  esac
}
