# SPDX-License-Identifier: Apache-2.0
"""The hot loops keep their sums in registers: no inner loop of the host kernels that the build
compiled stores as many vectors as it adds products up. And no kernel puts the mask of a vector together bit by bit,
as GCC 12 does of conditions that all lanes share. And functions that only prefetch are not dropped. With LEVELS, for example x86-64-v3 x86-64-v4, it compiles the kernels for these instead (about a minute each): what stays in registers depends on the compiler and on
the processor that it is told.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import object_code

GIVEN = OBJDUMP = COMPILER = None
# GCC 12 joins some loops with those around them there, whose stores are counted; no such processor was at hand.
ON_ARM = False

# A sum in memory is stored at every multiply-add. Registers that are spilt by the way cost little.
MOST_STORES_PER_MULTIPLY_ADD = 0.5
# Fewer where a store is that of a sum: the next step waits for it, which takes as long as four
# multiply-adds that do not wait. With up to a quarter of them the others fill the time.
MOST_SUMS_IN_MEMORY_PER_MULTIPLY_ADD = 0.25

ROOMS = ("linalg", "layers", "loss", "optim")
# These move values and add none up.
EXEMPT = {"layout.cpp", "gather.cpp", "transpose.cpp"}
# Sums of many rows side by side, in the first-level cache: the multiply-adds are those that divide pixels by 255.
SUMS_OF_ROWS = {"regression"}


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


def tool(name, otherwise):
    """The build's own, for the processor it compiles for."""
    cache = (GIVEN.build / "CMakeCache.txt").read_text()
    named = [line.split("=", 1)[1] for line in cache.splitlines() if line.startswith(f"{name}:")]
    return shutil.which(named[0] if named else otherwise)


