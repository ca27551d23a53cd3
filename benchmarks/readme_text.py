# SPDX-License-Identifier: Apache-2.0
"""The text of the tables that readme_tables.py writes, from the figures it keeps."""

import statistics

PEERS = {"eager": "PyTorch 2.13 eager", "compile": "torch.compile", "jax": "JAX 0.10"}
NETWORKS = {"W1": ("mlp-mnist", 128), "W2": ("lenet-fashion", 256), "W7": ("autoencoder-mnist", 128)}
RESIDUAL_NETWORKS = {"resnet20": ("resnet20-fashion", 128), "resnet50": ("resnet50", 32)}
ALL = NETWORKS | RESIDUAL_NETWORKS  # a workload's recipe and batch
# Rows of the table of accuracies: workload, setting, figure, its name, pattern, pattern of the mean.
ROWS = [("W1", "MNIST, 6 ranks x 128, 2 epochs", "test_accuracy", "test accuracy"),
        ("W2", "Fashion-MNIST, batch 256, 10 epochs", "train_loss", "training loss, last epoch"),
        ("W2", "", "test_accuracy", "test accuracy"),
        ("W7", "MNIST, batch 128, 5 epochs", "test_loss", "test loss")]


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def number(figure, workload, value):
    if figure == "test_accuracy":
        return f"{100 * value:.1f}"
    return f"{value:.4f}" if workload == "W7" else f"{value:.3f}"


def spread(figure, workload, measured):
    """`min to max, mean **m** (n seeds)`; `measured` has `seeds`, or a `summary` of them."""
    if not measured:
        return "-"
    if "summary" in measured:
        found = measured["summary"][figure]
        low, high, mean, count = (found[key] for key in ("min", "max", "mean", "seeds"))
    else:
        values = [seed[figure] for seed in measured["seeds"].values()]
        low, high, mean, count = min(values), max(values), statistics.fmean(values), len(values)
    unit = " %" if figure == "test_accuracy" else ""
    middle = f"{100 * mean:.2f}" if unit else number(figure, workload, mean)
    return (f"{number(figure, workload, low)} to {number(figure, workload, high)}{unit}, "
            f"mean {middle}{unit} ({count} seeds)")


def source(measured):
    """Where and when figures were measured."""
    where = " ".join(measured[key] for key in ("processor", "vectors") if key in measured)
    return f"{where}, commit `{measured['commit'][:7]}`, {measured['date']}"


def accuracy_table(kept):
    rows = []
    for workload, setting, figure, name in ROWS:
        if workload in kept:
            recipe = f"`{NETWORKS[workload][0]}`" if setting else ""
            rows.append([recipe, setting, name,
                         *(spread(figure, workload, kept[workload].get(side))
                           for side in ("quern", "torch"))])
    sources = {source(kept[workload]["quern"]) for workload in kept if "quern" in kept[workload]}
    return "\n".join([table(["recipe", "setting", "", "Quern", "PyTorch 2.13"], rows), "",
                      f"Quern's column: {'; '.join(sorted(sources))}."])


def speed_table(kept):
    rows, sources = [], []
    for measured in sorted(kept.values(), key=lambda one: one["title"]):
        title = measured["title"]
        for workload, (recipe, batch) in NETWORKS.items():
            found = measured["workloads"].get(workload)
            if found:
                rows.append([title, f"`{recipe}`, {batch}",
                             *(times(found["ratios"].get(peer)) for peer in PEERS),
                             f"{100 * found['fraction_of_peak']:.0f} %"])
                title = ""
        sources += provenance(measured, NETWORKS)
    header = ["one core of", "network, batch", *(f"over {name}" for name in PEERS.values()),
              "of the core's FMA peak"]
    return "\n".join([table(header, rows), "", *sources])


def provenance(measured, names):
    """One line for each commit that figures of this processor are of; `names`: of workloads."""
    by_source = {}
    for workload, found in measured["workloads"].items():
        if workload in names:
            rounds = f", {found['rounds']} rounds" if "rounds" in found else ""
            text = f"commit `{found['commit'][:7]}`, {found['date']}{rounds}"
            by_source.setdefault(text, []).append(ALL[workload][0])
    if len(by_source) == 1:
        return [f"{measured['title']}: {next(iter(by_source))}.  "]
    return [f"{measured['title']}, {', '.join(names)}: {text}.  " for text, names in by_source.items()]


def notes(measured):
    """What was said of the figures that are shown, each once."""
    found = [found["note"] for found in measured["workloads"].values() if "note" in found]
    return list(dict.fromkeys(found))


def times(ratio):
    return f"{ratio['median']:.2f}x" if ratio else "-"


def with_range(ratio):
    if not ratio:
        return "-"
    if "min" not in ratio:
        return f"{ratio['median']:.2f}"
    return f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})"


def name_of(workload):
    recipe = f"`{ALL[workload][0]}`"
    return f"{workload} {recipe}" if workload in NETWORKS else recipe


def speed_details(measured):
    """One processor's table, with the ranges of the rounds' ratios."""
    rows = []
    for workload in ALL:
        found = measured["workloads"].get(workload)
        if found:
            rows.append([name_of(workload),
                         f"{100 * found['fraction_of_peak']:.0f} % of {found['peak_gflops']:.0f} Gflop/s",
                         *(with_range(found["ratios"].get(peer)) for peer in PEERS)])
    lines = [table(["network", "of the core's FMA peak", *PEERS.values()], rows), "",
             *provenance(measured, ALL)]
    return "\n".join(lines + notes(measured))


def scaling_table(measured):
    """One processor's speed-ups of rank-invariant training."""
    rows = [[name_of(workload), str(found["ranks"]), with_range(found["speedup"]["rank-invariant"])]
            for workload, found in measured["workloads"].items()]
    lines = [table(["network", "ranks", "speed-up over one rank"], rows), "", *provenance(measured, ALL)]
    return "\n".join(lines + notes(measured))
