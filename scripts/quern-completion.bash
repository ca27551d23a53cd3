# SPDX-License-Identifier: Apache-2.0
# Completion of quern for bash: commands, options, and the recipe's keys after --set and --change.
# Written by unit.app.reference from the options of the program.
# shellcheck shell=bash

# The words that may follow each command.
_quern_words() {
  case "$1" in
    "") echo "train evaluate predict watch metrics shard data checkpoint import plan bench info preflight --version --help" ;;
    "train") echo "--set --run-dir --resume --change --dry-run --check-recipe --ranks --help" ;;
    "evaluate") echo "--best --data --split --memory --metrics --json --help" ;;
    "predict") echo "--best --images --from --as-values --data --split --memory --batch --probabilities --timing --out --help" ;;
    "watch") echo "--once --every --help" ;;
    "metrics") echo "--csv --out --tensorboard --help" ;;
    "shard") echo "--images --labels --targets --from --out --shards --shuffle --hold-out --hold-out-to --split --name --classes --class-names --as-values --sha256 --sha256-labels --force --help" ;;
    "data") echo "show --help" ;;
    "data show") echo "--split --contact-sheet --json --help" ;;
    "checkpoint") echo "ls show verify hash diff export --help" ;;
    "checkpoint ls") echo "--help" ;;
    "checkpoint show") echo "--best --json --recipe --help" ;;
    "checkpoint verify") echo "--help" ;;
    "checkpoint hash") echo "--best --help" ;;
    "checkpoint diff") echo "--help" ;;
    "checkpoint export") echo "--best --out --model --force --help" ;;
    "import") echo "--recipe --set --out --rename --skip --force --help" ;;
    "plan") echo "--nodes --site --bench --ranks-per-node --batch-per-rank --cores --set --figures --json --help" ;;
    "bench") echo "kernels step allreduce io --help" ;;
    "bench kernels") echo "--set --filter --steps --rounds --json --help" ;;
    "bench step") echo "--set --steps --warmup --rounds --json --help" ;;
    "bench allreduce") echo "--set --bytes --blocks --mode --after-step --rounds --json --help" ;;
    "bench io") echo "--set --bytes --data --run-dir --rounds --json --help" ;;
    "info") echo "--set --json --help" ;;
    "preflight") echo "--set --run-dir --ranks --min-bandwidth --timeout --json --help" ;;
  esac
}

_quern_keys() {
  cat <<'KEYS'
name=
seed=
data.source=
data.train=
data.test=
data.samples=
data.global_batch=
data.batch_per_rank=
data.shuffle=
data.memory=
data.window=
data.target=
data.normalize.type=
data.normalize.mean=
data.normalize.std=
data.normalize_targets.type=
data.normalize_targets.mean=
data.normalize_targets.std=
data.augment.crop=
data.augment.flip=
network.input=
network.init.type=
network.init.std=
network.init.file=
network.init.only=
network.init.rename=
loss.type=
loss.label_smoothing=
loss.pos_weight=
loss.delta=
loss.kind=
loss.class_weights.type=
loss.class_weights.values=
optimizer.type=
optimizer.lr=
optimizer.momentum=
optimizer.nesterov=
optimizer.weight_decay=
optimizer.decay=
optimizer.betas=
optimizer.eps=
optimizer.trust_coefficient=
optimizer.clip_norm=
optimizer.schedule.type=
optimizer.schedule.warmup_steps=
optimizer.schedule.warmup_epochs=
optimizer.schedule.every_epochs=
optimizer.schedule.milestones=
optimizer.schedule.patience=
optimizer.schedule.gamma=
optimizer.schedule.power=
optimizer.schedule.min_lr=
train.epochs=
train.evaluate_every=
train.patience=
train.monitor=
train.determinism=
train.precision=
train.bf16_sums=
train.convolution=
train.micro_block=
train.recompute=
train.log_every_steps=
train.per_rank_loss=
parallel.backend=
parallel.strategy=
parallel.tensor=
parallel.tensor_slices=
parallel.pipeline=
parallel.cut=
parallel.schedule=
parallel.micro_batches=
parallel.shard_optimizer=
parallel.balance=
checkpoint.every_epochs=
checkpoint.every_steps=
checkpoint.every_seconds=
checkpoint.keep=
checkpoint.keep_best=
KEYS
}

# "bench kernels" for `quern bench --json x kernels`: the words so far that name commands.
_quern_command() {
  local command="" word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ " $(_quern_words "$command") " == *" $word "* && $word != -* ]]; then
      command+="${command:+ }$word"
    fi
  done
  printf '%s' "$command"
}

_quern() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}" words
  words="$(_quern_words "$(_quern_command)")"
  case "$previous" in
    --set | --change)
      words="$(_quern_keys)"
      compopt -o nospace 2>/dev/null # outside of a completion, as in tests, there is none
      ;;
    --resume) words="auto never" ;;
    --split) words="train test" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

# Where no word fits, file names.
complete -o default -F _quern quern
