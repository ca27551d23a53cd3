# shellcheck shell=bash disable=SC2154  # kRoot and kMinimumKokkos are of common.sh
# SPDX-License-Identifier: Apache-2.0
# Kokkos from Debian's own archive. Debian's stable releases have none that is new enough, but
# unstable has, and apt can take a single package from there. The suites are added in a private apt
# configuration made from the machine's own mirror entry: the machine's sources stay as they are.

# One line a package index of the machine's own sources:
# codename|origin|component|suite|address|where it stands. Nothing before the first apt-get update.
apt_indexes() {
  # shellcheck disable=SC2016  # apt-get expands $(...) itself
  apt-get indextargets --format \
    '$(CODENAME)|$(ORIGIN)|$(COMPONENT)|$(RELEASE)|$(REPO_URI)|$(SOURCESENTRY)' \
    'Created-By: Packages' 2>/dev/null
}

# The codename of the Debian release this machine follows; nothing on another distribution. Not
# from /etc/os-release: that names the next release after the step below.
debian_codename() {
  apt_indexes | awk -F'|' '$2 == "Debian" &&
    $1 ~ /^(bookworm|trixie|forky|duke|sid)$/ { print $1; exit }'
}

# The candidate version of libkokkos-dev in the machine's own sources, if it is new enough.
own_kokkos_candidate() {
  local version
  version="$(apt-cache policy libkokkos-dev 2>/dev/null | sed -n 's/^ *Candidate: //p')"
  if [[ -n $version && $version != '(none)' ]] &&
    version_at_least "${version#*:}" "$kMinimumKokkos"; then
    printf '%s\n' "$version"
  fi
}

# The options in brackets for a source line: how the machine verifies the entry in file $1.
source_options() {
  local key
  if grep -qiE '^Trusted: *yes|\[[^]]*trusted=yes' "$1" 2>/dev/null; then
    printf '[trusted=yes] '
    return
  fi
  key="$(sed -nE 's/^Signed-By: *(\/[^ ]+).*/\1/Ip; s/.*\[[^]]*signed-by=(\/[^] ,]+).*/\1/Ip' \
    "$1" 2>/dev/null | head -n 1)"
  [[ -n $key ]] || key=/usr/share/keyrings/debian-archive-keyring.gpg
  [[ -e $key ]] && printf '[signed-by=%s] ' "$key"
  return 0
}

# Adds to the options $1 that a mirror which is not updated every week will do: unstable's index
# says that it is good for a week, and site mirrors are often older. Its signature is verified, but
# not where the machine's own entry says trusted=yes.
patient() {
  local limit='valid-until-min=31536000] '
  if [[ -z $1 ]]; then printf '[%s' "$limit"; else printf '%s %s' "${1%] }" "$limit"; fi
}

# write_private_apt FOLDER CODENAME: sources, pins and apt.conf in FOLDER.
write_private_apt() {
  local folder="$1" codename="$2" name component suite address entry options added priority
  mkdir -p "$folder/lists/partial" "$folder/preferences.d"
  : >"$folder/sources.list"
  : >"$folder/preferences"
  while IFS='|' read -r name _ component suite address entry; do
    [[ $name == "$codename" || $name == "$codename"-* ]] || continue
    options="$(source_options "${entry%:*}")"
    printf 'deb %s%s %s %s\n' "$options" "$address" "$suite" "$component" >>"$folder/sources.list"
    printf 'Package: *\nPin: release n=%s\nPin-Priority: 900\n\n' "$name" >>"$folder/preferences"
    if [[ $name == "$codename" && $component == main ]]; then
      for added in trixie sid; do
        [[ $added == "$codename" || ($added == trixie && $codename != bookworm) ]] && continue
        priority=100
        [[ $added == trixie ]] && priority=200
        printf 'deb %s%s %s main\n' "$(patient "$options")" "$address" "$added" \
          >>"$folder/sources.list"
        printf 'Package: *\nPin: release n=%s\nPin-Priority: %s\n\n' "$added" "$priority" \
          >>"$folder/preferences"
      done
    fi
  done < <(apt_indexes)
  cat >"$folder/apt.conf" <<CONF
Dir::Etc::SourceList "$folder/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "$folder/preferences";
Dir::Etc::PreferencesParts "$folder/preferences.d";
Dir::State::Lists "$folder/lists";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
CONF
  chmod -R a+rX "$folder"
}

