# SPDX-License-Identifier: Apache-2.0
"""What jobs/submit asks of Slurm before it writes anything. Called as `asked_test.py .../bin/quern`; Slurm's commands are
scripts here. With a real Slurm: tests/slurm/commands_test.py."""
import sys
import unittest

from submit_case import SubmitCase

# $SEEN/queue has lines "ID STATE NAME" of what the controller knows, $SEEN/accounts the same of the accounting.
SQUEUE = """#!/bin/sh
[ ! -e "$SEEN/silent" ] || { echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1; }
[ -z "$(env | grep ^SQUEUE_)" ] || exit 0 # they hide jobs
name=""
while [ $# -gt 0 ]; do case "$1" in -n) name=$2 ;; -o) format=$2 ;; esac; shift; done
while read -r id state job; do
  case "$state" in RUNNING | PENDING) ;; *) continue ;; esac
  [ -z "$name" ] || [ "$name" = "$job" ] || continue
  echo "$format" | sed "s,%F,$id,; s,%T,$state,"
done <"$SEEN/queue"
"""
SCONTROL = """#!/bin/sh
[ ! -e "$SEEN/silent" ] || { echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1; }
if [ "$2" = config ]; then echo "MaxArraySize            = 100"; exit; fi
for id in "$@"; do :; done
grep "^$id " "$SEEN/queue" | while read -r id state job; do echo "JobId=$id JobName=$job JobState=$state Reason=None"; done | grep . ||
  { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
"""
SACCT = """#!/bin/sh
for word in "$@"; do [ "$last" != -j ] || id=$word; last=$word; done
sed -n "s/^$id //p" "$SEEN/accounts"
"""
TRAIN = ["generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run"]
CHAIN = ["generic", "chain", "RECIPE=mlp.toml", "RUN_DIR=run", "COUNT=2"]


