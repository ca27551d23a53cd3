# SPDX-License-Identifier: Apache-2.0
"""What a recipe says of the learning rate and of random crops and flips, for PyTorch."""

import math


def learning_rate(settings, step, steps_per_epoch, total_steps):
    """Before optimizer step `step` (from 0), as docs/recipes.md says; `settings`: [optimizer]."""
    schedule = settings.get("schedule", "constant")
    schedule = {"type": schedule} if isinstance(schedule, str) else schedule
    lr, kind = settings["lr"], schedule.get("type", "constant")
    warmup = schedule.get("warmup_steps", 0)
    if step < warmup:
        return lr * (step + 1) / warmup
    if kind == "step":
        drops = step // (schedule.get("every_epochs", 1) * steps_per_epoch)
        return lr * schedule.get("gamma", 0.1) ** drops
    if kind == "cosine":
        lowest = schedule.get("min_lr", 0.0)
        angle = math.pi * (step - warmup) / (total_steps - warmup)
        return lowest + (lr - lowest) * (1 + math.cos(angle)) / 2
    return lr


def augment(torch, images, crop, flip):
    """A window of each image's size out of the image with `crop` pixels of zeros on every side, and
    half of the windows flipped; each image is drawn for by itself."""
    count, _, height, width = images.shape
    if crop:
        padded = torch.nn.functional.pad(images, (crop,) * 4)
        windows = padded.unfold(2, height, 1).unfold(3, width, 1)
        top, left = torch.randint(2 * crop + 1, (2, count))
        images = windows[torch.arange(count), :, top, left]
    if flip:
        flipped = torch.rand(count) < 0.5
        images = torch.where(flipped[:, None, None, None], images.flip(-1), images)
    return images