# Which release the dependencies of unstable's package may be taken from.
target_release() { if [[ $1 == bookworm ]]; then echo trixie; else echo "$1"; fi; }

# describe_plan PLAN: prints what apt would replace; fails when it would remove something.
describe_plan() {
  local replaced
  if grep -q '^Remv ' <<<"$1"; then
    grep '^Remv ' <<<"$1" >&2
    return 1
  fi
  replaced="$(sed -nE 's/^Inst ([^ ]+) \[([^]]+)\] \(([^ ]+) .*/  \1 \2 -> \3/p' <<<"$1")"
  if [[ -n $replaced ]]; then
    say "$(wc -l <<<"$replaced") system packages would be replaced by newer ones:"
    say "$replaced"
  fi
}

replaces_packages() { grep -qE '^Inst [^ ]+ \[' <<<"$1"; }

# The package's CMake files name static archives that it does not ship, empty by design;
# find_package fails without them.
complete_kokkos_archives() {
  local folder archive
  folder="$(kokkos_dir_below /usr)"
  [[ -n $folder ]] || return 0
  while read -r archive; do
    if [[ ! -e /usr/$archive ]]; then
      say "making the empty archive /usr/$archive that the Kokkos package leaves out"
      as_root ar rcs "/usr/$archive" || fail "cannot make /usr/$archive"
    fi
  done < <(sed -nE 's/.*IMPORTED_LOCATION[A-Z_]* "\$\{_IMPORT_PREFIX\}\/(.*\.a)".*/\1/p' \
    "$folder"/KokkosTargets-*.cmake)
}

system_kokkos_lacks_archives() {
  local folder archive
  folder="$(kokkos_dir_below /usr)"
  while read -r archive; do
    [[ -e /usr/$archive ]] || return 0
  done < <(sed -nE 's/.*IMPORTED_LOCATION[A-Z_]* "\$\{_IMPORT_PREFIX\}\/(.*\.a)".*/\1/p' \
    "$folder"/KokkosTargets-*.cmake)
  return 1
}

# What it means to take a package from unstable, with apt's plan $1, on the release $2.
explain_unstable() {
  describe_plan "$1" || return 1
  if replaces_packages "$1"; then
    cat <<WHAT
This cannot be undone: Debian supports no way back to the older packages. And it ends the security
updates of the replaced packages: those of $2 are older than what will be installed, and apt's
sources stay as they are. Only an upgrade of the whole system to the next Debian release brings
updates again. Meant for containers and throw-away machines.
WHAT
  else
    say "Nothing on this system is replaced. Debian makes no security updates for unstable's packages."
  fi
}

# install_kokkos_from_unstable CODENAME SCRATCH
install_kokkos_from_unstable() {
  local codename="$1" folder="$2/apt" plan options
  write_private_apt "$folder" "$codename"
  as_root apt-get -c "$folder/apt.conf" -qq update ||
    fail "the machine's Debian mirror gives no usable package list of 'sid' (apt's reason is
above). $(other_ways)"
  options=(-c "$folder/apt.conf" -t "$(target_release "$codename")" --no-install-recommends)
  plan="$(as_root apt-get "${options[@]}" -s install libkokkos-dev)" ||
    fail "apt finds no way to install libkokkos-dev from Debian unstable. $(other_ways)"
  explain_unstable "$plan" "$codename" || fail "apt would remove packages; refused. $(other_ways)"
  if replaces_packages "$plan"; then
    confirm_replacement
  fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" -qq -y \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold \
    install libkokkos-dev </dev/null >"$folder/log" 2>&1 || {
    tail -n 30 "$folder/log" >&2
    fail "apt could not install libkokkos-dev (its last lines are above). $(other_ways)"
  }
}