class AskedTest(SubmitCase):
    def setUp(self):
        super().setUp()
        for name, text in (("squeue", SQUEUE), ("scontrol", SCONTROL), ("sacct", SACCT)):
            self.program(name, text)
        self.knows()

    def knows(self, *queue, accounts=()):
        for name, lines in (("queue", queue), ("accounts", accounts)):
            (self.folder / name).write_text("".join(line + "\n" for line in lines))

    def accepted(self, *args, **variables):
        done = self.submit(*args, **variables)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def run_of(self, *jobs):
        """The run folder with these jobs, "ID NAME"."""
        folder = self.folder / "run" / "job"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "jobs.txt").write_text("".join(f"2026-01-01T00:00:00Z {job} {self.folder}/run\n" for job in jobs))

    def test_the_processors_of_an_allocation(self):
        for cpus, values, fits in (("1", ["RANKS=3"], False), ("3", ["RANKS=3"], True), ("4(x2),2", ["NODES=2", "CPUS=4"], True),
                                   ("4(x2),2", ["NODES=3", "CPUS=4"], False), ("2,4(x2)", ["NODES=3", "RANKS=2"], True),
                                   ("?", ["RANKS=3"], True)):
            done = self.submit("-n", "--here", *TRAIN, *values, SLURM_JOB_ID="7", SLURM_JOB_NUM_NODES="3", SLURM_JOB_CPUS_PER_NODE=cpus)
            self.assertEqual(done.returncode, 0 if fits else 2, (cpus, values, done.stderr))
            self.assertEqual(f"the allocation 7 has {cpus} CPU(s) a node (salloc " in done.stderr, not fits)

    def test_the_type_of_mpi(self):
        """As Slurm 22.05 and older ones list them."""
        for listed, known in ((r"MPI plugin types are...\n\tnone\n\tpmi2\n\tcray_shasta", "cray_shasta none pmi2"),
                              (r"srun: MPI types are...\nsrun: none\nsrun: pmi2", "none pmi2"),
                              (r"MPI plugin types are...\n\tnone\n\tpmix\nspecific pmix plugin versions available: pmix_v4", ""),
                              (r"srun: fatal: Could not establish a configuration source", "")):
            self.program("srun", f"#!/bin/sh\n[ $1 = --mpi=list ] && printf '{listed}\\n' >&2\n")
            said = self.submit("-n", *CHAIN).stderr
            self.assertEqual(said.count(f"srun knows {known} here"), 1 if known else 0, said)
            self.assertEqual("srun knows" in said, known != "", said)

    def test_a_run_that_is_queued_or_running(self):
        self.accepted(*TRAIN)
        for state in ("PENDING", "RUNNING"):
            self.knows(f"42 {state} run")
            for words in (TRAIN, [*TRAIN, "AFTER=after:42"]):
                self.assert_refused(words, "/run: job 42 (train) is queued or running", "jobs/stop", "AFTER=afterany:42", printed=True)
        self.assert_refused(CHAIN, "job 42 (train)", printed=True)
        self.assert_refused(["local", *TRAIN[1:]], "job 42 (train)", printed=True)
        done = self.submit(*TRAIN, SQUEUE_STATES="COMPLETED")
        self.assertEqual(done.returncode, 2, done.stdout)
        for after in ("AFTER=42", "AFTER=afterany:42", "AFTER=after:42,afterany:42"):
            self.accepted("-n", *TRAIN, after)
        self.accepted("-n", "generic", "train", "RECIPE=mlp.toml", "RUN_DIR=other")
        self.knows("42 COMPLETED run")
        self.accepted(*TRAIN)

    def test_the_newest_of_several_jobs(self):
        """Who waits for it waits for those that it waits for."""
        self.run_of("41 train", "42 train")
        self.knows("41 RUNNING run", "42 PENDING run")
        self.assert_refused([*TRAIN, "AFTER=afterany:41"], "job 41 (train), 42 (train)", "AFTER=afterany:42", printed=True)
        self.accepted("-n", *TRAIN, "AFTER=afterany:42")

    def test_jobs_that_do_not_train(self):
        self.run_of("41 evaluate", "42 report")
        self.knows("41 RUNNING run", "42 PENDING run")
        self.assertEqual(self.accepted("-n", *TRAIN).stderr.count("warning"), 0)
        (self.folder / "run" / "checkpoints").mkdir()
        self.run_of("41 train")
        self.accepted("-n", "generic", "evaluate", "RUN_DIR=run", "DATA=.")

    def test_chains_wait_for_each_other_by_their_name(self):
        name = self.filled(*CHAIN).split("--job-name=", 1)[1].split("\n")[0]
        self.run_of("41 chain-1", "42 chain-2")
        self.knows(f"41 RUNNING {name}", f"42 PENDING {name}")
        self.accepted("-n", *CHAIN)
        self.assert_refused([*CHAIN, "JOB_NAME=another"], "job 41 (chain-1), 42 (chain-2)", printed=True)
        self.assert_refused(TRAIN, "job 41 (chain-1), 42 (chain-2)", printed=True)

    def test_a_slurm_that_does_not_answer(self):
        self.run_of("41 train")
        (self.folder / "silent").touch()
        said = self.accepted("-n", *TRAIN, "AFTER=7").stderr
        self.assertIn("whether a job of this run is queued or running is not known", said)
        self.assertIn("whether job 7 is there is not known", said)

    def test_jobs_of_after(self):
        self.knows("7 RUNNING a", "8 COMPLETED b", "9 FAILED c", "10 COMPLETED d", "10 CANCELLED d",
                   accounts=["11 COMPLETED", "12 CANCELLED by 0", "13 TIMEOUT"])
        for after in ("7", "8", "11", "7:8", "7,8,afterany:9", "afterany:10:12", "after:9+5", "afternotok:9", "afternotok:7"):
            self.accepted("-n", *TRAIN, f"AFTER={after}")
        for after in ("99999", "7,99999", "afterany:7:99999", "after:99999+5", "9999999999"):
            self.assert_refused([*TRAIN, f"AFTER={after}"], f"AFTER={after}: Slurm knows no job 9999", "squeue")
        for after, job, state in (("9", 9, "FAILED"), ("8:10", 10, "CANCELLED"), ("afterok:12", 12, "CANCELLED"),
                                  ("13", 13, "TIMEOUT")):
            self.assert_refused([*TRAIN, f"AFTER={after}"], f"job {job} has ended as {state}", f"AFTER=afterany:{job}")
        self.assert_refused([*TRAIN, "AFTER=afternotok:8"], "job 8 has succeeded")
        self.assert_refused([*CHAIN, "AFTER=99999"], "Slurm knows no job 99999")
        for after in ("0", "007", "-7", "7_", "7x", "12345678901"):
            self.assert_refused([*TRAIN, f"AFTER={after}"], f"AFTER={after}: job ids")

    def test_the_largest_array(self):
        sweep = ["generic", "sweep", "RECIPE=mlp.toml", "RUN_DIR=run", "GRID=grid"]
        for trials, lines in ((100, []), (101, ["TRIALS_PER_JOB=2", "RANKS=2"])):
            (self.folder / "grid").write_text("seed=1\n" * trials)
            self.accepted("-n", *sweep, *lines)
        for words in (sweep, ["--test", *sweep]):
            self.assert_refused(words, "101 trials make 101 tasks", "at most 100", "MaxArraySize", "TRIALS_PER_JOB=2")
        (self.folder / "silent").touch()
        self.accepted("-n", *sweep)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
