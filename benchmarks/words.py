# SPDX-License-Identifier: Apache-2.0
"""What may follow an option of the benchmarks' command lines."""

import argparse


def name_list(allowed):
    def parse(text):
        names = [] if text == "none" else text.split(",")
        unknown = [name for name in names if name not in allowed]
        if unknown:
            raise argparse.ArgumentTypeError(f"unknown '{unknown[0]}': of {', '.join(allowed)}")
        return list(dict.fromkeys(names))
    return parse


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


def numbers(text):
    try:
        return [positive(word) for word in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no list of positive numbers") from error


def core_list(text):
    return [int(core) for core in text.split(",")]
