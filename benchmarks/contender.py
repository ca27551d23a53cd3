# SPDX-License-Identifier: Apache-2.0
"""Whoever takes part in a comparison: a process that measures on request, or the program quern."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from workloads import ProblemError

HERE = Path(__file__).resolve().parent


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


def failure_line(text):
    """The program's own message: launchers say more, after it or before."""
    for words in ("quern: error:", "error:"):
        errors = [line for line in text.splitlines() if words in line]
        if errors:
            return errors[0]
    # Open MPI frames what it says with lines of dashes, and the first sentence says it.
    if text.startswith("---"):
        return next((line for line in text.splitlines() if line.strip("-")), "")
    return last_line(text)


class Process:
    """A child that keeps what it set up (compiled, in memory) from request to request."""

    def __init__(self, command, environment=None):
        self.command = [str(word) for word in command]
        self.errors = tempfile.TemporaryFile(mode="w+")
        try:
            self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                          env={**os.environ, **(environment or {})})
        except OSError as error:
            self.errors.close()
            raise ProblemError(f"cannot start {self.command[0]}: {error.strerror}") from error
        self.facts = self.read()

    def read(self):
        line = self.child.stdout.readline()
        try:
            answer = json.loads(line)
        except ValueError:
            raise ProblemError(self.end_badly()) from None
        if "error" in answer:
            self.close()
            raise ProblemError(answer["error"])
        return answer

    def end_badly(self):
        """Why it ended."""
        self.stop()
        self.errors.seek(0)
        said = last_line(self.errors.read())
        self.errors.close()
        return (f"'{' '.join(self.command)}' ended with exit status {self.child.returncode}: "
                f"{said}")

    def ask(self, request=""):
        try:
            self.child.stdin.write(request + "\n")
            self.child.stdin.flush()
        except OSError:
            pass  # read() says why it ended
        return self.read()

    def stop(self):
        for stream in (self.child.stdin, self.child.stdout):
            try:
                stream.close()
            except OSError:
                pass
        try:
            self.child.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()

    def close(self):
        self.stop()
        self.errors.close()


def output_of(command):
    """What a command prints. ProblemError if it cannot be started or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ProblemError(f"cannot start {command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise ProblemError(f"'{' '.join(command)}' failed with exit status {done.returncode}: "
                           f"{failure_line(done.stderr or done.stdout)}")
    return done.stdout


def fast_bf16_sums(program):
    """The setting with which products of bf16 have the order that this processor is fast in."""
    command = [program, "info", "--json"]
    try:
        info = json.loads(output_of(command))
    except ValueError as error:
        raise ProblemError(f"'{' '.join(map(str, command))}' printed no JSON: {error}") from error
    by_pairs = info.get("tiles") != "AMX" and info.get("pairs") == "AVX512_BF16"
    return ['train.bf16_sums="pairs"'] if by_pairs else []


def run_quern(command):
    """What a `quern bench` command writes as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [*command, "--json", str(out)]
        output_of(command)
        try:
            return json.loads(out.read_text())
        except (OSError, ValueError) as error:
            raise ProblemError(f"no usable figures from '{' '.join(command)}': "
                               f"{error!r}") from error


def step_figures(command, ranks, keys=("step_us",)):
    """The numbers `keys` of `quern bench step`, which must have run on so many ranks."""
    facts = run_quern(command)
    try:
        found, figures = facts["machine"]["ranks"], [float(facts[key]) for key in keys]
    except (KeyError, TypeError, ValueError) as error:
        raise ProblemError(f"no usable figures from '{' '.join(command)}': {error!r}") from error
    if found != ranks:
        raise ProblemError(f"'{' '.join(command)}' ran on {found} rank(s), expected {ranks}: see --launcher")
    return figures


class QuernStep:
    """`quern bench step`, started anew for each round; it measures the FMA peak, too."""

    def __init__(self, program, recipe_path, steps, settings=()):
        self.steps = steps
        self.command = [program, "bench", "step", str(recipe_path), "--rounds", "1",
                        "--steps", str(steps), "--warmup", str(max(2, steps // 10))]
        for setting in settings:
            self.command += ["--set", setting]

    def ask(self):
        facts = run_quern(self.command)
        try:
            samples = facts["global_batch"] * self.steps
            return {"seconds": samples / float(facts["samples_per_s"]), "samples": samples,
                    "peak_gflops": float(facts["peak_gflops"])}
        except (KeyError, TypeError, ValueError) as error:
            raise ProblemError(f"no usable figures from '{' '.join(self.command)}': "
                               f"{error!r}") from error

    def close(self):
        """Nothing stays behind between the rounds."""


def pin(threads, cores=None):
    """This process and all that it starts run on `threads` cores; returns them."""
    allowed = sorted(os.sched_getaffinity(0))
    chosen = cores or allowed[-threads:]
    if len(chosen) != threads or not set(chosen) <= set(allowed):
        raise ProblemError(f"{threads} thread(s) need as many cores out of {allowed}, "
                           f"not {chosen}: see --threads and --cores")
    os.sched_setaffinity(0, chosen)
    os.environ.update(OMP_NUM_THREADS=str(threads), OMP_PROC_BIND="false" if threads == 1 else "close",
                      OMP_PLACES="cores", OMP_DYNAMIC="false")
    return chosen
