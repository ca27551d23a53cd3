# SPDX-License-Identifier: Apache-2.0
"""What the trained network says: confusion matrix, the images it gets most wrong, its filters."""

from pathlib import Path

from . import best, forms, panels, pixels, program, regression
from .blocks import Cell, Figure, Gallery, Section, Table, Text

MOST_CLASSES = 40  # of a matrix that is drawn
WORST = 24


def confusion(predictions, classes):
    counts = [[0] * classes for _ in range(classes)]
    for _, said, label, _, _ in predictions:
        counts[label][said] += 1
    return counts


def matrix_figure(counts, names):
    sums = [sum(row) or 1 for row in counts]
    values = [[(counts[r][c] / sums[r], counts[r][c]) for c in range(len(counts))]
              for r in range(len(counts))]
    svg = panels.matrix("Confusion matrix", names, names, values, forms.count,
                        lambda r, c: f"{names[r]} taken for {names[c]}: {counts[r][c]} of {sums[r]}, "
                                     f"{counts[r][c] / sums[r]:.1%}",
                        "label", "prediction", mark=lambda r, c: r == c)
    return Figure("confusion", svg, "Confusion matrix",
                  "Rows: what an image is; columns: what it is taken for. Shades: share of the row.",
                  wide=True)


def class_table(counts, names):
    rows = []
    for index, name in enumerate(names):
        row, column = sum(counts[index]), sum(line[index] for line in counts)
        right = counts[index][index]
        recall = right / row if row else None
        precision = right / column if column else None
        other = max((c for c in range(len(names)) if c != index), key=lambda c: counts[index][c], default=None)
        taken = (f"{names[other]} ({counts[index][other]})"
                 if other is not None and counts[index][other] else forms.NONE)
        rows.append([Cell(name, order=index), taken, Cell(forms.count(row), order=row),
                     Cell(forms.percent(recall), order=recall or 0, share=recall),
                     Cell(forms.percent(precision), order=precision or 0, share=precision)])
    return Table(["class", "most often taken for", "samples", "found (recall)", "right (precision)"], rows,
                 left=2)


def worst_images(predictions, names, data):
    worst = sorted((one for one in predictions if one[1] != one[2]), key=lambda one: -one[4])[:WORST]
    if not worst:
        return [Text("Every image is classified right.")]
    try:
        images = pixels.sample_images(data, "test", {one[0] for one in worst})
    except program.ProgramError as error:
        listed = [[Cell(str(index), order=index), names[label], names[said],
                   Cell(forms.percent(probability, 1), order=probability),
                   Cell(forms.significant(loss), order=loss)]
                  for index, said, label, probability, loss in worst]
        return [Text(f"No images: {error}.", True),
                Table(["image", "is", "taken for", "with probability", "loss"], listed, left=0)]
    shown = [(images[index], f"{names[label]} \N{RIGHTWARDS ARROW} {names[said]}",
              f"no. {index}, {forms.percent(probability, 0)}".replace(" %", "\N{NO-BREAK SPACE}%"))
             for index, said, label, probability, _ in worst if index in images]
    return [Gallery(shown, "The test images with the highest loss: what they are, what they are taken "
                           "for, their number in the test set, and how sure the network is.", name="most-wrong",
                    title="Most wrong")]


def with_which(quern, run, checkpoint, warnings):
    if checkpoint != best.FILE:
        return f"with the newest {'good ' if warnings else ''}checkpoint ({checkpoint})"
    epoch, told = program.epoch_of(quern, best.checkpoint_of(run)), best.best_of(run, run.rows())
    if epoch and told and epoch != told.epoch:
        return (f"with {best.FILE}, the checkpoint of epoch {epoch} (evaluations before train.monitor or the test data "
                "changed do not count)")
    return f"with {best.FILE}, the checkpoint of the best epoch" + (f", {epoch}" if epoch else "")


def test_data_of(run):
    """The folder of the recipe's test data."""
    data = run.recipe.get("data", {}).get("test", "")
    if not data:
        raise program.ProgramError("the recipe names no test data")
    if not Path(data).is_dir():
        raise program.ProgramError(f"there is no folder {data} here (start the report where the "
                                   "training was started)")
    return data


def prediction_sections(run, wanted, out):
    if run.recipe.get("loss", {}).get("type", "cross_entropy") != "cross_entropy":
        return regression_sections(run, wanted, out) if run.recipe.get("data", {}).get("target") == "values" else []
    try:
        data = test_data_of(run)
        quern, kept = program.find_program(wanted), best.checkpoint_of(run)
        found = program.predictions_of(quern, run.path, kept, data, out / "predictions.csv")
        predictions = found.rows
        if not predictions:
            raise program.ProgramError("the test set is empty")
    except program.ProgramError as error:
        return [Section("Predictions", [Text(f"No predictions of the test set: {error}.", True)])]
    classes = 1 + max(max(one[1], one[2]) for one in predictions)
    counts = confusion(predictions, classes)
    names = [found.names.get(index, str(index)) for index in range(classes)]
    right = sum(counts[index][index] for index in range(classes))
    which = with_which(quern, run, found.checkpoint, found.warnings)
    blocks = [Text(f"{forms.count(right)} of {forms.plural(len(predictions), 'test image')} are "
                   f"classified right, {forms.percent(right / len(predictions))}, {which}.")]
    blocks += [Text(warning, True) for warning in [*found.warnings, *found.remarks]]
    if classes <= MOST_CLASSES:
        blocks.append(matrix_figure(counts, names))
    blocks.append(class_table(counts, names))
    return [Section("Predictions", blocks), Section("Most wrong", worst_images(predictions, names, data))]


def regression_sections(run, wanted, out):
    try:
        data = test_data_of(run)
        quern, kept = program.find_program(wanted), best.checkpoint_of(run)
        names, values, checkpoint, warnings = program.values_of(quern, run.path, kept, data, out / "predictions.csv")
        targets = pixels.targets_of(data, "test")
        blocks = regression.blocks_of(names, values, targets, with_which(quern, run, checkpoint, warnings))
    except program.ProgramError as error:
        return [Section("Predictions", [Text(f"No predictions of the test set: {error}.", True)])]
    return [Section("Predictions", [blocks[0], *(Text(warning, True) for warning in warnings), *blocks[1:]])]


def filter_section(run, wanted):
    try:
        kept = best.checkpoint_of(run)
        if not run.checkpoints and not kept:
            raise program.ProgramError("there is no checkpoint")
        layer, kind, count, images = pixels.filters(program.find_program(wanted), run, kept or run.path)
    except program.ProgramError as error:
        return Section("First layer", [Text(f"No filters: {error}.", True)])
    of = best.FILE if kept else "the newest checkpoint"
    what = "kernels" if kind == "conv2d" else "weights, laid out as the image that they act on"
    first = f"the first {len(images)} of " if len(images) < count else ""
    return Section("First layer", [Gallery(
        images, f"{first.capitalize()}{forms.plural(count, 'unit')} of layer {layer} of {of}: {what}. Orange is "
                "positive, blue negative, each scaled to its own largest weight.", size="small", name="first-layer",
        title=f"Weights of layer {layer}")])
