# SPDX-License-Identifier: Apache-2.0
"""How scripts/test counts: skips inside programs are seen, and only expected ones are no failure."""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import tree

sys.path.insert(0, str(tree.ROOT / "scripts/lib"))
import test_report  # noqa: E402

LIST = tree.ROOT / "tests/expected_skips.txt"
GOOGLE = """[ RUN      ] Session.AloneIsSerial
[       OK ] Session.AloneIsSerial (0 ms)
[ RUN      ] Session.WithoutMpi
/src/session_test.cpp:35: Skipped
built with MPI

[  SKIPPED ] Session.WithoutMpi (0 ms)
[==========] 2 tests from 1 test suite ran. (0 ms total)
[  PASSED  ] {passed} test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Session.WithoutMpi
"""
UNITTEST = """import unittest
class Case(unittest.TestCase):
    @unittest.skipUnless(False, "no 'dpkg'")
    def test_one(self): pass
    @unittest.skip("not here")
    def test_two(self):
        '''A line about it.'''
    {last}
unittest.main(verbosity={verbosity})
"""


def entry(output="", status="run", name="unit.comm.session", message=""):
    case = ElementTree.Element("testcase", name=name, status=status)
    ElementTree.SubElement(case, "system-out").text = output
    if status in ("notrun", "disabled"):
        ElementTree.SubElement(case, "skipped", message=message)
    return test_report.Entry(case)


def said_by_unittest(last="def test_three(self): pass", verbosity=2):
    return subprocess.run([sys.executable, "-c", UNITTEST.format(last=last, verbosity=verbosity)],
                          capture_output=True, text=True, check=True).stderr


