# SPDX-License-Identifier: Apache-2.0
"""Asks the program for what it must refuse."""
import training
from training import tree


class RefusalTest(training.TrainingTest):
    def refused(self, arguments, *parts, code=2, ranks=(0, 2), env=None):
        before = tree(self.folder)
        for number in ranks:
            done = self.quern(*arguments, ranks=number, env=env)
            self.assertEqual(set(done.codes), {code}, done)
            self.assertEqual(done.code, code, done)
            self.assertEqual(len(done.errors()), 1, done)
            for part in parts:
                self.assertIn(part, done.err)
            self.assertEqual(tree(self.folder), before)