def commands():
    """{source: command line} of the kernels, as the build compiles them."""
    found = {}
    for entry in json.loads((GIVEN.build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        is_kernel = path.parent in [GIVEN.source / "src" / room / "host" for room in ROOMS]
        if is_kernel and path.name not in EXEMPT:
            found[path] = shlex.split(entry["command"])
    return found


def has(macro, command):
    """Whether the compiler defines the macro for the build's processor."""
    macros = subprocess.run(
        [COMPILER, *options_for_processor(command), "-dM", "-E", "-x", "c++", os.devnull],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return f"#define {macro} " in macros


def options_for_processor(command):
    return [option for option in command if option.startswith("-m")]


def options_for_build():
    """Those for the processor; in a build for every processor those of the first level, whose kernels have fused
    multiply-adds."""
    if GIVEN.levels:
        return [f"-march={GIVEN.levels[0]}"]
    return options_for_processor(next(iter(commands().values())))


def compile_for(level, command, folder):
    """The object file of `command` compiled for a level."""
    source = pathlib.Path(command[-1])
    output = pathlib.Path(folder) / f"{level}-{source.parts[-3]}-{source.stem}.o"
    first = next(i for i, word in enumerate(command) if word.startswith("-"))
    # Without the launcher, and without warnings: some options are of the build's compiler.
    options = [word for word in command[first:] if word not in options_for_processor(command)]
    options[options.index("-o") + 1] = str(output)
    done = subprocess.run(
        [GIVEN.compiler or COMPILER, *options, "-w", "-Wno-error", f"-march={level}"],
        check=False,
        cwd=GIVEN.build,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{source.name} for {level}: {done.stderr[:2000]}")
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


# GCC takes a function with nothing but the builtin for one that does nothing.
PREFETCHES = """
#include "linalg/host/simd.hpp"
#define ONLY(name) [[gnu::noinline]] static void only_##name(const float* p) { quern::simd::name(p); }
ONLY(prefetch)
ONLY(prefetch_to_write)
ONLY(prefetch_to_second_level)
void all(const float* p) {
  only_prefetch(p);
  only_prefetch_to_write(p + 16);
  only_prefetch_to_second_level(p + 32);
}
"""

# As GCC 12 does, and a few shifts of something else.
MASK = (".text\nbit_by_bit:\n" + "".join(f"shl $0x{bit:x}, %eax\nor %eax, %edx\n" for bit in range(8, 16)) +
        "ret\nfew_shifts:\n" + "shl $0x8, %eax\nshl $0xd, %edx\nret\n")


class ObjectCode(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def check(self, path):
        masks = [f"{name} at {address:#x}" for name, address in object_code.masks_bit_by_bit(OBJDUMP, path)]
        self.assertEqual(masks, [], path.name)
        if path.name.removesuffix(".o").removesuffix(".cpp").split("-")[-1] in SUMS_OF_ROWS:
            return 0
        loops = list(object_code.loops_of_products(OBJDUMP, path))
        found = with_sums_in_memory(loops)
        if found and ON_ARM:
            print(f"note: {path.name} for NEON: {len(found)} of {len(loops)} loops store sums at every step")
        else:
            self.assertEqual(found, [], path.name)
        return len(loops)

    def test_masks_made_bit_by_bit_are_found(self):
        if ON_ARM:
            self.skipTest("masks are registers of AVX-512")
        source = pathlib.Path(self.folder) / "mask.s"
        source.write_text(MASK)
        subprocess.run([COMPILER, "-c", str(source), "-o", str(source.with_suffix(".o"))], check=True)
        found = object_code.masks_bit_by_bit(OBJDUMP, source.with_suffix(".o"))
        self.assertEqual([name for name, _ in found], ["bit_by_bit"])

    def test_sums_in_memory_are_found(self):
        options = options_for_build()
        for add, in_memory in (("[[gnu::always_inline]] inline", False), ("[[gnu::noinline]] static", True)):
            source = pathlib.Path(self.folder) / "sums.cpp"
            source.write_text(SUMS.replace("ADD", add))
            output = source.with_suffix(".o")
            subprocess.run(
                [COMPILER, "-std=c++20", "-O3", *options, f"-I{GIVEN.source / 'src'}", "-c", str(source),
                 "-o", str(output)],
                check=True,
            )
            loops = list(object_code.loops_of_products(OBJDUMP, output))
            self.assertTrue(loops, add)
            self.assertEqual(bool(with_sums_in_memory(loops)), in_memory, add)

    def test_functions_that_only_prefetch_are_called(self):
        source = pathlib.Path(self.folder) / "prefetches.cpp"
        source.write_text(PREFETCHES)
        output = source.with_suffix(".o")
        subprocess.run(
            [COMPILER, "-std=c++20", "-O3", *options_for_build(), f"-I{GIVEN.source / 'src'}", "-c", str(source),
             "-o", str(output)],
            check=True,
        )
        listing = subprocess.run([OBJDUMP, "-d", str(output)], check=True, capture_output=True, text=True).stdout
        self.assertEqual(len(re.findall(r"\t(?:prefetch|prfm)", listing)), 3, listing)

    def test_kernels_prefetch_by_these_functions(self):
        own = GIVEN.source / "src/linalg/host/simd.hpp"
        others = [
            str(path)
            for path in sorted((GIVEN.source / "src").rglob("*.[ch]pp"))
            if path != own and "__builtin_prefetch" in path.read_text()
        ]
        self.assertEqual(others, [])

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
    command = next(iter(commands().values()))
    if not GIVEN.levels and not has("__FMA__", command) and not has("__aarch64__", command):
        return "the kernels of this build have no fused multiply-adds"
    return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("levels", nargs="*")
    parser.add_argument("--compiler", help="with LEVELS: instead of that of the build")
    GIVEN = parser.parse_args()
    OBJDUMP = tool("CMAKE_OBJDUMP", "objdump")
    COMPILER = tool("CMAKE_CXX_COMPILER", "c++")
    ON_ARM = has("__aarch64__", next(iter(commands().values())))
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
