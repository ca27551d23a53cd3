# shellcheck shell=bash disable=SC2154  # value, site, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# Fills a template. Placeholders are @KEY@. In #SBATCH lines and comments they stand for the value as
# it is, and a #SBATCH line whose value is empty is left out; elsewhere for the value quoted for the
# shell. A line "#@ FILE" is replaced by jobs/lib/job/FILE: a filled job needs nothing of this folder.

# The value of a repeated key, quoted, each with what the program wants before it. Trials are many: one a line.
quoted_list() {
  local item words=() IFS=" "
  [[ $1 != TRIALS ]] || IFS=$'\n'
  while IFS= read -r item; do
    [[ -n $item ]] || continue
    [[ $1 != SET && $1 != CHANGE ]] || words+=("--${1,,}")
    words+=("$(printf '%q' "$item")")
  done <<<"${value[$1]}"
  printf '%s' "${words[*]}"
}

filled_line() {
  local line="$1" raw="$2" key text rest=""
  while [[ $line =~ @([A-Z][A-Z0-9_]*)@ ]]; do
    key="${BASH_REMATCH[1]}"
    [[ -n ${value[$key]+known} ]] || fail "the template uses @$key@, which is no key of it"
    if [[ $raw == raw ]]; then
      text="${value[$key]}"
    elif [[ ${key_default[$key]:-} == *+ ]]; then
      text="$(quoted_list "$key")"
    elif [[ $key == SRUN || $key == GPU_STEP ]]; then
      text="${value[$key]}"
    else
      text="$(printf '%q' "${value[$key]}")"
    fi
    rest+="${line%%"${BASH_REMATCH[0]}"*}$text"
    line="${line#*"${BASH_REMATCH[0]}"}"
  done
  printf '%s\n' "$rest$line"
}

# Is a placeholder of this line empty?
lacks_value() {
  local line="$1"
  while [[ $line =~ @([A-Z][A-Z0-9_]*)@ ]]; do
    [[ -n ${value[${BASH_REMATCH[1]}]:-} ]] || return 0
    line="${line#*"${BASH_REMATCH[0]}"}"
  done
  return 1
}

# Functions of the job; their own licence and shellcheck lines would only be noise there.
included() {
  local file="$jobs_folder/lib/job/$1"
  [[ -f $file ]] || fail "the template includes $1, which is not in jobs/lib/job"
  sed -e '/^# shellcheck shell=/d' -e '/^# SPDX-License-Identifier/d' "$file"
}

setup_lines() {
  [[ -n ${value[SETUP]} ]] || return 0
  included setup.sh
  [[ ! $'\n'"${value[SETUP]}" =~ [^[:alnum:]_=](module|ml)[[:blank:]] ]] || printf 'find_modules\n'
  printf '%s\n' "${value[SETUP]}" "trap - ERR"
}

render() {
  local line
  while IFS= read -r line || [[ -n $line ]]; do
    case "$line" in
      "#: "* | "#:") ;;
      "#@ "*) included "${line#"#@ "}" ;;
      "# shellcheck disable"*) ;; # the filled job does not need it
      "#SBATCH @SBATCH@")
        [[ -z ${value[SBATCH]} ]] || printf '#SBATCH %s\n' "${value[SBATCH]//$'\n'/$'\n#SBATCH '}"
        ;;
      "#SBATCH "*) lacks_value "$line" || filled_line "$line" raw ;;
      "# @FILLED@")
        printf '# Filled by: %s\n# at %s, for site %s; quern: %s\n' "$command_line" \
          "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "${site[NAME]}" "$quern_version"
        ;;
      "@SETUP@") setup_lines ;;
      "#"*) filled_line "$line" raw ;;
      *) filled_line "$line" quoted ;;
    esac
  done <"$1"
}
