# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

# The step of the newest checkpoint of the run folder $1, -1 without any.
newest_step() {
  local file name newest=-1
  for file in "$1"/checkpoints/ckpt-*.h5; do
    name="${file##*/ckpt-}"
    name="${name%.h5}"
    [[ $name =~ ^[0-9]+$ ]] && ((10#$name > newest)) && newest=$((10#$name))
  done
  printf '%d\n' "$newest"
}

newest_text() {
  local step
  step="$(newest_step "$1")"
  ((step < 0)) && echo "no checkpoint yet" || echo "newest checkpoint: step $step"
}

# files_like PATTERN FOLDER [tests of find]: a line each, which is another one when the file is written again.
files_like() { find "${@:2}" -name "$1" -printf '%f %T@ %s\n' 2>/dev/null || true; }

# The checkpoints of the run folder $1. Not by their steps: where the newest one is damaged, the program goes on from an
# older one and writes those between.
checkpoints_of() { files_like 'ckpt-*.h5' "$1/checkpoints"; }

# Has the list on standard input a line that the list $1 has not? It may be too long for an argument of grep.
lists_more_than() { grep -qvxF -f <(printf '%s\n' "$1"); }

# Has the run in folder $1 a checkpoint that is not in the list $2? No clocks are compared: nodes and file servers have
# their own. No pipe, whose status would be that of find under pipefail.
has_new_checkpoint() { lists_more_than "$2" < <(checkpoints_of "$1"); }

# Why the run in folder $1 must not be started (again); nothing when it may.
reason_not_to_start() {
  if [[ -e $1/DONE ]]; then
    echo "finished: $1/DONE is there"
  elif [[ -e $1/job/GAVE_UP ]]; then
    echo "given up: $(cat "$1/job/GAVE_UP")"
  elif [[ -e $1/STOP ]]; then
    echo "asked to stop: $1/STOP is there"
  fi
}

# Why a run that could go on must not be requeued, whatever happened to it; nothing when it may.
# $1 run folder, $2 restarts allowed.
reason_against_restarts() {
  if [[ -e $1/STOP ]]; then
    echo "asked to stop: $1/STOP is there (remove it and submit again to go on)"
  elif ((${SLURM_RESTART_COUNT:-0} >= $2)); then
    echo "this job was restarted ${SLURM_RESTART_COUNT:-0} times, MAX_RESTARTS is $2"
  fi
}

# Why a run that stopped with a good checkpoint must not be requeued; nothing when it may.
# $1 run folder, $2 its checkpoints when this job started, $3 restarts allowed.
reason_not_to_requeue() {
  local reason
  reason="$(reason_against_restarts "$1" "$3")"
  if [[ -n $reason ]]; then
    echo "$reason"
  elif ! has_new_checkpoint "$1" "$2"; then
    echo "no progress: this start wrote no checkpoint ($(newest_text "$1"))"
  fi
}

# Does another training hold the folder of run $1? A start that it kept out ends with exit status 2, too, and that passes.
is_locked() { [[ -e $1/.lock ]] && { flock -n -E 9 "$1/.lock" true; (($? == 9)); }; } 2>/dev/null

# Exit status 93 of the program, in a chain 2 as well: a restart cannot help. Chained jobs and restarts see the file.
give_up() { printf '%s\n' "$2" >"$1/job/GAVE_UP"; }

# Was jobs/submit, which runs this job without a queue, asked to stop it?
stopped_in_place() { [[ -n ${QUERN_IN_PLACE:-} && -e $QUERN_IN_PLACE/stopping ]]; }

# A script that was given to sbatch by a task of an array finds that task's variables: only sweeps look at them.
this_job() { echo "$SLURM_JOB_ID"; }

# A trial leaves with this status instead: its task requeues itself when all of its trials have ended.
go_on_status=""

requeue_this_job() {
  [[ -z $go_on_status ]] || exit "$go_on_status"
  requeue "$(this_job)"
}

# Does Slurm end job $1 to start it again? It ends scontrol and timeout with it, maybe before they have their answer.
is_requeued() { [[ "$(timeout 60 scontrol show job -o "$1" 2>/dev/null)" =~ JobState=(COMPLETING|PENDING|REQUEUED) ]]; }

# Slurm's controller may be busy, or restart just now: a night's run must not end for that.
requeue() {
  local id="$1" answer status end=$((SECONDS + 1200)) told=no
  choose_nodes_to_omit "$id"
  [[ -z $nodes_to_omit ]] || trap '' TERM # it comes with the requeue, and there is one thing to do then
  remove_copies
  say "requeueing $id"
  until answer="$(timeout 60 scontrol requeue "$id" 2>&1)"; do
    status=$?
    case "$status $answer" in
      # There is no scontrol, or it was understood, and refused.
      126\ * | 127\ * | *[Dd]isabled* | *denied* | *ermission* | *"not allowed"* | *"ot authorized"* | *nvalid\ job\ id* | *"not supported"*)
        say "$answer"
        return 1
        ;;
    esac
    ! is_requeued "$id" || break
    [[ $told == yes ]] || say "Slurm does not requeue it (${answer//$'\n'/ }): trying for 20 minutes"
    told=yes
    ((SECONDS < end)) || return 1
    sleep 5
  done
  [[ -z $nodes_to_omit ]] || omit_nodes "$id"
  sleep 120 # Slurm ends it meanwhile, and this script
  return 0
}
