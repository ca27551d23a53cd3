# shellcheck shell=bash disable=SC2154  # value, site, ... are of the other parts
# SPDX-License-Identifier: Apache-2.0
# What Slurm's accounting says of the user's accounts, before anything is queued: sbatch says only that the combination is
# wrong, and at the last job of a plan the others wait already. It may be that Slurm here does not insist: warnings.

associations="" # of this user on this cluster: ACCOUNT|PARTITION|QOS,QOS,... a line each; asked for once
associations_are_known=no

# Where there is no accounting, or it does not answer within seconds, nothing is known.
ask_associations() {
  local cluster
  [[ $associations_are_known == no ]] || return 0
  associations_are_known=yes
  cluster="$(timeout 5 scontrol show config 2>/dev/null | sed -n 's/^ClusterName *= *\([^ ]*\).*/\1/p')" || true
  associations="$(timeout 5 sacctmgr --noheader --parsable2 show associations "user=$(id -un)" ${cluster:+"cluster=$cluster"} \
    format=Account,Partition,QOS 2>/dev/null)" || associations=""
}

# column NUMBER: its words in the lines on standard input, each once, with commas between them.
column() { cut -d'|' -f"$1" | tr ',' '\n' | sed '/^$/d' | sort -u | paste -sd, | sed 's/,/, /g'; }

check_association() {
  local account="${value[ACCOUNT]}" partition="${value[PARTITION]}" qos="${value[QOS]}" mine known
  [[ $place == slurm && -n $account$qos ]] && command -v sacctmgr >/dev/null &&
    first_time "account $account $partition $qos" || return 0
  ask_associations
  [[ -n $associations ]] || return 0
  mine="$associations"
  if [[ -n $account ]]; then
    mine="$(awk -F'|' -v account="${account,,}" 'tolower($1) == account' <<<"$associations")"
    if [[ -z $mine ]]; then
      warn "ACCOUNT=$account: none of yours here, says Slurm's accounting, which knows $(column 1 <<<"$associations")"
      return
    fi
  fi
  if [[ -n $partition && $partition != *,* ]]; then
    known="$(column 2 <<<"$mine")"
    mine="$(awk -F'|' -v partition="$partition" '$2 == "" || $2 == partition' <<<"$mine")"
    if [[ -z $mine ]]; then
      warn "PARTITION=$partition: not yours${account:+ with ACCOUNT=$account}, says Slurm's accounting, which knows $known"
      return
    fi
  fi
  known="$(column 3 <<<"$mine")"
  [[ -z $qos || -z $known || ", $known, " == *", $qos, "* ]] || # without any, the accounting knows of no QOS
    warn "QOS=$qos: not yours${account:+ with ACCOUNT=$account}, says Slurm's accounting, which knows $known"
}
