# SPDX-License-Identifier: Apache-2.0
"""What becomes of a job after its step has ended (jobs/lib/job/run.sh), decided without a Slurm; with one:
tests/slurm/requeue_test.py and watch_test.py."""
import fcntl
import pathlib
import subprocess
import sys
import tempfile
import unittest

JOB = pathlib.Path(__file__).resolve().parents[2] / "jobs" / "lib" / "job"

# As train.sbatch has them: start 3 of job 7.
PRELUDE = """
set -u
for part in environment broadcast requeue nodes run; do source "$1/$part.sh"; done
run_dir="$2" max_restarts=20 retries="$3" may_requeue=no ended_because="" stop_asked=no
SLURM_JOB_ID=7 SLURM_RESTART_COUNT=2 launch=(srun) job_name=train
timeout() { shift; "$@"; }
srun() { :; }
start_checkpoints="$(checkpoints_of "$run_dir")"
wrote() { # a checkpoint appears at once, whole
  printf 'new' >"$run_dir/checkpoints/$1.tmp.node1.7" && mv "$run_dir/checkpoints/$1.tmp.node1.7" "$run_dir/checkpoints/$1"
}
"""


def name(step):
    return f"ckpt-{step:010d}.h5"


class EndsTest(unittest.TestCase):
    def setUp(self):
        self.run_dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.checkpoints = self.run_dir / "checkpoints"
        self.checkpoints.mkdir()
        self.checkpoint(10)
        (self.run_dir / "job").mkdir()
        self.idle = self.run_dir / "job" / "idle-starts-7"
        self.retries = 0

    def checkpoint(self, step):
        (self.checkpoints / name(step)).write_text("old")

    def run_script(self, command):
        done = subprocess.run(["bash", "-c", PRELUDE + command, "bash", JOB, self.run_dir, str(self.retries)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def end(self, status, *, wrote=None, because=""):
        """(exit status, what was said) after a step that wrote the checkpoint of a step, or none, and ended with
        `status`."""
        write = "" if wrote is None else f"wrote {name(wrote)};"
        return self.run_script(f"{write} ended_because='{because}'; end_run {status}")

    def test_a_job_notes_itself_where_nobody_has(self):
        jobs = self.run_dir / "job" / "jobs.txt"
        note = f'source "$1/record.sh"; note_this_job 7 train "{self.run_dir}"'
        for before, noted in (("", True), ("2026-01-01T00:00:00Z 17 train /x\n", True),
                              ("2026-01-01T00:00:00Z 7 train /x\n", False)):
            jobs.write_text(before)
            self.assertEqual(self.run_script(f"{note}; {note}"), (0, ""))
            self.assertRegex(jobs.read_text(), f"^{before}" + (f"\\S+Z 7 train {self.run_dir}\n$" if noted else "$"))
        jobs.unlink()
        self.run_script(f"export QUERN_IN_PLACE=x; {note}")
        self.assertFalse(jobs.exists())

    def test_starts_without_progress_are_counted_in_a_row(self):
        for count in "1234":
            self.assertNotIn("no progress", self.end(137, because="hung")[1])
            self.assertEqual(self.idle.read_text(), f"{count}\n")
        self.assertIn("not requeued here", self.end(85, wrote=11)[1])
        self.assertFalse(self.idle.exists())
        for file in self.checkpoints.iterdir():
            file.unlink()
        for _ in range(4):
            self.assertNotIn("no progress", self.end(137, because="hung")[1])
        self.assertIn("no progress in 5 starts: none wrote a checkpoint (no checkpoint yet)",
                      self.end(137, because="hung")[1])

    def test_an_idle_start_is_no_progress(self):
        said = self.end(85)[1]
        self.assertIn("no progress: this start wrote no checkpoint (newest checkpoint: step 10)", said)
        self.checkpoint(20)
        for file in (name(30) + ".tmp.node1.7", "notes"):  # was being written; somebody else's
            (self.checkpoints / file).touch()
            self.assertIn("no progress", self.end(85)[1])
        self.assertIn("no progress", self.run_script(f"rm '{self.checkpoints / name(10)}'; end_run 85")[1])

    def test_a_checkpoint_below_the_newest_is_progress(self):
        """That one is damaged: the program went on from an older one."""
        self.checkpoint(100)
        for step in (60, 70, 100):
            with self.subTest(step):
                self.idle.write_text("4\n")
                self.assertNotIn("no progress", self.end(85, wrote=step)[1])
                self.assertFalse(self.idle.exists())
                self.assertNotIn("no progress", self.end(137, wrote=step, because="hung")[1])
                self.assertIn("RETRIES is 0", self.end(143, wrote=step)[1])
                self.assertIn("before the training had begun", self.end(143)[1])

    def assert_failures(self, count, **end):
        """One more failure, after which that many are counted."""
        said = self.end(137, **end)[1]
        text = (self.run_dir / "job" / "retries-7").read_text()
        self.assertEqual(text.split("\n", 1)[0], str(count), text)
        self.assertIn("not requeued here" if count <= self.retries
                      else f"tried again {self.retries} times without a new checkpoint (RETRIES)", said)

    def test_failures_without_progress_between_them_are_counted(self):
        self.retries = 2
        self.assert_failures(1)
        self.assertIn("not requeued here", self.end(137, because="hung")[1])  # no failure, and no progress
        (self.checkpoints / (name(30) + ".tmp.node1.7")).touch()  # was being written
        self.assert_failures(2)
        (self.checkpoints / name(10)).unlink()
        self.assert_failures(3)

    def test_failures_are_counted_anew_after_progress(self):
        self.retries = 2
        for step in range(20, 100, 10):
            self.assert_failures(1, wrote=step)
        for progress in (lambda: self.end(85, wrote=100),  # in a start that ended well
                         lambda: self.checkpoint(110),  # or whose node died: it counted nothing
                         lambda: self.checkpoint(60)):  # below the newest one, which is damaged
            self.assert_failures(2)
            progress()
            self.assert_failures(1)
        self.assert_failures(2)
        self.assert_failures(3)

    def test_failures_before_the_first_checkpoint(self):
        (self.checkpoints / name(10)).unlink()
        self.retries = 1
        self.assert_failures(1)
        self.assert_failures(1, wrote=10)
        self.assert_failures(2)

    def test_failures_where_nothing_can_be_written(self):
        """The starts of the job are counted then: this is its third one."""
        for file in ("retries-7.part", "idle-starts-7.part"):
            (self.run_dir / "job" / file).mkdir()  # root may write everywhere
        for retries, text in ((2, "tried again 2 times"), (3, "not requeued here")):
            self.retries = retries
            self.assertIn(text, self.end(1)[1])
        self.assertIn("not requeued here", self.end(137, because="hung")[1])
        self.retries = 1
        self.assertIn("not requeued here", self.end(1, wrote=20)[1])

    def test_progress_beside_thousands_of_checkpoints(self):
        """Their list is longer than an argument of a command may be."""
        for step in range(4000):
            self.checkpoint(step)
        self.assertIn("no progress", self.end(85)[1])
        self.assertNotIn("no progress", self.end(85, wrote=4000)[1])
        # The SETUP of a site may have set pipefail: the first new one ends the search, not the answer.
        self.assertNotIn("no progress", self.run_script("set -o pipefail; start_checkpoints=; end_run 85")[1])

    def test_only_a_step_that_wrote_nothing_is_tried_once_more(self):
        self.checkpoint(100)
        for write, tries in (("", 3), (f"wrote {name(60)};", 1)):
            said = self.run_script(f"fails() {{ echo a try; {write} return 7; }}; try_here fails; exit 0")[1]
            self.assertEqual(said.count("a try"), tries, said)

    def test_options_that_srun_never_takes(self):
        for error, status, tries in (("srun: error: Invalid MPI type 'nosuch', --mpi=list for acceptable types", 2, 1),
                                     ("srun: unrecognized option '--nosuch'", 2, 1),
                                     ("srun: error: Unable to create step: More processors requested than permitted", 2, 1),
                                     ("srun: fatal: A and B are mutually exclusive", 2, 1),
                                     ("srun: error: Unable to create step: Socket timed out", 1, 3)):
            with self.subTest(error):
                said = self.run_script(f"""srun() {{ echo "{error}" >&2; return 1; }}
                    has_progressed() {{ false; }}
                    fails() {{ echo a try; return 1; }}; launch=(srun --mpi=nosuch); try_here fails; echo then $?""")[1]
                self.assertEqual(said.count("a try"), tries, said)
                self.assertIn(f"then {status}\n", said)
                self.assertEqual(f"no step ever starts here ({error}): srun is called as srun --mpi=nosuch (SRUN=" in said,
                                 status == 2, said)

    def test_resume_is_for_the_first_attempt_in_an_allocation(self):
        (self.run_dir / "recipe.toml").write_text("of an earlier run")
        for resume, written in (("never", "recipe.toml"), ("a.h5", f"checkpoints/{name(5)}")):
            for writes, then in ((f"printf new >$run_dir/{written}", "auto"), ("true", resume)):
                with self.subTest(resume=resume, then=then):
                    (self.run_dir / "job" / "begun-one").unlink(missing_ok=True)
                    said = self.run_script(f"""
                        resume={resume} submission=one quern=quern recipe=r.toml; launch=(srun) settings=() changes=()
                        has_progressed() {{ false; }}
                        run_step() {{ echo "step: $*"; {writes}; return 137; }}
                        try_here train; exit 0""")[1]
                    steps = [line.split()[-1] for line in said.splitlines() if line.startswith("step: ")]
                    self.assertEqual(steps, [resume, then, then])

    def test_nodes_that_fail_alone(self):
        """(what preflight prints, its status, what each node says) -> status, nodes to leave out, tries"""
        failed = "preflight: failed on node2.centre.org,node3; good on 2 other nodes"
        mixed, none = "starts on node1\nfails on node4\nfails on node2", "fails on node1\nfails on node2"
        for said, status, answers, expected, bad, tries in (
                (failed, 1, "", 1, "node2,node3", 1), ("0: " + failed, 1, "", 1, "node2,node3", 1),
                # A network that is cut in two: each side misses the other.
                (failed + "\npreflight: failed on node1,node4; good on 2 other nodes", 1, "", 1, "", 3),
                ("preflight: refused", 2, mixed, 2, "", 1), ("preflight: good to go", 0, mixed, 0, "", 1),
                ("", 2, none, 2, "", 1), ("", 126, mixed, 1, "node2,node4", 1), ("", 137, none, 137, "", 3),
                ("", 143, mixed, 143, "", 1), ("", 85, mixed, 85, "", 1)):
            with self.subTest(said=said, status=status, answers=answers):
                done = self.run_script(f"""
                    SLURM_JOB_NUM_NODES=4 SLURM_JOB_NODELIST=node[1-4] quern=quern recipe=r.toml ranks=4
                    launch=(srun) settings=() preflight_timeout=77
                    has_progressed() {{ false; }}
                    scontrol() {{ printf 'node%d\n' 1 2 3 4; }}
                    timeout() {{ printf '%s\n' '{answers}'; }}
                    run_step() {{ echo "a try: $*" >&3; echo '{said}' >"$2"; return {status}; }}
                    exec 3>&1
                    try_here check_launch; echo "then $? '$bad_nodes'" """)[1]
                self.assertIn(f"then {expected} '{bad}'\n", done)
                self.assertEqual(done.count("a try"), tries, done)
                self.assertIn("quern preflight r.toml --run-dir ", done)
                self.assertIn(" --ranks 4 --timeout 77\n", done)
                self.assertIn(said, done)
                self.assertEqual(done.count("only some nodes of this job fail"), bad != "")

    def test_a_node_that_kills_a_rank_twice(self):
        """(nodes that each start names, status) -> what the next start leaves out; a second name is of a rank that srun
        ended with the others."""
        line = "quern: error: rank 3 on {}{} has ended without a word (killed, or crashed): all ranks end"
        for starts, status, bad in (((["node2"],), 137, ""), ((["node2"], ["node2"]), 137, "node2"),
                                    ((["node2.centre.org"], ["node2.centre.org"]), 1, "node2"),
                                    ((["node2"], ["node3"]), 137, ""), ((["node2", "node3"], ["node3", "node2"]), 137, ""),
                                    ((["node2"], ["node3"], ["node2"]), 137, "node2"), (([], []), 137, ""),
                                    ((["node2"], ["node2"]), 85, ""), ((["node7"], ["node7"]), 137, "")):
            for place in "", " (stage 1 of 2)":
                with self.subTest(starts=starts, status=status, place=place):
                    (self.run_dir / "job" / "killed-7").unlink(missing_ok=True)
                    log = self.run_dir / "log"
                    log.write_text("")
                    for names in starts:
                        (self.run_dir / "says").write_text("\n".join(line.format(name, place) for name in names) + "\n")
                        said = self.run_script(f"""
                            own_log="{log}" SLURM_JOB_NODELIST=node[1-4] quern=quern recipe=r.toml settings=() changes=()
                            resume=auto submission=one
                            scontrol() {{ printf 'node%d\n' 1 2 3 4; }}
                            run_step() {{ cat "$run_dir/says" >>"$own_log"; return {status}; }}
                            train; echo "then $? '$bad_nodes'" """)[1]
                    self.assertIn(f"then {status} '{bad}'\n", said)
                    self.assertEqual("2 times in this job" in said, bad != "", said)

    def test_a_rank_that_is_killed_for_its_memory_is_not_the_nodes_fault(self):
        log = self.run_dir / "log"
        log.write_text("")
        for _ in range(3):
            said = self.run_script(f"""
                own_log="{log}" SLURM_JOB_NODELIST=node[1-4] quern=quern recipe=r.toml settings=() changes=()
                resume=auto submission=one
                scontrol() {{ printf 'node%d\n' 1 2 3 4; }}
                run_step() {{
                  echo "quern: error: rank 3 on node2 has ended without a word (killed, or crashed): all ranks end" >>"$own_log"
                  echo "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0" >>"$own_log"
                  return 137
                }}
                train; echo "then $? '$bad_nodes'" """)[1]
            self.assertIn("then 137 ''\n", said)

    def test_nodes_are_left_out_where_there_are_others(self):
        for before, answer, left_out in (("(null)", "true", "node2"), ("node[5-6]", "true", "node[5-6],node2"),
                                         ("(null)", "echo Requested node configuration is not available; false", ""),
                                         ("(null)", "echo Invalid account; false", "node2")):
            with self.subTest(before=before, answer=answer):
                done = self.run_script(f"""
                    bad_nodes=node2
                    timeout() {{ shift; "$@"; }}
                    scontrol() {{
                      case $1 in
                        show) echo "JobId=7 ExcNodeList={before} Nice=0" ;;
                        requeue) trap -p TERM ;;
                        update) echo "$*" >&2 && echo "$*" ;;
                      esac
                    }}
                    sbatch() {{ {answer}; }}
                    sleep() {{ :; }}
                    requeue 7 2>/dev/null; trap -p TERM""")[1]
                self.assertEqual("trap" in done, left_out != "", done)
                self.assertIn(f"left out from now on: {left_out}\n" if left_out else "there are no other nodes: node2", done)

    def test_a_requeue_that_is_refused_is_not_tried_again(self):
        for answer, status, tries in (
                ("slurm_update error: Job requeue is Disabled", 1, 1), ("Access/permission denied", 1, 1),
                ("Operation not allowed", 1, 1), ("User is not authorized", 1, 1), ("Invalid job id specified", 1, 1),
                ("timeout: failed to run command 'scontrol': No such file or directory", 127, 1),
                ("timeout: failed to run command 'scontrol': Permission denied", 126, 1),
                ("Unable to contact slurm controller (connect failure)", 1, 4), ("", 124, 4)):
            with self.subTest(answer):
                said = self.run_script(f"""
                    scontrol() {{ [[ $1 == show ]] || {{ echo "{answer}"; echo a try >&3; return {status}; }}; }}
                    sleep() {{ SECONDS=$((SECONDS + 500)); }}
                    exec 3>&1; requeue 7; echo "then $?" """)[1]
                self.assertEqual(said.count("a try"), tries, said)
                self.assertIn("then 1\n", said)
                self.assertEqual("trying for 20 minutes" in said, tries > 1, said)

    def test_nodes_are_left_out_where_the_requeue_ends_scontrol_too(self):
        for state, left_out in (("COMPLETING", True), ("PENDING", True), ("RUNNING", False)):
            with self.subTest(state):
                said = self.run_script(f"""
                    nodes_to_omit=node2
                    choose_nodes_to_omit() {{ :; }}
                    timeout() {{ shift; "$@"; }}
                    scontrol() {{
                      case $1 in
                        show) echo "JobId=7 JobState={state} Reason=None" ;;
                        requeue) return 143 ;;
                      esac
                    }}
                    sleep() {{ SECONDS=$((SECONDS + 500)); }}
                    requeue 7; echo "then $?" """)[1]
                self.assertEqual("left out from now on: node2\n" in said, left_out, said)
                self.assertEqual("trying for 20 minutes" in said, not left_out, said)
                self.assertIn(f"then {int(not left_out)}\n", said)

    def test_a_stop_that_the_program_finds_is_no_wrong_input(self):
        self.assertEqual(self.end(2)[0], 2)
        (self.run_dir / "STOP").touch()
        status, said = self.end(2)
        self.assertEqual(status, 85)
        self.assertIn("asked to stop", said)

    def test_statuses(self):
        for status, expected, text in ((0, 0, "done"), (85, 85, "no progress"), (137, 137, "RETRIES is 0"),
                                       (126, 126, "failed"), (138, 85, "before the training had begun")):
            with self.subTest(status):
                self.assertEqual(self.end(status)[0], expected)
                self.assertIn(text, self.end(status)[1])
                self.assertEqual("more MEM=, fewer RANKS= or a smaller train.micro_block" in self.end(status)[1], status == 137)
        self.assertEqual(self.end(93)[0], 93)
        self.assertIn("exit status 93 of job 7", (self.run_dir / "job" / "GAVE_UP").read_text())

    def test_a_chain_ends_with_what_can_never_pass(self):
        gave_up = self.run_dir / "job" / "GAVE_UP"
        for status in (2, 126, 127, 93):
            gave_up.unlink(missing_ok=True)
            self.assertEqual(self.end(status)[0], status)
            self.assertEqual(gave_up.exists(), status == 93)
            self.assertEqual(self.run_script(f"job_name=chain-1; end_run {status}")[0], status)
            done = self.run_script("SLURM_JOB_ID=8 job_name=chain-2; begin_run")
            self.assertEqual(done[0], status)
            self.assertIn(f"given up: exit status {status} of job 7; its log says why", done[1])
        for name, text in (("train", "here: submit again to go on"), ("chain-1", "here: the next job of the chain continues, or submit again")):
            self.assertIn(text, self.run_script(f"job_name={name} retries=9; end_run 1")[1])
        gave_up.unlink()
        with open(self.run_dir / ".lock", "w", encoding="utf-8") as lock:  # of a training that does not end
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertEqual(self.run_script("job_name=chain-1; end_run 2")[0], 2)
        self.assertFalse(gave_up.exists())
        self.assertEqual(self.run_script("job_name=chain-1; end_run 2")[0], 2)
        self.assertTrue(gave_up.exists())
        gave_up.write_text("by hand\n")
        self.assertEqual(self.run_script("begin_run")[0], 93)
        gave_up.unlink()
        (self.run_dir / "DONE").touch()
        self.assertEqual(self.run_script("begin_run")[0], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
