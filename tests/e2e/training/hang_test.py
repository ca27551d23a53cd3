# SPDX-License-Identifier: Apache-2.0
"""A rank that hangs is named: preflight under mpirun, with a rank that is stopped (SIGSTOP)."""
import errno
import os
import signal
import time

import training
from program import Run

WAIT_S = 10


class HangTest(training.TrainingTest):
    def preflight_with_stopped(self, *stopped):
        """Rank 0 waits for the recipe, which comes when these ranks have been stopped."""
        recipe = self.folder / "slow.toml"
        os.mkfifo(recipe)
        run = Run("preflight", "slow.toml", "--timeout", str(WAIT_S), ranks=4, cwd=self.folder, each_rank='exec "$@"')
        pipes = []

        def is_read():
            try:
                pipes.append(os.open(recipe, os.O_WRONLY | os.O_NONBLOCK))
            except OSError as error:
                self.assertEqual(error.errno, errno.ENXIO)
            return pipes

        self.assertTrue(run.wait_until(is_read))
        pids = [run.pid_of_rank(rank) for rank in stopped]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        begin = time.monotonic()
        os.write(pipes[0], (self.folder / "mlp.toml").read_bytes())
        os.close(pipes[0])
        done = run.wait(timeout_s=WAIT_S + 30)
        self.assertEqual(done.code, 1, done)
        self.assertLess(time.monotonic() - begin, WAIT_S + 25)
        (error,) = done.errors()
        return error, done

    def test_a_rank_in_the_middle(self):
        error, done = self.preflight_with_stopped(2)
        self.assertIn(f"no answer from 1 of 4 ranks within {WAIT_S} s during ", error)
        self.assertRegex(error, r"\(--timeout\): rank 2 on [^ ,;]+; a node, ")
        # On the only node: without it nothing is left.
        self.assertNotIn("failed on", done.out)

    def test_several_ranks_and_the_one_that_usually_speaks(self):
        error, _ = self.preflight_with_stopped(0, 1)
        self.assertRegex(error, r"no answer from 2 of 4 ranks within .*: rank 0 on [^ ,;]+, rank 1 on ")


if __name__ == "__main__":
    training.main()
