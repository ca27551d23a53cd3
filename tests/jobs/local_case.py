# SPDX-License-Identifier: Apache-2.0
"""Small runs on this machine without Slurm, with SITE=local."""
import os
import signal
import subprocess
import time

from submit_case import PROGRAM, ROOT, SUBMIT, SubmitCase

TOY = """
name = "toy"
seed = 3
[data]
source = "random"
samples = 640
global_batch = 64
target = "values"
[network]
input = [20]
layers = [{type = "linear", features = 24}, {type = "relu"}, {type = "linear", features = 5}]
[loss]
type = "mse"
[optimizer]
type = "adam"
lr = 1e-3
[train]
epochs = 4
micro_block = 1
"""
# Goes on until it is stopped.
LONG = TOY.replace("epochs = 4", "epochs = 1000000") + "[checkpoint]\nevery_epochs = 0\nevery_seconds = 0.2\n"
LIMIT_S = 150  # for whatever is waited for, on a busy machine


class LocalCase(SubmitCase):
    def setUp(self):
        super().setUp()
        (self.folder / "toy.toml").write_text(TOY)
        (self.folder / "long.toml").write_text(LONG)
        os.environ["OMP_WAIT_POLICY"] = "passive"

    def local(self, *args, status=0, **variables):
        done = self.submit("local", *args, **variables)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def command(self, name, *args, status=0):
        done = self.submit(*args, command=ROOT / "jobs" / name)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def begin(self, *args, command=None):
        """In the background, as in another terminal."""
        env = dict(os.environ, QUERN=PROGRAM)
        words = [command, *args] if command else [SUBMIT, "local", *args]
        with open(self.folder / "out", "w") as out:
            process = subprocess.Popen([str(word) for word in words], cwd=self.folder, env=env, stdout=out,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGUSR2)
            process.wait(LIMIT_S)

    def out(self):
        return (self.folder / "out").read_text()

    def wait_until(self, condition, process=None):
        end = time.monotonic() + LIMIT_S
        while not condition():
            self.assertFalse(process and process.poll() is not None, self.out())
            self.assertLess(time.monotonic(), end, self.out())
            time.sleep(0.05)

    def steps(self, run):
        return [int(path.stem[5:]) for path in (self.folder / run / "checkpoints").glob("ckpt-*.h5")]

    def wait_for_checkpoint(self, process, run, after=-1):
        self.wait_until(lambda: max(self.steps(run), default=-1) > after, process)
        return max(self.steps(run))

    def facts(self, run, number=0):
        """What RUN_DIR/job/ID.txt says of the last job but `number`."""
        file = sorted((self.folder / run / "job").glob("local-*.txt"), key=lambda path: path.stat().st_mtime)[-1 - number]
        return dict(line.split(" ", 1) for line in file.read_text().splitlines())

    def hash(self, run):
        return subprocess.run([PROGRAM, "checkpoint", "hash", self.folder / run], capture_output=True, text=True,
                              check=True).stdout