class TestReportTest(unittest.TestCase):
    def expected(self, text, **options):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(text)
            file.flush()
            return test_report.Expected(pathlib.Path(file.name), **options)

    def counts(self, entries, text=""):
        return test_report.report({"release": entries}, self.expected(text))

    def test_googletest(self):
        one = entry(GOOGLE.format(passed=1))
        self.assertEqual((one.state, one.skips), ("passed", [("Session.WithoutMpi", "built with MPI")]))
        self.assertEqual(entry(GOOGLE.format(passed=0)).state, "skipped")
        coloured = GOOGLE.format(passed=1).replace("[  ", "[0;32m[  ").replace("] ", "] [m")
        self.assertEqual(entry(coloured).skips, one.skips)

    def test_unittest(self):
        skips = [("test_one", "no 'dpkg'"), ("test_two", "not here")]
        some, none = entry(said_by_unittest()), entry(said_by_unittest(last="pass"))
        self.assertEqual((some.state, some.skips), ("passed", skips))
        self.assertEqual((none.state, none.skips), ("skipped", skips))

    def test_unittest_that_keeps_its_reasons_to_itself(self):
        lines, *counts = self.counts([entry(said_by_unittest(verbosity=1))], "* | ? | always | why")
        self.assertEqual(counts, [1, 2, 0])
        self.assertIn("skipped without a reason", lines[-1])

    def test_whole_entries(self):
        skipped = entry("skipped: no black\n", "notrun", message="SKIP_RETURN_CODE=77")
        self.assertEqual((skipped.state, skipped.skips), ("skipped", [("*", "no black")]))
        self.assertEqual(entry(status="notrun", message="Unable to find executable").state, "failed")
        self.assertEqual(entry(status="fail").state, "failed")

    def test_only_expected_skips_are_no_failure(self):
        entries = [entry(GOOGLE.format(passed=1))]
        lines, *counts = self.counts(entries, "unit.comm.* | Session.* | always | why")
        self.assertEqual(counts, [1, 0, 1])
        self.assertIn("  release: unit.comm.session Session.WithoutMpi: built with MPI", lines)
        self.assertEqual(self.counts(entries, "release:unit.* | * | always | why")[1:], (1, 1, 0))
        self.assertEqual(self.counts(entries, "release:unit.* | Ses* | always | why")[1:], (1, 0, 1))
        for row in ("", "asan:unit.* | Session.* | always | why", "unit.comm.session | * | always | why", "mpi.* | Session.* | always | why"):
            self.assertEqual(self.counts(entries, row)[1:], (1, 1, 0), row)

    def test_a_skip_of_all_needs_a_line_of_its_own(self):
        entries = [entry("skipped: no black\n", "notrun", message="SKIP_RETURN_CODE=77")]
        self.assertEqual(self.counts(entries, "unit.* | Session.* | always | why")[1:], (0, 1, 0))
        self.assertEqual(self.counts(entries, "unit.* | * | always | why")[1:], (0, 0, 1))

    def test_conditions(self):
        there = self.expected("a | * | without nvcc | why\nb | * | cpu without fma | why",
                              lacks_program=lambda _: False, flags={"fma"})
        absent = self.expected("a | * | without nvcc | why\nb | * | cpu without fma | why",
                               lacks_program=lambda _: True, flags={"sse"})
        for name in "ab":
            self.assertFalse(there.allows("release", name, "*"))
            self.assertTrue(absent.allows("release", name, "*"))
        not_root = self.expected("a | * | not root | why")
        self.assertEqual(not_root.allows("release", "a", "*"), os.geteuid() != 0)
        for bad in ("a | * | often | why", "a | * | always", "a | * | always | "):
            with self.assertRaises(ValueError):
                self.expected(bad)

    def test_notes_and_empty_runs(self):
        lines, *counts = self.counts([entry("note: compiled only\n")])
        self.assertEqual((lines[1:], counts), (["Notes:", "  release: unit.comm.session: compiled only"],
                                               [1, 0, 0]))
        with tempfile.TemporaryDirectory() as folder:
            absent = test_report.read("asan", pathlib.Path(folder) / "absent.xml")
        self.assertEqual(self.counts(absent)[1:], (0, 1, 0))

    def test_a_second_run_of_what_failed(self):
        entries = [entry(name="slurm.watch", status="fail"), entry(name="e2e.bench", status="fail"), entry()]
        again = [entry(name="slurm.watch"), entry(name="e2e.bench", status="fail")]
        lines, *counts = self.counts(test_report.second_chance(entries, again))
        self.assertEqual(counts, [2, 1, 0])
        self.assertIn("  release: slurm.watch: failed beside others, and passed alone: see its output", lines)
        self.assertIn("  release: e2e.bench", lines)

    def test_a_failure_that_no_test_explains(self):
        runs = {"good": [entry()], "bad": [entry(status="fail")]}
        self.assertEqual(test_report.unexplained(runs, ["good", "bad"]), ["good: ctest"])
        self.assertEqual(test_report.unexplained(runs, []), [])

    def test_programs_with_skips_print_the_reasons(self):
        quiet = []
        for file in (tree.ROOT / "tests").rglob("*_test.py"):
            text = file.read_text(encoding="utf-8")
            if re.search(r"unittest\.skip|skipTest\(", text):
                quiet += [file.name for call in re.findall(r"unittest\.main\(([^\n]*)\)", text)
                          if "verbosity=" not in call]
        self.assertEqual(quiet, [])

    def test_listed_tests_are_there(self):
        """A test that is renamed takes its line along."""
        there = set()
        for file in (file for form in ("*_test.*", "check_*.py") for file in (tree.ROOT / "tests").rglob(form)):
            text = file.read_text(encoding="utf-8")
            there.update(".".join(names) for names in re.findall(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", text, re.M))
            there.update(re.findall(r"^    def (test_\w+)", text, re.M))
        rows = [line.split(" | ") for line in LIST.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
        # Of Sizes/Suite.Test/3, which is made of one of several values.
        names = [re.sub(r"^\w+/|/[^/]*$", "", name) for _, name, *_ in rows]
        self.assertGreater(len(names), 30)
        self.assertEqual([name for name in names if not fnmatch.filter(there, name)], [])

    def test_options_between_the_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            case = '<testsuite><testcase name="one" status="{}"/></testsuite>'
            for name, status in (("release", "fail"), ("asan", "run")):
                (pathlib.Path(folder) / name).write_text(case.format(status), encoding="utf-8")
            done = subprocess.run(
                [sys.executable, test_report.__file__, "--expected", LIST, f"release={folder}/release",
                 "--ended-badly", "release", "--skipped", "kokkos=none", f"asan={folder}/asan", "--failed", "build x"],
                capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertTrue(done.stdout.endswith("\n1 passed, 2 failed, 1 skipped\n"), done.stdout + done.stderr)

    def test_the_list_is_well_formed(self):
        self.assertTrue(test_report.Expected(LIST).rows)


class PartsTest(unittest.TestCase):
    """scripts/test knows its parts, and people can read of them."""

    def test_every_part_is_there_and_explained(self):
        script = (tree.ROOT / "scripts/test").read_text(encoding="utf-8")
        usual, full = (re.search(rf"^{name}=\((.*)\)$", script, re.MULTILINE)[1].split()
                       for name in ("kUsualParts", "kAllParts"))
        functions = (tree.ROOT / "scripts/lib/test_parts.sh").read_text(encoding="utf-8")
        contributing = (tree.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        explained = script.partition("usage()")[2].partition("\n}\n")[0]
        for part in [*usual, *full[1:]]:
            self.assertIn(f"\npart_{part.replace('-', '_')}() {{", functions)
            self.assertRegex(explained, rf"(?m)^  {part} +\w")
        for part in full[1:]:
            self.assertIn(f"\n| `{part}` |", contributing)

    def test_a_package_that_pip_installs_and_python_does_not_find(self):
        script = """lib="$1"; source "$lib/common.sh"; source "$lib/test_parts.sh"
            build() { :; }
            quern_python() { echo "$HOME/python"; }
            part_safetensors >&2
            echo "${results[@]}" """
        with tempfile.TemporaryDirectory() as folder:
            python = pathlib.Path(folder) / "python"
            for answer, failures in (("exit 0", "\n"), ('case "$*" in *import*) exit 1 ;; esac',
                                                        "--failed Python finds safetensors\n")):
                python.write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
                python.chmod(0o755)
                done = subprocess.run(["bash", "-c", script, "test", tree.ROOT / "scripts/lib"], check=False,
                                      capture_output=True, text=True, env={**os.environ, "HOME": folder})
                self.assertEqual(done.stdout, failures, done.stderr)

    def test_slurm_runs_beside_the_rest(self):
        script = """lib="$1"; source "$lib/common.sh"; source "$lib/test_parts.sh"
            kRoot="$HOME"; mkdir -p "$kRoot/build"
            run_ctest() { echo "$1 ${*:3}" >>"$HOME/runs"; sleep 0.3; return "$(cat "$HOME/status")"; }
            run_again() { echo "again $1 in $2"; }
            begin_slurm release >"$HOME/begin"
            echo went on
            finish_slurm
            echo "${results[@]}" """
        with tempfile.TemporaryDirectory() as folder:
            tests, home = f"{folder}/build/release/tests/slurm", pathlib.Path(folder)
            for status in ("0", "8"):
                (home / "status").write_text(status, encoding="utf-8")
                done = subprocess.run(["bash", "-c", script, "test", tree.ROOT / "scripts/lib"], check=False,
                                      capture_output=True, text=True, env={**os.environ, "HOME": folder}, timeout=60)
                self.assertEqual(done.stderr, "")
                self.assertEqual(done.stdout.splitlines()[0], "went on")
                self.assertEqual(f"again slurm in {tests}" in done.stdout, status == "8", done.stdout)
                self.assertEqual("--ended-badly slurm" in done.stdout, status == "8", done.stdout)
                self.assertIn(f"slurm={folder}/build/slurm.junit.xml", done.stdout)
            runs = (home / "runs").read_text(encoding="utf-8").splitlines()
            self.assertIn("--exclude-regex ^slurm[.]scale$", runs[0])
            self.assertIn("--tests-regex ^slurm[.]scale$", runs[1])

    def test_wrong_options(self):
        for options in (["--part", "all"], ["--part"], ["--kokkos-source", "."], ["--fast"]):
            done = subprocess.run([tree.ROOT / "scripts/test", *options], capture_output=True, text=True,
                                  cwd=tree.ROOT, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(options[-1], done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
