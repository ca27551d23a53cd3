# SPDX-License-Identifier: Apache-2.0
"""Where a run's figures come from."""

from . import best, forms
from .blocks import Facts, Listing, Section


def batch_of(run):
    data = run.recipe.get("data", {})
    if data.get("global_batch"):
        return data["global_batch"]
    if data.get("batch_per_rank"):
        return f"{data['batch_per_rank']} per rank"
    return forms.NONE


def named(table, left_out):
    """`key value` of what the table has set to something."""
    return [f"{key} {value}" for key, value in table.items()
            if key not in left_out and value not in (0, False, "") and not isinstance(value, (dict, list))]


def optimizer_text(optimizer):
    parts = [str(optimizer.get("type", forms.NONE)), f"lr {optimizer.get('lr', forms.NONE)}"]
    parts += named(optimizer, ("type", "lr", "schedule", "eps", "decay"))
    schedule = optimizer.get("schedule", {})
    schedule = schedule if isinstance(schedule, dict) else {"type": schedule}
    more = named(schedule, ("type",))
    if schedule.get("type", "constant") != "constant" or more:
        parts.append(f"schedule {schedule.get('type', 'constant')}" + (f" ({', '.join(more)})" if more else ""))
    return ", ".join(parts)


def checkpoint_text(run):
    texts = [f"{len(run.checkpoints)}, newest {run.checkpoints[-1]}"] if run.checkpoints else []
    texts += [f"{best.FILE} of the best epoch"] if best.checkpoint_of(run) else []
    return "; ".join(texts) or "none"


def unique(values):
    return ", then ".join(dict.fromkeys(str(value) for value in values if value not in (None, "")))


def facts(run):
    starts = [event for event in run.events if event.get("event") == "start"]
    train = run.recipe.get("train", {})
    hosts = [f"{host} ({forms.plural(int(ranks), 'rank')})" for host, ranks in
             (starts[-1].get("hosts") or {}).items()] if starts else []
    items = [
        ("folder", str(run.path)),
        ("recipe", run.name),
        ("state", run.state),
        ("model", run.model_hash),
        ("seed", run.recipe.get("seed", forms.NONE)),
        ("batch", batch_of(run)),
        ("optimizer", optimizer_text(run.recipe.get("optimizer", {}))),
        ("changed", run.changes_text),
        ("determinism", train.get("determinism", "")),
        ("precision", train.get("precision", "")
                      + (", by pairs" if train.get("bf16_sums") == "pairs" else "")
                      + (", convolutions by winograd" if train.get("convolution") == "winograd" else "")),
        ("training data", run.recipe.get("data", {}).get("train", "")),
        ("test data", run.recipe.get("data", {}).get("test", "")),
        ("ranks", ", then ".join(map(str, run.ranks)) or forms.NONE),
        ("nodes", ", ".join(hosts)),
        ("threads a rank", unique(event.get("threads") for event in starts)),
        ("jobs", unique(event.get("job") for event in starts)),
        ("version", unique(event.get("version") for event in starts)),
        ("commit", unique(event.get("git_commit") for event in starts)),
        ("steps", run.last_step),
        ("checkpoints", checkpoint_text(run)),
    ]
    return Facts([(name, text) for name, text in items if text not in ("", None)])


def section_of(run):
    blocks = [facts(run)]
    try:
        blocks.append(Listing("The resolved recipe",
                              (run.path / "recipe.toml").read_text(encoding="utf-8", errors="replace")))
    except OSError:
        pass
    return Section("Provenance", blocks)
