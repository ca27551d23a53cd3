# SPDX-License-Identifier: Apache-2.0
"""The finder finds commands where documents have them, and nothing else."""
import unittest

from finder import commands, paths


class FinderTest(unittest.TestCase):
    def found(self, text):
        return [(command.program, command.words[1:], command.whole) for command in commands("d", text)]

    def test_blocks_with_launchers_variables_and_continued_lines(self):
        text = ("a\n\n```bash\nexport A=1\nOMP_NUM_THREADS=1 mpirun -n 2 quern train \\\n  a.toml  # why\n"
                "./scripts/test && quern info > log\nfor n in 1; do\n  quern bench step x; done\n```\n")
        self.assertEqual(self.found(text), [("quern", ["train", "a.toml"], True), ("scripts/test", [], True),
                                            ("quern", ["info"], True), ("quern", ["bench", "step", "x"], True)])

    def test_indented_blocks_and_interpreters(self):
        self.assertEqual(self.found("a:\n\n    venv/bin/python benchmarks/scaling.py --ranks 2\n\n    out put\n"),
                         [("benchmarks/scaling.py", ["--ranks", "2"], True)])

    def test_mentions(self):
        self.assertEqual(self.found("say `quern\ninfo` or `make`, but not `quern::Error`\n"),
                         [("quern", ["info"], False)])

    def test_other_languages_and_output_are_left_alone(self):
        self.assertEqual(self.found("\n```toml\nquern = 1\n```\n\n```\nquern: toy: 629 parameters\n```\n"), [])

    def test_lines_are_counted(self):
        found = list(commands("d.md", "a\n\n```\nls\nquern info\n```\n\nand `ctest -N`\n"))
        self.assertEqual([command.where for command in found], ["d.md:5", "d.md:8"])

    def test_paths(self):
        self.assertEqual(list(paths("`tests/a.py` `x/y.hpp` `b.md` `runs/*/c.md`\n```\n`d/e.py`\n```\n")),
                         ["tests/a.py", "x/y.hpp"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
