# SPDX-License-Identifier: Apache-2.0
"""The plots of a report. Works without a display."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import EngFormatter, MaxNLocator  # noqa: E402

from runlog import number  # noqa: E402

# Okabe and Ito: told apart with any colour vision.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
STYLE = {
    "figure.figsize": (7.5, 4.5), "figure.dpi": 100, "savefig.dpi": 150,
    "font.size": 12, "axes.titlesize": 14, "axes.labelsize": 12, "legend.fontsize": 11,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "axes.grid": True, "grid.color": "#DDDDDD", "grid.linewidth": 0.8,
    "lines.linewidth": 2, "lines.markersize": 5, "legend.frameon": False,
}
SMOOTH_FROM = 200  # points of a curve from which on a running mean is drawn over it


def points(records, x_key, y_key, factor=1.0):
    """Finite (x, y) of the records, as two lists."""
    pairs = [(number(r, x_key), number(r, y_key)) for r in records]
    pairs = [(x, factor * y) for x, y in pairs if x is not None and y is not None]
    return [x for x, _ in pairs], [y for _, y in pairs]


def running_mean(values, width):
    """Mean of the last `width` values at each place (fewer at the start)."""
    means, total = [], 0.0
    for index, value in enumerate(values):
        total += value - (values[index - width] if index >= width else 0.0)
        means.append(total / min(index + 1, width))
    return means


def draw_curve(axes, x, y, colour, label, line="-"):
    """A line; dense curves faintly, with their running mean on top; few points with markers."""
    if len(x) >= SMOOTH_FROM:
        axes.plot(x, y, color=colour, alpha=0.25, linewidth=1)
        axes.plot(x, running_mean(y, max(5, len(y) // 50)), line, color=colour, label=label)
    else:
        axes.plot(x, y, line, color=colour, label=label, marker="o" if len(x) <= 40 else None)


def finish(figure, axes, title, x_label, y_label, path):
    axes.set_title(title, loc="left", pad=12)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _, labels = axes.get_legend_handles_labels()
    if len(labels) > 2:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    elif len(labels) > 1:
        axes.legend()
    figure.tight_layout()
    figure.savefig(path, bbox_inches="tight")
    plt.close(figure)


def plot(path, title, x_label, y_label, curves, y_format=None, from_zero=False):
    """`curves`: (x, y, colour, label, line). Returns whether there was anything to draw."""
    curves = [curve for curve in curves if curve[0]]
    if not curves:
        return False
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots()
        for x, y, colour, label, line in curves:
            draw_curve(axes, x, y, colour, label, line)
        if y_format is not None:
            axes.yaxis.set_major_formatter(y_format)
        if any(len(curve[0]) >= SMOOTH_FROM for curve in curves):
            title += " (bold: running mean)"
        if from_zero:
            axes.set_ylim(0, None)
        finish(figure, axes, title, x_label, y_label, path)
    return True


def plot_all(runs, labels, folder):
    """Writes the plots that the runs have figures for; returns [(file name, title)]."""
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(runs))]
    named = list(zip(runs, colours, labels))

    def curves(records_of, x_key, y_key, factor=1.0, line="-", suffix=""):
        return [(*points(records_of(run), x_key, y_key, factor), colour, label + suffix, line)
                for run, colour, label in named]

    batch_loss = curves(lambda r: r.steps, "step", "loss")
    train_loss = curves(lambda r: r.epochs, "epoch", "loss", suffix=", training")
    test_loss = curves(lambda r: r.evals, "epoch", "loss", line="--", suffix=", test")
    accuracy = curves(lambda r: r.evals, "epoch", "accuracy", factor=100)
    speed = [(*points(run.steps or run.epochs, "step", "samples_per_s"), colour, label, "-")
             for run, colour, label in named]
    wanted = [
        ("loss-per-step.png", "Training loss", "step", "loss of the batch", batch_loss, {}),
        ("loss-per-epoch.png", "Loss", "epoch", "mean loss", train_loss + test_loss, {}),
        ("test-accuracy.png", "Test accuracy", "epoch", "correct / %", accuracy, {}),
        ("samples-per-second.png", "Training speed", "step", "samples / s", speed,
         {"y_format": EngFormatter(sep=" "), "from_zero": True}),
    ]
    return [(name, title) for name, title, x_label, y_label, drawn, how in wanted
            if plot(folder / name, title, x_label, y_label, drawn, **how)]
