# SPDX-License-Identifier: Apache-2.0
"""Runs the real program: alone or under mpirun, to its end or in the background.

A test file is called with the program and mpirun: `python3 a_test.py .../bin/quern mpiexec`; ctest
sets PYTHONPATH to this folder and what mpirun needs.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = str(Path(sys.argv[1]).resolve())
MPIEXEC = sys.argv[2]

# A rank's number and how many there are, as shells read them: Open MPI's names, then MPICH's.
RANK, SIZE = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}", "${OMPI_COMM_WORLD_SIZE:-$PMI_SIZE}"
# Every rank notes its own exit status (mpirun tells only one of them) and leaves together with the
# others, because mpirun ends whoever is still there when the first one has failed. The note is whole
# when it has its name.
NOTE_STATUS = (f'code=$?; echo $code > "$QUERN_TEST_STATUS/.{RANK}"; '
               f'mv "$QUERN_TEST_STATUS/.{RANK}" "$QUERN_TEST_STATUS/{RANK}"; ')
EACH_RANK = ('"$@"; ' + NOTE_STATUS + f"""
for attempt in $(seq 1200); do
  [ "$(ls "$QUERN_TEST_STATUS" | grep -c '^[0-9]')" -ge "{SIZE}" ] && break
  sleep 0.05
done
exit $code""")
# For ranks that do not end on their own. What others say of one that was killed goes through mpirun, which ends as soon
# as it hears of that one: on a busy machine before they have spoken.
EACH_RANK_ALONE = '"$@"; ' + NOTE_STATUS + '[ $code -lt 128 ] || sleep 0.5; exit $code'
LAUNCHER_VARIABLES = ("OMPI_COMM_", "PMIX_", "PMI_", "SLURM_", "FLUX_", "PALS_")
TIMEOUT_S = 100


class Outcome:
    """How a run ended: `code`, `out`, `err`, and `codes`, the exit status of each rank."""

    def __init__(self, code, out, err, codes):
        self.code, self.out, self.err, self.codes = code, out, err, codes

    def errors(self):
        return [line for line in self.err.splitlines() if "error:" in line]

    def __str__(self):
        return f"exit {self.code}, of ranks {self.codes}\n{self.out}\n{self.err}"


def environment(threads, extra):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(LAUNCHER_VARIABLES)}
    env["OMP_NUM_THREADS"] = str(threads)
    env["OMP_WAIT_POLICY"] = "passive"
    env.update(extra or {})
    return env


class Run:
    """A run in the background. ranks = 0: without mpirun."""

    def __init__(self, *args, ranks=0, threads=1, env=None, cwd=None, each_rank=EACH_RANK):
        self._folder = tempfile.TemporaryDirectory()
        self.status_folder = Path(self._folder.name)
        self.ranks = ranks
        command = [PROGRAM, *map(str, args)]
        if ranks > 0:
            command = [MPIEXEC, "-n", str(ranks), "sh", "-c", each_rank, "sh", *command]
        variables = environment(threads, env) | {"QUERN_TEST_STATUS": str(self.status_folder)}
        # Files, not pipes: nobody reads while the run goes on.
        self.out_file = open(self.status_folder / "out", "w+", encoding="utf-8")
        self.err_file = open(self.status_folder / "err", "w+", encoding="utf-8")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.out_file,
                                        stderr=self.err_file, env=variables, cwd=cwd)

    def rank_pids(self):
        """The processes of the program itself, below mpirun and its shells."""
        found, waiting = [], [self.process.pid]
        while waiting:
            pid = waiting.pop()
            try:
                if os.readlink(f"/proc/{pid}/exe") == PROGRAM:
                    found.append(pid)
                for task in os.listdir(f"/proc/{pid}/task"):
                    children = Path(f"/proc/{pid}/task/{task}/children").read_text()
                    waiting += map(int, children.split())
            except OSError:
                continue  # it has ended meanwhile
        return sorted(found)

    def pid_of_rank(self, rank):
        """Processes start in any order."""
        names = {f"{name}={rank}".encode() for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK")}
        for pid in self.rank_pids():
            if names.intersection(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")):
                return pid
        raise ProcessLookupError(f"no process is rank {rank}")

    def send(self, number, only_first=False):
        pids = self.rank_pids()
        for pid in pids[:1] if only_first else pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def catches(self, number, count):
        """Have so many processes installed a handler for this signal?"""
        catching = 0
        for pid in self.rank_pids():
            try:
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            except OSError:
                continue
            mask = next(int(line.split()[1], 16) for line in lines if line.startswith("SigCgt:"))
            catching += mask >> (number - 1) & 1
        return catching == count

    def err(self):
        """What was written to standard error so far."""
        return (self.status_folder / "err").read_text(encoding="utf-8")

    def kill(self):
        """As when the machine loses power: nobody gets to tidy up."""
        self.send(signal.SIGKILL)
        return self.wait()

    def wait_until(self, condition):
        """False when the run ended first."""
        end = time.monotonic() + TIMEOUT_S
        while not condition():
            if self.process.poll() is not None:
                return False
            if time.monotonic() > end:
                raise TimeoutError(f"waited in vain\n{self.kill()}")
            time.sleep(0.002)
        return True

    def wait(self, timeout_s=TIMEOUT_S):
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
            self.process.kill()
            self.process.wait()
            raise
        finally:
            texts = []
            for file in (self.out_file, self.err_file):
                file.seek(0)
                texts.append(file.read())
                file.close()
            codes = []
            for rank in range(self.ranks):
                file = self.status_folder / str(rank)
                # Empty where the launcher ended the shell while it wrote.
                text = file.read_text() if file.exists() else ""
                codes.append(int(text) if text else None)
            self._folder.cleanup()
        return Outcome(self.process.returncode, *texts, codes or [self.process.returncode])


def quern(*args, **options):
    return Run(*args, **options).wait()
