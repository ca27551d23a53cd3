# SPDX-License-Identifier: Apache-2.0
"""The checks that ask other programs: clang-format, shellcheck, clang-tidy."""
import json
import pathlib
import shutil
import unittest

import check_format
import check_shell
import check_tidy
from checks_test import CheckCase


class ToolsTest(CheckCase):
    @unittest.skipUnless(check_format.find_clang_format(), "no clang-format of the right version")
    def test_format(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("src/base/a.cpp", "int f() { return 1; }\n")
        self.assert_clean(check_format.check)
        self.write("src/base/b.cpp", "int  f( ) { return 1; }\n")
        self.assertIn("src/base/b.cpp:1", check_format.check(self.root)[0])

    @unittest.skipUnless(shutil.which("shellcheck"), "no shellcheck")
    def test_shell(self):
        self.write("scripts/a", "#!/usr/bin/env bash\necho \"$1\"\n")
        self.assert_clean(check_shell.check)
        self.write("scripts/b", "#!/usr/bin/env bash\necho $1\n")
        self.assertIn("scripts/b:2", check_shell.check(self.root)[0])

    @unittest.skipUnless(check_tidy.find_clang_tidy(), "no clang-tidy of the right version")
    def test_tidy(self):
        self.write(".clang-tidy", "Checks: '-*,bugprone-*'\nWarningsAsErrors: '*'\n")
        source = self.root / "src/base/a.cpp"
        self.write("src/base/a.cpp", "int f(int x) {\n  if (x == 1) return 2;\n  return 3;\n}\n")
        self.write("build/compile_commands.json",
                   f'[{{"directory": "{self.root}", "file": "{source}", "command": "c++ -c {source}"}}]')
        self.assertEqual(check_tidy.check(self.root, self.root / "build"), [])
        self.write("src/base/a.cpp", "int f(int x) {\n  if (x == 1) return 2;\n"
                   "  else if (x == 2) return 2;\n  else return 2;\n}\n")
        self.assertIn("bugprone-branch-clone", check_tidy.check(self.root, self.root / "build")[0])

    def test_tidy_leaves_out_what_only_gcc_reads(self):
        source = self.root / "src/base/a.cpp"
        self.write("build/compile_commands.json", json.dumps([
            {"directory": str(self.root), "file": str(source), "command":
             f"c++ -Winvalid-pch -include /b/cmake_pch.hxx -include b.hpp -O3 -o a.o -c {source}"}]))
        self.assertEqual(check_tidy.compile_arguments(self.root / "build"),
                         {source.resolve(): ("-include", "b.hpp", "-O3")})

    @unittest.skipUnless(check_tidy.find_clang_tidy(), "no clang-tidy of the right version")
    def test_tidy_of_files_together(self):
        self.write(".clang-tidy", "Checks: '-*,bugprone-*'\nWarningsAsErrors: '*'\n")
        clone = "(int x) {\n  if (x == 1) return 2;\n  else if (x == 2) return 2;\n  else return 2;\n}\n"
        files = [self.root / f"src/base/{name}.cpp" for name in "abc"]
        self.write("build/compile_commands.json", json.dumps(
            [{"directory": str(self.root), "file": str(file), "command": f"c++ -c {file}"} for file in files]))
        for helper in ("", "static int helper() { return 1; }\n"):  # the second time they collide
            for file in files:
                self.write(file.relative_to(self.root), helper + f"int {file.stem}{clone}")
            found = check_tidy.check(self.root, self.root / "build")
            self.assertEqual([line.split(":")[0] for line in found if "branch-clone" in line],
                             [f"src/base/{name}.cpp" for name in "abc"], found)

    def test_tidy_tells_files_with_kernels_apart(self):
        for name, text in (("a", ""), ("b", "#include <Kokkos_Core.hpp>\n")):
            self.write(f"src/tensor/{name}.cpp", text)
        self.write("build/compile_commands.json", json.dumps(
            [{"directory": str(self.root), "file": f"src/tensor/{name}.cpp", "command": "c++"} for name in "ab"]))
        for kernels, names in ((False, ["a"]), (True, ["a", "b"])):
            for changed, expected in ((None, names), ({pathlib.PurePath("src/tensor/c.cpp")}, [])):
                found = check_tidy.sources(self.root, self.root / "build", kernels, changed)
                self.assertEqual(sorted(path.stem for path in found), expected)


if __name__ == "__main__":
    unittest.main(verbosity=2)
