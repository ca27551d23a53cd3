# shellcheck shell=bash disable=SC2154,SC2034  # jobs_folder, site, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# What a user need not type: ~/.config/quern/jobs.env, lines KEY=value. Read, never executed. The command line wins.

kDefaultKeys="SITE ACCOUNT MAIL QUERN PYTHON"
defaults_file="${config_folder:+$config_folder/jobs.env}"
declare -A user_default

read_defaults() {
  local line key text number=0
  [[ -r $defaults_file && -f $defaults_file ]] || return 0
  while IFS= read -r line || [[ -n $line ]]; do
    ((number += 1))
    line="${line%$'\r'}"
    [[ -n $line && $line != "#"* ]] || continue
    key="${line%%=*}" text="${line#*=}"
    [[ $line == *=* && " $kDefaultKeys " == *" $key "* ]] ||
      fail "$defaults_file:$number: unknown key '$key' (known: $kDefaultKeys)"
    [[ -z ${user_default[$key]+given} ]] || fail "$defaults_file:$number: $key is there twice"
    [[ $text != \~/* ]] || text="${HOME:-}${text#\~}"
    [[ $text =~ $kDirectiveText ]] || fail "$defaults_file:$number: $key='$text': blanks and quotes cannot be in it"
    if [[ $key == SITE ]]; then
      ! is_site_path "$text" || [[ $text == /* ]] ||
        fail "$defaults_file:$number: SITE=$text: a name was expected, or a path that begins with / or ~/"
      find_site "$text" >/dev/null || fail "$defaults_file:$number: $(no_site "$text")"
    fi
    user_default[$key]="$text"
  done <"$defaults_file"
}

# site_of_user TEMPLATE: the site where the command line names none: of the user's file, or the only one whose HOSTS
# this machine's name fits.
site_of_user() {
  local name machine="" pattern found=() reason="this machine's name fits none"
  if [[ -n ${user_default[SITE]:-} ]]; then
    printf '%s\n' "${user_default[SITE]}"
    return
  fi
  machine="$(hostname -f 2>/dev/null || hostname 2>/dev/null)" || true
  for name in $(list_sites); do
    while read -r pattern; do
      # shellcheck disable=SC2053  # a pattern is meant
      [[ $machine != $pattern ]] || found+=("$name")
    done < <(sed -n 's/^HOSTS=//p' "$(find_site "$name")" | tr -d '\r' | tr ' ' '\n')
  done
  if ((${#found[@]} == 1)); then
    printf '%s\n' "${found[0]}"
    return
  fi
  ((${#found[@]} == 0)) || reason="this machine's name fits ${#found[@]} (${found[*]})"
  fail "no site is given, and $reason: ${jobs_prefix}submit SITE $1 ..., or SITE=NAME in ${defaults_file:-~/.config/quern/jobs.env} \
(sites: $(list_sites))"
}

# names_no_site WORD...: is the first word a template, where a site was expected?
names_no_site() {
  [[ -n ${1:-} ]] && ! is_site_path "$1" && ! find_site "$1" >/dev/null &&
    [[ -f $jobs_folder/templates/$1.sbatch || -f $jobs_folder/templates/$1.plan.sh ]]
}

# add_defaults WORD...: fills `defaults` with KEY=VALUE for keys that the template knows and the words lack. An account
# belongs to the site of the file; variables that programs obey were set for this shell.
add_defaults() {
  local key
  defaults=()
  for key in ACCOUNT MAIL QUERN PYTHON; do
    [[ -n ${user_default[$key]:-} && -n ${key_type[$key]:-} ]] || continue
    [[ " $(printf '%s ' "${@%%=*}")" != *" $key "* ]] || continue
    case "$key" in
      ACCOUNT) if [[ -n ${SBATCH_ACCOUNT:-} ]] || ! is_site_of_user; then continue; fi ;;
      MAIL) [[ ${site[SCHEDULER]:-slurm} == slurm ]] || continue ;;
      QUERN) [[ -z ${QUERN:-} ]] || continue ;;
    esac
    defaults+=("$key=${user_default[$key]}")
  done
}

# Is it the site of the user's file, if that names one?
is_site_of_user() { [[ -z ${user_default[SITE]:-} || $(find_site "${user_default[SITE]}") == "${site[FILE]}" ]]; }

# tell_defaults: what was not on the command line.
tell_defaults() {
  local from_file=("${defaults[@]}")
  if [[ $site_is_given == no ]]; then
    if [[ -n ${user_default[SITE]:-} ]]; then
      from_file=("SITE=${site[NAME]}" "${from_file[@]}")
    else
      note "site ${site[NAME]}: by the name of this machine"
    fi
  fi
  ((${#from_file[@]} == 0)) || note "${from_file[*]}: from $defaults_file"
}
