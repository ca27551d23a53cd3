# shellcheck shell=bash disable=SC2154,SC2034  # jobs_folder is of jobs/submit
# SPDX-License-Identifier: Apache-2.0
# The keys of a template: declared at its top, given on the command line, checked.
#
#   #: KEY type default description       default: ! required, - empty, + may be given repeatedly, !+ both
#   #: include FILE                       of jobs/keys or jobs/templates
#   #: without KEY...                     of those: what the plan itself decides
#   #: home KEY                           the folder that keeps job/ and log/
#   #: kind serial                        one process; without this line: ranks on nodes

declare -A key_type key_default key_text value
declare -A dropped # keys that were given empty: without what would be filled in
declare -a key_order
home_key=""
job_kind=""

declare_keys() {
  key_type=() key_default=() key_text=() value=() dropped=() key_order=() home_key="" job_kind=parallel
  add_keys "$1"
}

add_keys() {
  local file="$1" mark name type default text
  while read -r mark name type default text; do
    [[ $mark == "#:" ]] || continue
    case "$name" in
      include)
        if [[ -f $jobs_folder/keys/$type ]]; then
          add_keys "$jobs_folder/keys/$type"
        else
          add_keys "$jobs_folder/templates/$type"
        fi
        ;;
      without) drop_keys "$type" "$default" "$text" ;;
      home) home_key="$type" ;;
      kind) job_kind="$type" ;;
      *)
        [[ -n ${key_type[$name]:-} ]] || key_order+=("$name")
        key_type[$name]="$type"
        key_default[$name]="$default"
        key_text[$name]="$text"
        ;;
    esac
  done <"$file"
}

drop_keys() {
  local key left=()
  for key in "${key_order[@]}"; do
    if [[ " $* " == *" $key "* ]]; then unset "key_type[$key]"; else left+=("$key"); fi
  done
  key_order=("${left[@]}")
}

known_keys() { printf '%s\n' "${key_order[*]}"; }

# The known key that looks most like the unknown one: same letters at its start, or none.
nearest_key() {
  local key best="" length=0 n
  for key in "${key_order[@]}"; do
    n=0
    while ((n < ${#key})) && [[ ${key:n:1} == "${1:n:1}" ]]; do ((n += 1)); done
    ((n > length)) && length=$n best="$key"
  done
  ((length >= 2)) && printf ' (did you mean %s?)' "$best"
  return 0
}

# take_values KEY=VALUE...: repeated values are joined by newlines.
take_values() {
  local given key text name missing=()
  for given in "$@"; do
    [[ $given == *=* ]] || fail "'$given': KEY=VALUE was expected"
    key="${given%%=*}"
    text="${given#*=}"
    [[ $key =~ ^[A-Za-z0-9_]+$ && -n ${key_type[$key]:-} ]] ||
      fail "unknown key '$key'$(nearest_key "${key^^}"); known keys: $(known_keys)"
    check_value "$key" "${key_type[$key]}" "$text"
    if [[ ${key_default[$key]} == *+ ]]; then
      value[$key]+="${value[$key]:+$'\n'}$text"
    elif [[ -n ${value[$key]+given} ]]; then
      fail "the key $key is given twice"
    else
      value[$key]="$text"
      [[ -n $text ]] || dropped[$key]=yes
    fi
  done
  for name in "${key_order[@]}"; do
    case "${key_default[$name]}" in
      "!" | "!+") [[ -n ${value[$name]:-} ]] || missing+=("$name") ;;
      - | +) : "${value[$name]:=}" ;;
      # A job can do without a limit of its own, and not without a number of nodes.
      *) [[ $name == TIME && -n ${dropped[TIME]:-} ]] || : "${value[$name]:=${key_default[$name]}}" ;;
    esac
  done
  ((${#missing[@]} == 0)) || fail "missing: ${missing[*]} (known keys: $(known_keys))"
}

# What the site and the template fill in where the user gives nothing.
show_site_values() {
  local name
  for name in "${key_order[@]}"; do value[$name]="${key_default[$name]#[-!+]}"; done
  "resolve_$job_kind"
  check_queue
  [[ ! -v value[REQUEUE] ]] || value[REQUEUE]="${site[REQUEUE]}"
  for name in "${key_order[@]}"; do printf '%s=%s\n' "$name" "${value[$name]}"; done
}

print_keys() {
  local name default line
  local -A filled
  while IFS= read -r line; do filled[${line%%=*}]="${line#*=}"; done < <(show_site_values 2>/dev/null)
  for name in "${key_order[@]}"; do
    default="${key_default[$name]}"
    case "$default" in
      "!" | "!+") default=required ;;
      -) default="${filled[$name]:-}" ;;
      +) default="repeatable" ;;
      *) default="${filled[$name]:-$default}" ;;
    esac
    printf '%-17s %-12s %s\n' "$name" "$default" "${key_text[$name]}"
  done
}
