# SPDX-License-Identifier: Apache-2.0
"""A real Slurm cluster of virtual nodes for the tests of one file, and what became of its jobs.

ctest calls a test file as `python3 a_test.py .../bin/quern .../preload.so`; it ends with 77 where Slurm is missing.
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SUPPORT = Path(__file__).resolve().parent
SUBMIT = ROOT / "jobs" / "submit"
PROGRAM = str(Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else ""
PRELOAD = sys.argv[2] if len(sys.argv) > 2 else ""  # tests/support/preload.cpp
DAEMONS = ("slurmctld", "slurmd", "munged")
FINAL = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY"}
# Of a job that the tests run in. jobs/submit sees to these by itself, and is started with them.
LAUNCHER_VARIABLES = ("OMPI_", "PMIX_", "PMI_", "SLURM_", "SBATCH_", "SRUN_")
OWN_VARIABLES = ("OMP_", "QUERN")


def short_folder(prefix):
    """A new folder with a path short enough for Unix sockets."""
    parent = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix=prefix, dir=parent if len(parent) < 30 else "/tmp"))


def missing_daemons():
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [name for name in DAEMONS if not shutil.which(name, path=path)]


class Cluster:
    """Settings as in virtual-cluster, without CLUSTER_: Cluster(NODES=2, CPUS=3)."""

    def __init__(self, **settings):
        self.folder = short_folder("qc-")
        users = {name: text for name, text in os.environ.items() if not name.startswith(OWN_VARIABLES)}
        self.env = {name: text for name, text in users.items() if not name.startswith(LAUNCHER_VARIABLES)}
        self.env |= {f"CLUSTER_{name}": str(text) for name, text in settings.items()}
        self.env |= {"CLUSTER_DIR": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1",
                     "XDG_CONFIG_HOME": str(self.folder),  # nobody's own defaults
                     "SLURM_CONF": str(self.folder / "etc" / "slurm.conf"), "QUERN": PROGRAM}
        # With many ranks on few cores the tree fence of Slurm 22.05 lets some ranks out of MPI_Init while
        # others are not ready for messages yet, and those crash in Open MPI. The ring does not.
        self.env["SLURM_PMIX_FENCE"] = "ring"
        # What ends without stopping its cluster (a timeout of ctest) must not leave daemons behind.
        self.env["CLUSTER_OWNER"] = str(os.getpid())
        self.users_env = users | self.env
        try:
            self.control("start", timeout_s=300)
        except BaseException:
            self.stop()
            raise

    def control(self, *args, timeout_s=120):
        done = subprocess.run([SUPPORT / "virtual-cluster", *args], env=self.env, timeout=timeout_s,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"virtual-cluster {args}: {done.stdout}{done.stderr}")

    def stop(self):
        self.control("stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def stopped_controller(self):
        """Slurm's controller takes requests meanwhile, and answers none."""
        pid = int((self.folder / "run" / "slurmctld.pid").read_text())
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def hide(self, folder, *nodes):
        """These nodes see an empty folder in its place, as where a file system is not mounted."""
        self.in_nodes(nodes, "mount", "-t", "tmpfs", "none", folder)

    def lock(self, folder, *nodes):
        """These nodes can no longer write there; files that are open there stay so."""
        # By way of a place where nothing is open: that would keep it writable. /dev/shm is the node's own.
        self.in_nodes(nodes, "sh", "-e", "-c", 'mkdir /dev/shm/ro && mount --bind "$0" /dev/shm/ro && '
                      'mount -o remount,bind,ro /dev/shm/ro && mount --bind /dev/shm/ro "$0" && '
                      "umount /dev/shm/ro && rmdir /dev/shm/ro", folder)

    def show(self, folder, *nodes):
        """The end of hide and lock."""
        self.in_nodes(nodes, "umount", "--lazy", folder)

    def in_nodes(self, nodes, *command):
        """A command that sees what these nodes see; they have mounts of their own."""
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        for node in nodes:
            pid = (self.folder / "run" / f"{node}.pid").read_text().strip()
            if os.readlink(f"/proc/{pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt"):
                raise unittest.SkipTest("the nodes share all mounts")
            self.run("nsenter", "--target", pid, *user, "--mount", *command)

    def run(self, *command, cwd=None, check=True, env=None):
        """A command with this cluster's Slurm; its standard output, or the whole outcome."""
        env = (self.users_env if command[0] == SUBMIT else self.env) | {
            name: str(text) for name, text in (env or {}).items()}
        done = subprocess.run([str(part) for part in command], env=env, cwd=cwd,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                              check=False)
        if check and done.returncode != 0:
            raise RuntimeError(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout if check else done

    def facts(self, job):
        """What scontrol tells of a job (the first one of an array)."""
        text = self.run("scontrol", "show", "job", "-o", job).splitlines()[0]
        return dict(pair.split("=", 1) for pair in text.split() if "=" in pair)

    def states(self, job):
        """The states of a job, or of all tasks of an array."""
        return self.run("squeue", "-h", "-r", "-t", "all", "-j", job, "-o", "%T").split()

    def wait(self, job, timeout_s=240):
        """Until the job is over; its state and exit status."""

        def is_over():
            states = set(self.states(job))
            return states and states <= FINAL

        self.wait_until(is_over, timeout_s, lambda: f"job {job} is {self.states(job)}\n{self.queue()}", pause_s=0.4)
        facts = self.facts(job)
        return facts["JobState"], int(facts["ExitCode"].split(":")[0])

    def queue(self):
        return self.run("squeue", "-t", "all", "-o", "%i %T %r")

    @staticmethod
    def wait_until(condition, timeout_s, explain, pause_s=0.1):
        """Questions to Slurm take the cores from the ranks: pause_s between them."""
        end = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(explain())
            time.sleep(pause_s)


class JobTest(unittest.TestCase):
    """Each test class has a cluster and a folder of its own."""

    maxDiff = None
    SHAPE = {"NODES": 2, "CPUS": 4}
    # For jobs that are stopped between two of their checkpoints: a run must not be over before.
    SYNC_MS = 2

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(**cls.SHAPE)
        cls.addClassCleanup(cls.cluster.stop)
        cls.folder = short_folder("qj-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)

    def slow_down(self):
        """Variables for jobs that are to be met alive."""
        return {"LD_PRELOAD": PRELOAD, "QUERN_TEST_SYNC_MS": self.SYNC_MS} if PRELOAD else {}

    def submit(self, *args, check=True, cwd=None, env=None):
        done = self.cluster.run(SUBMIT, *args, cwd=cwd or self.folder, check=False,
                                env=self.slow_down() | (env or {}))
        if check:
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def job(self, *args):
        """Submits one job; its id."""
        return self.jobs(*args)[0]

    def jobs(self, *args):
        return re.findall(r"^job (\d+):", self.submit(*args).stdout, re.MULTILINE)

    def log(self, run, name="train"):
        files = sorted((self.folder / run / "log").glob(f"{name}-*.out"))
        return "".join(file.read_text(errors="replace") for file in files)

    def complete(self, job, run="", **options):
        try:
            state = self.cluster.wait(job, **options)
        except TimeoutError as error:
            self.fail(f"{error}\n{self.log(run, '*') if run else ''}")
        self.assertEqual(state, ("COMPLETED", 0), self.log(run, "*") if run else self.cluster.queue())

    def hash(self, run):
        out = self.cluster.run(PROGRAM, "checkpoint", "hash", run, cwd=self.folder)
        self.assertRegex(out, r"^[0-9a-f]{64}\n$")
        return out.strip()

    def checkpoint_steps(self, run):
        folder = self.folder / run / "checkpoints"
        return sorted(int(file.stem[5:]) for file in folder.glob("ckpt-*.h5"))

    def wait_for_checkpoint(self, job, run, after=-1):
        """Until the job has written a checkpoint of a step beyond `after`."""
        def there():
            if set(self.cluster.states(job)) & FINAL:
                self.fail(f"job {job} ended too early\n{self.log(run, '*')}")
            return max(self.checkpoint_steps(run), default=-1) > after
        self.cluster.wait_until(there, 180, lambda: self.log(run, "*"))
        return self.checkpoint_steps(run)[-1]

    def wait_for_line(self, run, text, name="train"):
        self.cluster.wait_until(lambda: text in self.log(run, name), 180,
                                lambda: f"no '{text}' in\n{self.log(run, '*')}")


def main():
    if missing_daemons():
        print("skipped: no " + ", ".join(missing_daemons()))
        sys.exit(77)
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[3:])
