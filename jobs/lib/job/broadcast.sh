# shellcheck shell=bash disable=SC2154  # the variables of the parameter block
# SPDX-License-Identifier: Apache-2.0

# With BCAST=FOLDER the ranks run a copy of the program that lies on a disk of their node, with its libraries: Slurm
# sends them from node to node, and the nodes of a large job do not all read them from a shared file system when they
# start. One file for all: sbcast --send-libs (Slurm 22.05) mixes up the libraries of two files of a job.

copies="" # folder of the copies, of the same name on all nodes

on_each_node() {
  local count="${SLURM_JOB_NUM_NODES:-1}"
  timeout 120 "${launch[@]}" --nodes="$count" --ntasks="$count" --ntasks-per-node=1 "$@"
}

# broadcast_program: where that fails the ranks run the program where it is.
broadcast_program() {
  local program said
  [[ -n $bcast ]] || return 0
  program="$(readlink -f "$(command -v "$quern")")" && [[ -f $program ]] || return 0 # preflight says why it does not start
  if [[ "$(head -c 2 "$program" | tr -d '\0')" == "#!" ]]; then
    say "BCAST: $quern is a script, and runs where it is"
    return
  fi
  copies="$bcast/quern-$SLURM_JOB_ID-${SLURM_RESTART_COUNT:-0}"
  trap remove_copies EXIT
  if ! said="$(make_copies "$program" 2>&1)"; then
    say "BCAST: no copies in $bcast (${said//$'\n'/; }): $quern runs where it is"
    remove_copies
    return
  fi
  say "BCAST: the ranks run $copies/bin/quern"
  quern="$copies/start"
}

# On each node. Whoever could write there before us could have us run another program. Copies of an earlier start, which
# Slurm ended, go.
# shellcheck disable=SC2016  # for the shells of the nodes
make_folder='umask 077
for ((start = 0; start < ${SLURM_RESTART_COUNT:-0}; ++start)); do rm -rf "${0%-*}-$start"; done
mkdir "$0" || [[ -O $0 && ! -L $0 ]] || exit
mkdir -p "$0/of/$SLURMD_NODENAME"'

# make_copies PROGRAM
make_copies() {
  on_each_node bash -c "$make_folder" "$copies" || return
  if (($(find "$copies/of" -mindepth 1 | wc -l) != 1)); then
    echo "it is no folder of each node's own"
    return 1
  fi
  collect_files "$1" "$copies/links" && tar -C "$copies/links" -chf "$copies/made.tar" . &&
    timeout 600 sbcast --force "$copies/made.tar" "$copies/sent.tar" &&
    on_each_node tar -C "$copies" -xf "$copies/sent.tar" &&
    on_each_node rm -rf "$copies/sent.tar" "$copies/made.tar" "$copies/links"
}

# collect_files PROGRAM FOLDER: links to what it needs. An installation for several processors has a launcher, and the
# programs that it chooses from. Libraries of the system are on each node.
collect_files() {
  local program name path
  mkdir -p "$2/bin" "$2/lib" "$2/libexec/quern" && ln -s "$1" "$2/bin/quern" || return
  # Only for the ranks: commands of Slurm take their own libraries. srun --export leaves alone what is set.
  # shellcheck disable=SC2016  # for the shells of the ranks
  printf '#!/bin/sh\nexport LD_LIBRARY_PATH="%s/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\nexec "%s/bin/quern" "$@"\n' \
    "$copies" "$copies" >"$2/start" && chmod +x "$2/start" || return
  for program in "$1" "${1%/*}"/../libexec/quern/quern-*; do
    [[ -x $program ]] || continue
    [[ $program == "$1" ]] || ln -s "$(readlink -f "$program")" "$2/libexec/quern/${program##*/}" || return
    while read -r name path; do
      case "$path" in /lib/* | /lib64/* | /usr/lib/* | /usr/lib64/*) continue ;; esac
      [[ -e $2/lib/$name ]] || ln -s "$path" "$2/lib/$name" || return
    done < <(ldd "$program" 2>/dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => \(\/.*\) (0x[0-9a-f]*)$/\1 \2/p')
  done
}

# Before the job ends, and before it is requeued, which ends this script. What Slurm kills leaves them behind.
remove_copies() {
  [[ -n $copies ]] || return 0
  on_each_node rm -rf "$copies" >/dev/null 2>&1 || say "BCAST: $copies may still be there on some nodes"
  copies=""
}
