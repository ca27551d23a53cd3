# SPDX-License-Identifier: Apache-2.0
"""The hot loops keep their sums in registers: no inner loop of the host kernels that the build
compiled stores as many vectors as it adds products up. With LEVELS, for example x86-64-v3 x86-64-v4, it
compiles the kernels for these instead (half a minute each): what stays in registers depends on the compiler and on
the processor that it is told.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import object_code

GIVEN = OBJDUMP = None

# A sum in memory is stored at every multiply-add. Registers that are spilt by the way cost little.
MOST_STORES_PER_MULTIPLY_ADD = 0.5
# Fewer where a store is that of a sum: the next step waits for it, which takes as long as four
# multiply-adds that do not wait. With up to a quarter of them the others fill the time.
MOST_SUMS_IN_MEMORY_PER_MULTIPLY_ADD = 0.25

ROOMS = ("linalg", "layers")
# These move values and add none up.
EXEMPT = {"layout.cpp", "gather.cpp", "gather_windows.cpp", "transpose.cpp"}


def described(loop):
    name = subprocess.run(["c++filt", loop.function], capture_output=True, text=True, check=False).stdout.strip()
    return (
        f"{(name or loop.function)[:160]} at {loop.address:#x}: {loop.stores} vector stores, {loop.read_back} of "
        f"them of sums, beside {loop.multiply_adds} multiply-adds"
    )


def with_sums_in_memory(loops):
    return [
        described(loop)
        for loop in loops
        if loop.stores > MOST_STORES_PER_MULTIPLY_ADD * loop.multiply_adds
        or loop.read_back > MOST_SUMS_IN_MEMORY_PER_MULTIPLY_ADD * loop.multiply_adds
    ]


def objdump():
    """That of the build's tools: the processor may be another one than this."""
    cache = (GIVEN.build / "CMakeCache.txt").read_text()
    named = [line.split("=", 1)[1] for line in cache.splitlines() if line.startswith("CMAKE_OBJDUMP:")]
    return shutil.which(named[0] if named else "objdump")


def commands():
    """{source: command line} of the kernels, as the build compiles them."""
    found = {}
    for entry in json.loads((GIVEN.build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        is_kernel = path.parent in [GIVEN.source / "src" / room / "host" for room in ROOMS]
        if is_kernel and path.name not in EXEMPT:
            found[path] = shlex.split(entry["command"])
    return found


def has_multiply_add(command):
    """Whether the build's processors have fused multiply-adds."""
    options = [option for option in command if option.startswith("-m")]
    macros = subprocess.run(
        [compiler_of(command), *options, "-dM", "-E", "-x", "c++", os.devnull],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return "__FMA__" in macros or "__aarch64__" in macros


def compiler_of(command):
    # The launcher, if there is one, stands before it.
    return next(word for word in command if "++" in word)


def compile_for(level, command, folder):
    """The object file of `command` compiled for a level."""
    source = pathlib.Path(command[-1])
    output = pathlib.Path(folder) / f"{level}-{source.parts[-3]}-{source.stem}.o"
    options = [option for option in command if not option.startswith("-march=")]
    options[options.index("-o") + 1] = str(output)
    if GIVEN.compiler:
        # Without warnings: some options are of the build's compiler.
        options = [GIVEN.compiler, *options[options.index(compiler_of(options)) + 1 :], "-w", "-Wno-error"]
    subprocess.run([*options, f"-march={level}"], check=True, cwd=GIVEN.build, capture_output=True, text=True)
    return output


SUMS = """
#include "linalg/host/simd.hpp"
using namespace quern::simd;
struct Sums { Register of[4]; };
ADD void add(Sums& sums, const float* x, Register y) {
  QUERN_UNROLL
  for (int k = 0; k < 4; ++k)
    sums.of[k] = multiply_add(load<Register>(x + kRegisterLanes * k), y, sums.of[k]);
}
void add_up(float* s, const float* x, const float* y, int n) {
  Sums sums{};
  for (int i = 0; i < n; ++i) add(sums, x + 4 * kRegisterLanes * i, broadcast<Register>(y[i]));
  for (int k = 0; k < 4; ++k) store(s + kRegisterLanes * k, sums.of[k]);
}
"""


class ObjectCode(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def check(self, path):
        loops = list(object_code.loops_of_products(OBJDUMP, path))
        self.assertEqual(with_sums_in_memory(loops), [], path.name)
        return len(loops)

    def test_sums_in_memory_are_found(self):
        command = next(iter(commands().values()))
        options = [option for option in command if option.startswith("-m")]
        for add, in_memory in (("[[gnu::always_inline]] inline", False), ("[[gnu::noinline]] static", True)):
            source = pathlib.Path(self.folder) / "sums.cpp"
            source.write_text(SUMS.replace("ADD", add))
            output = source.with_suffix(".o")
            subprocess.run(
                [compiler_of(command), "-std=c++20", "-O3", *options, f"-I{GIVEN.source / 'src'}", "-c", str(source),
                 "-o", str(output)],
                check=True,
            )
            loops = list(object_code.loops_of_products(OBJDUMP, output))
            self.assertTrue(loops, add)
            self.assertEqual(bool(with_sums_in_memory(loops)), in_memory, add)

    def test_kernels_keep_sums_in_registers(self):
        if GIVEN.levels:
            jobs = [(level, command) for level in GIVEN.levels for command in commands().values()]
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                objects = list(pool.map(lambda job: compile_for(*job, self.folder), jobs))
        else:
            objects = [GIVEN.build / command[command.index("-o") + 1] for command in commands().values()]
        loops = 0
        for path in objects:
            with self.subTest(path.name):
                loops += self.check(path)
        self.assertGreater(loops, 20 * max(1, len(GIVEN.levels)))


def reason_to_skip():
    if not OBJDUMP:
        return "there is no objdump"
    if not GIVEN.levels and not has_multiply_add(next(iter(commands().values()))):
        return "the kernels of this build have no fused multiply-adds"
    return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("levels", nargs="*")
    parser.add_argument("--compiler", help="with LEVELS: instead of that of the build")
    GIVEN = parser.parse_args()
    OBJDUMP = objdump()
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
