# shellcheck shell=bash disable=SC2154,SC2034  # value, pass, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# The recipe and its settings, asked of the program before anything waits in a queue. It needs no data for that: the
# jobs of a plan may still have to make them.

asked_about="" # what was found good: the jobs of a chain ask the same

# question FOLDER RANKS SETTING...: a command line for run_with_program.
question() {
  local folder="$1" item words
  words=(train "${value[RECIPE]}" --check-recipe --ranks "$2")
  shift 2
  for item in "$@"; do words+=(--set "$item"); done
  while IFS= read -r item; do [[ -z $item ]] || words+=(--change "$item"); done <<<"${value[CHANGE]:-}"
  # Of those that train there: it may hold another run.
  [[ -z ${value[MAX_RESTARTS]:-} ]] || words+=(--run-dir "$folder" --resume "${value[RESUME]:-auto}")
  # shellcheck disable=SC2016  # for that shell
  printf '"$0"'
  printf ' %q' "${words[@]}"
  printf ' || exit $?\n'
}

check_recipe() {
  local questions="" said status=0 good warning settings=() words lines ranks="${value[TOTAL_RANKS]:-1}"
  [[ $pass == check && -n ${value[RECIPE]:-} && $quern_version != unknown ]] || return 0
  mapfile -t settings < <([[ -z ${value[SET]} ]] || printf '%s\n' "${value[SET]}")
  case "${value[MODE]:-}" in
    strong) settings+=("data.global_batch=${value[BATCH]}") ;;
    weak) settings+=("data.batch_per_rank=${value[BATCH]}") ;;
  esac
  mapfile -t lines <<<"${value[TRIALS]:-}" # of a sweep, each with settings of its own
  for good in "${!lines[@]}"; do
    read -r -a words <<<"${lines[good]}"
    [[ -z ${value[TRIALS]:-} || -n ${lines[good]} ]] || continue
    questions+="$(question "${value[HOME_DIR]}${value[TRIALS]:+/trial-$good}" \
      "$((ranks / ${value[TRIALS_PER_JOB]:-1}))" "${settings[@]}" "${words[@]}")"$'\n'
  done
  [[ $questions != "$asked_about" ]] || return 0
  ((${#lines[@]} < 100)) || note "sweep: checking the settings of ${#lines[@]} trials"
  # Not as an argument: Linux takes 128 KiB, which are some 600 trials.
  said="$(run_with_program "source /dev/fd/3" 2>&1 3<<<"$questions")" || status=$?
  if ((status == 0)); then
    asked_about="$questions"
    while IFS= read -r warning; do warn "$warning"; done < <(sed -n 's/^quern: warning: //p' <<<"$said" | sort -u)
  elif ((status == 2)) && [[ $said != *--check-recipe* ]]; then
    good="$(grep -c '^good: ' <<<"$said" || true)"
    fail "${value[TRIALS]:+trial $good of ${value[GRID]} (${lines[good]}): }$(sed -n '/^quern: error: /,$p' <<<"$said" |
      sed '1s/^quern: error: //')"
  else # a program of another version, which does not know the question
    warn "the recipe is not checked: ${value[QUERN]} says '$(tail -n 1 <<<"$said")'"
  fi
}
