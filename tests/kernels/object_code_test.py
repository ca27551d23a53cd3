# SPDX-License-Identifier: Apache-2.0
"""The hot loops keep their sums in registers: no inner loop of the host kernels that the build
compiled stores vectors beside its multiply-adds. With LEVELS it compiles the kernels for these instead
(about a minute each): what stays in registers depends on the processor that the compiler is told.

Usage: object_code_test.py SOURCE_FOLDER BUILD_FOLDER [LEVEL ...], for example x86-64-v3 x86-64-v4
"""
import collections
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

SOURCE = BUILD = None
LEVELS = []

# A loop of the kernels has dozens of multiply-adds a step; loops with fewer are elementwise.
FEWEST_MULTIPLY_ADDS = 4
# A sum in memory is stored at every multiply-add. A few spilt registers cost next to nothing.
MOST_STORES_PER_MULTIPLY_ADD = 0.5

ROOMS = ("linalg", "layers")
# These move values and add none up.
EXEMPT = {"layout.cpp", "gather.cpp", "transpose.cpp"}

FUNCTION = re.compile(r"^([0-9a-f]+) <(.*)>:$")
INSTRUCTION = re.compile(r"^\s+([0-9a-f]+):\s+(?:bnd\s+)?(\S+)\s*(.*)$")
MULTIPLY_ADD = re.compile(r"^vfn?m(add|sub)\d+ps$")
# AT&T: the destination stands last; a store's is a memory operand.
STORE = re.compile(r"^vmov[au]ps|^vmovdq")

LEAVES = {"jmp", "ret", "call"}

Instruction = collections.namedtuple("Instruction", "address name operands")
Loop = collections.namedtuple("Loop", "function address multiply_adds stores")


def functions(path):
    """(name, [Instruction]) of each function of an object file."""
    listing = subprocess.run(
        ["objdump", "--disassemble", "--no-show-raw-insn", "--demangle", str(path)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    ).stdout
    name, body = None, []
    for line in listing.splitlines():
        start = FUNCTION.match(line)
        if start:
            if name:
                yield name, body
            name, body = start.group(2), []
        elif instruction := INSTRUCTION.match(line):
            address, mnemonic, operands = instruction.groups()
            body.append(Instruction(int(address, 16), mnemonic, operands))
    if name:
        yield name, body


def inner_loops(body):
    """(first, last) of the loops without another one inside, as places in `body`. A loop ends with a
    conditional jump to its start; a plain jump backwards comes from code that was moved away."""
    place = {instruction.address: i for i, instruction in enumerate(body)}
    loops = set()
    for last, instruction in enumerate(body):
        target = re.match(r"([0-9a-f]+)\b", instruction.operands)
        if not re.match("j(?!mp)", instruction.name) or not target:
            continue
        first = place.get(int(target.group(1), 16))
        if first is None or first > last:
            continue
        if not any(i.name in LEAVES for i in body[first:last]):
            loops.add((first, last))
    return [
        loop
        for loop in loops
        if not any(other != loop and loop[0] <= other[0] and other[1] <= loop[1] for other in loops)
    ]


def is_store(instruction):
    return bool(STORE.match(instruction.name)) and instruction.operands.split("{")[0].endswith(")")


def loops_of_products(path):
    for name, body in functions(path):
        for first, last in inner_loops(body):
            steps = body[first : last + 1]
            multiply_adds = sum(bool(MULTIPLY_ADD.match(i.name)) for i in steps)
            if multiply_adds >= FEWEST_MULTIPLY_ADDS:
                yield Loop(name, steps[0].address, multiply_adds, sum(map(is_store, steps)))


def described(loop):
    return (
        f"{loop.function[:160]} at {loop.address:#x}: {loop.stores} vector stores beside "
        f"{loop.multiply_adds} multiply-adds"
    )


def with_sums_in_memory(loops):
    return [
        described(loop) for loop in loops if loop.stores > MOST_STORES_PER_MULTIPLY_ADD * loop.multiply_adds
    ]


def commands():
    """{source: command line} of the kernels, as the build compiles them."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        is_kernel = path.parent in [SOURCE / "src" / room / "host" for room in ROOMS]
        if is_kernel and path.name not in EXEMPT:
            found[path] = shlex.split(entry["command"])
    return found


def compile_for(level, command, folder):
    """The object file of `command` compiled for a level."""
    source = command[-1]
    output = pathlib.Path(folder) / f"{level}-{pathlib.Path(source).parts[-3]}-{pathlib.Path(source).stem}.o"
    options = [option for option in command if not option.startswith("-march=")]
    options[options.index("-o") + 1] = str(output)
    subprocess.run([*options, f"-march={level}"], check=True, cwd=BUILD, capture_output=True, text=True)
    return output


class ObjectCode(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        # The launcher, if there is one, stands before it.
        self.compiler = next(w for w in next(iter(commands().values())) if "++" in w)

    def check(self, path):
        loops = list(loops_of_products(path))
        self.assertEqual(with_sums_in_memory(loops), [], path.name)
        return len(loops)

    def test_sums_in_memory_are_found(self):
        code = """
            #include <immintrin.h>
            void add(float* s, const float* x, const float* y, int n) {
              STORAGE __m256 sum[4] = {};
              for (int i = 0; i < n; ++i)
                for (int k = 0; k < 4; ++k)
                  sum[k] = _mm256_fmadd_ps(_mm256_loadu_ps(x + 32 * i + 8 * k),
                                           _mm256_broadcast_ss(y + i), sum[k]);
              for (int k = 0; k < 4; ++k) _mm256_storeu_ps(s + 8 * k, sum[k]);
            }"""
        for storage, expected in (("volatile", True), ("", False)):
            source = pathlib.Path(self.folder) / "sums.cpp"
            source.write_text(code.replace("STORAGE", storage))
            output = source.with_suffix(".o")
            subprocess.run(
                [self.compiler, "-O3", "-march=x86-64-v3", "-c", str(source), "-o", str(output)],
                check=True,
            )
            loops = list(loops_of_products(output))
            self.assertTrue(loops, storage)
            self.assertEqual(bool(with_sums_in_memory(loops)), expected, storage)

    def test_the_build_keeps_sums_in_registers(self):
        count = 0
        for command in commands().values():
            count += self.check(BUILD / command[command.index("-o") + 1])
        self.assertGreater(count, 20)

    def test_named_levels_keep_sums_in_registers(self):
        jobs = [(level, command) for level in LEVELS for command in commands().values()]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(lambda job: compile_for(*job, self.folder), jobs))
        self.assertGreater(sum(self.check(path) for path in objects), 40)


if __name__ == "__main__":
    SOURCE, BUILD = map(pathlib.Path, sys.argv[1:3])
    LEVELS = sys.argv[3:]
    if LEVELS:
        del ObjectCode.test_the_build_keeps_sums_in_registers
    else:
        del ObjectCode.test_named_levels_keep_sums_in_registers
    if os.uname().machine != "x86_64":
        print(f"skipped: the loops of {os.uname().machine} are not read")
        sys.exit(77)
    if not shutil.which("objdump"):
        print("skipped: there is no objdump")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
