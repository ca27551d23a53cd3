# SPDX-License-Identifier: Apache-2.0
"""containers/quern.def: its sections, its shell, and the hashes that its %test compares, on the
program just built. Usage: container_test.py PROGRAM"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from recipe import ROOT

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else ""
TEXT = (ROOT / "containers" / "quern.def").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^%(\w+)\n(.*?)(?=^%|\Z)", TEXT, re.DOTALL | re.MULTILINE))
LYING = '#!/bin/sh\ntest "$1" != checkpoint || echo "$3"\n'


class ContainerTest(unittest.TestCase):
    def test_sections(self):
        self.assertLessEqual(
            {"arguments", "files", "post", "environment", "runscript", "test"}, set(SECTIONS)
        )
        self.assertEqual(SECTIONS["files"].split()[0], ".")
        for name in set(re.findall(r"\{\{ (\w+) \}\}", TEXT)):
            self.assertRegex(SECTIONS["arguments"], rf"(?m)^ *{name}=")
        for name in ("post", "environment", "runscript", "test"):
            subprocess.run(["sh", "-n"], input=SECTIONS[name], text=True, check=True)

    def test_presets_and_options_exist(self):
        preset = re.search(r"cmake --preset (\w+)", SECTIONS["post"])[1]
        presets = (ROOT / "CMakePresets.json").read_text(encoding="utf-8")
        self.assertIn(f'"name": "{preset}"', presets)
        files = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
        cmake = "".join(file.read_text(encoding="utf-8") for file in files)
        for option in re.findall(r"-D(QUERN_\w+)=", SECTIONS["post"]):
            self.assertRegex(cmake, rf"(option|set)\({option} ")
        self.assertTrue((ROOT / "recipes" / "ddp-toy.toml").is_file())

    def test_processor(self):
        """What CMake is told on each machine, and what the image tells of its build."""
        for machine, given, wanted in (
            ("x86_64", "auto", "x86-64-v3"),
            ("aarch64", "auto", "armv8-a"),
            ("riscv64", "auto", ""),
            ("x86_64", "native", "native"),
        ):
            with tempfile.TemporaryDirectory() as folder:
                text = SECTIONS["post"].replace("{{ arch }}", given).replace("/opt/quern", folder)
                names = {"uname": f"echo {machine}", "cmake": 'echo "$@"', "rm": ":"}
                names["bin/quern"] = "echo 'commit      0123456789ab'"
                names["-source/scripts/setup"] = ":"
                for name, does in names.items():
                    file = Path(f"{folder}{name}" if name.startswith("-") else f"{folder}/{name}")
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
                    file.chmod(0o755)
                labels = Path(folder) / "labels"
                done = subprocess.run(
                    ["sh", "-c", text],
                    capture_output=True,
                    text=True,
                    check=False,
                    env={
                        "PATH": f"{folder}:{os.environ['PATH']}",
                        "APPTAINER_LABELS": str(labels),
                    },
                )
                shutil.rmtree(f"{folder}-source")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f" -DQUERN_ARCH={wanted}\n", done.stdout)
                label = "org.opencontainers.image.revision 0123456789ab\n"
                self.assertEqual(labels.read_text(encoding="utf-8"), label)

    def test_version(self):
        text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        version = re.search(r"project\(quern VERSION (\S+)", text)[1]
        self.assertIn(f"org.opencontainers.image.version {version}\n", SECTIONS["labels"])

    def run_test_section(self, program):
        with tempfile.TemporaryDirectory() as folder:
            quern = Path(folder) / "bin" / "quern"
            quern.parent.mkdir()
            if "\n" in program:
                quern.write_text(program, encoding="utf-8")
                quern.chmod(0o755)
            else:
                quern.symlink_to(Path(program).resolve())
            (Path(folder) / "share" / "quern").mkdir(parents=True)
            (Path(folder) / "share" / "quern" / "recipes").symlink_to(ROOT / "recipes")
            return subprocess.run(
                ["sh", "-c", SECTIONS["test"].replace("/opt/quern", folder)],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def test_its_test(self):
        done = self.run_test_section(PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_test_section(LYING)
        self.assertEqual(done.returncode, 1)
        self.assertIn("two ranks", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
