# SPDX-License-Identifier: Apache-2.0
"""jobs/submit refuses what would fail later, names what it knows, and keeps what it submitted. Called as
`submit_test.py .../bin/quern`."""
import os
import re
import subprocess
import sys
import time
import unittest
from pathlib import Path

from submit_case import RECIPE, ROOT, SubmitCase

TRAIN = ["generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run"]


class SubmitTest(SubmitCase):
    def test_usage(self):
        self.assert_refused([], "a site and a template are needed", "perlmutter")
        self.assert_refused(["nowhere", "train"], "no site 'nowhere'", "generic")
        self.assert_refused(["../sites/generic", "train"], "no site")
        self.assert_refused(["generic", "trian"], "no template 'trian'", "train")
        self.assert_refused(["generic", "train", "RECIPE"], "KEY=VALUE")
        self.assertIn("Templates:", self.submit("--help").stdout)

    def test_without_a_slurm(self):
        bin = self.folder / "bin"
        for name in ("sbatch", "squeue", "scontrol"):
            (bin / name).unlink()
        for name in os.listdir("/usr/bin"):
            if not name.startswith("s") or name in ("sed", "seq", "sha256sum", "sort", "stat", "sleep"):
                (bin / name).symlink_to(f"/usr/bin/{name}")
        done = self.submit(*TRAIN, PATH=str(bin))
        self.assertEqual(done.returncode, 2)
        self.assertIn("submit: error: there is no sbatch on the PATH, so no Slurm on this machine: the site local", done.stderr)
        self.assertFalse((self.folder / "run").exists())
        self.assertIn("#SBATCH", self.submit("-n", *TRAIN, PATH=str(bin)).stdout)

    def test_keys(self):
        self.refuse_train("generic", ["NODE=2"], "unknown key 'NODE'", "did you mean NODES", "RUN_DIR")
        self.refuse_train("generic", ["nodes=2"], "unknown key 'nodes'")
        self.refuse_train("generic", ["NODES=2", "NODES=3"], "given twice")
        self.refuse_train("generic", ["$(touch x)=2"], "unknown key")
        self.assert_refused(["generic", "train", "RECIPE=mlp.toml"], "missing: RUN_DIR", "known keys")
        self.assert_refused(["generic", "report", "OUT=out"], "missing: RUN")

    def test_keys_and_what_the_site_makes_of_them(self):
        def keys(site, template):
            done = self.submit("--keys", site, template)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return {line[:17].strip(): line[18:].split()[0] for line in done.stdout.splitlines()}
        train = keys("leonardo-booster", "train")
        self.assertEqual([train[key] for key in ("RECIPE", "SET", "PARTITION", "TIME", "RANKS", "CPUS", "MEM", "REQUEUE")],
                         ["required", "repeatable", "boost_usr_prod", "12:00:00", "4", "8", "494000", "yes"])
        self.assertEqual(keys("leonardo-booster", "report")["PARTITION"], "lrd_all_serial")
        self.assertEqual(keys("frontier", "pipeline")["TIME"], "02:00:00")
        self.assertEqual(keys("generic", "sweep")["RANKS"], "1")

    def test_time_of_preflight(self):
        """It grows with the nodes, unless it is given."""
        for values, seconds in ([], 60), (["NODES=3"], 60), (["NODES=1000", "BCAST="], 310), \
                (["NODES=1000", "PREFLIGHT_TIMEOUT=45"], 45), (["PREFLIGHT_TIMEOUT="], 60):
            self.assertIn(f"\npreflight_timeout={seconds}\n", self.train("generic", *values))
        chain = self.filled("generic", "chain", "RECIPE=mlp.toml", "RUN_DIR=run", "NODES=8", "COUNT=2", "PREFLIGHT_TIMEOUT=99")
        self.assertEqual(chain.count("\npreflight_timeout=99\n"), 2)
        self.refuse_train("generic", ["PREFLIGHT_TIMEOUT=0"], "PREFLIGHT_TIMEOUT=0")
        self.refuse_train("generic", ["PREFLIGHT_TIMEOUT=86401"], "at most 86400 s")

    def test_values(self):
        for value in ("NODES=0", "NODES=-1", "NODES=two", "TIME=soon", "TIME=0", "TIME=1:2:3:4",
                      "REQUEUE=maybe", "PARTITION=a b", 'MEM="16G"', "SET=lr", "SBATCH=mail",
                      "RESUME=none.h5", "RECIPE=none.toml"):
            values = [value] if not value.startswith("RECIPE") else []
            if values:
                self.refuse_train("generic", values, value.split("=")[0])
        self.assert_refused(["generic", "train", "RECIPE=none.toml", "RUN_DIR=run"], "no such file")
        self.assert_refused(["generic", "train", "RECIPE=mlp.toml", "RUN_DIR=my run"], "RUN_DIR", "blanks")
        self.assert_refused(["generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run%j"], "RUN_DIR")
        self.refuse_train("generic", ["QUERN=/no/quern"], "no such program")

    def test_only_a_sweep_is_an_array(self):
        """A kept script may be given to sbatch from a task of an array: its variables are those of another job."""
        data = ["IDX_DIR=.", "DATA_DIR=data"]
        for template, values in (("train", []), ("chain", []), ("pipeline", data), ("scaling", ["BATCH=64"])):
            text = self.filled("generic", template, "RECIPE=mlp.toml", "RUN_DIR=run", *values)
            self.assertNotIn("SLURM_ARRAY", text, template)
        text = self.filled("generic", "sweep", "RECIPE=mlp.toml", "RUN_DIR=run", "GRID=grid")
        self.assertIn("SLURM_ARRAY_TASK_ID", text)

    def test_options_that_have_a_key(self):
        for option, text in (("--array=0-2", "--array"), ("--time=1", "TIME="), ("--output=x", "--output"),
                             ("--nodes=2", "NODES="), ("--ti 1", "TIME="), ("--gres=gpu:2", "site generic-gpu"),
                             ("--gpus-per-node=4", "GPUS_PER_NODE"), ("--ntasks=4", "RANKS="), ("--mem=2G", "MEM= is the key for that"),
                             ("--nice -t1", "TIME="), ("--comment=x", "COMMENT="),
                             ("--reservation=r", "RESERVATION="), ("--mail-user=me", "MAIL="),
                             ("--requeue", "REQUEUE="), ("--mem-per-cpu=1G", "MEM= is the key for memory, and counts a whole node's"),
                             ("--nice --array 0-2", "--array"), ("--signal=TERM@9", "SIGNAL="),
                             ("--clusters=cm4", "export SLURM_CLUSTERS=NAME"), ("--nice -M cm4", "SLURM_CLUSTERS"),
                             ("--cluster=cm4", "SLURM_CLUSTERS")):
            self.refuse_train("generic", [f"SBATCH={option}"], text, f"SBATCH={option}")
        self.refuse_train("generic-gpu", ["SBATCH=--gres=gpu:2"], "SBATCH=--gres=gpu:2: RANKS= is the key for that")
        for option in ("--gres=nvme:100", "--time-min=5", "--nodelist=n1", "--exclusive", "--mail-type=END",
                       "--switches=1", "--wait-all-nodes=1", "--exclude=n2", "--cluster-constraint=x"):
            self.assertIn(f"#SBATCH {option}\n", self.train("generic", f"SBATCH={option}"))

    def test_limits_of_sites(self):
        self.refuse_train("frontier", ["ACCOUNT=p", "NODES=4", "TIME=03:00:00"], "02:00:00", "92-183")
        self.assertIn("--time=06:00:00", self.train("frontier", "NODES=100", "TIME=06:00:00"))
        self.refuse_train("frontier", [], "ACCOUNT is missing", "OLCF")
        # What would take the job is named.
        self.refuse_train("leonardo-booster", ["ACCOUNT=p", "NODES=100"], "1-64 nodes for at most 1-00:00:00; PARTITION=boost_usr_prod "
                          "QOS=boost_qos_bprod takes 65-256 nodes for at most 1-00:00:00")
        self.refuse_train("leonardo-booster", ["ACCOUNT=p", "NODES=2", "TIME=48:00:00"], "1-00:00:00 there",
                          "; PARTITION=boost_usr_prod QOS=boost_qos_lprod takes 1-3 nodes for at most 4-00:00:00")
        done = self.submit("-n", "leonardo-booster", *TRAIN[1:], "ACCOUNT=p", "NODES=300")
        self.assertTrue(done.stderr.endswith("1-64 nodes for at most 1-00:00:00\n"), done.stderr)
        self.refuse_train("roihu-gpu", ["ACCOUNT=p", "NODES=2"], "NODES=2", "allows 1-4")
        self.refuse_train("roihu-gpu", ["ACCOUNT=p", "CPUS=36"], "exactly 72")
        self.refuse_train("truba-akya", ["ACCOUNT=p", "CPUS=4"], "at least 10")
        self.refuse_train("perlmutter", ["ACCOUNT=p", "RANKS=8"], "4 devices a node")
        self.refuse_train("leonardo-booster", ["ACCOUNT=p", "CPUS=16"], "32 CPUs a node")
        self.refuse_train("lumi-g", ["ACCOUNT=p", "PARTITION=huge"], "huge", "standard-g")
        self.refuse_train("generic", ["TIME=10", "SIGNAL=400"], "SIGNAL=400")
        self.assertIn("SIGNAL=60", self.submit("-n", "generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run",
                                               "SIGNAL=60").stderr)

    def test_times(self):
        values = ("generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run")
        done = self.submit(*values, "TIME=12:00")  # M:S for Slurm
        self.assertIn("at most 12 min", done.stdout)
        self.assertEqual(done.stderr.count("TIME=12:00 is 12 min"), 1, done.stderr)
        done = self.submit(*values, "TIME=1-12:30:10")
        self.assertIn("at most 36 h 30 min 10 s", done.stdout)
        self.assertNotIn("submit:", done.stderr)
        done = self.submit("-n", "roihu-gpu", *values[1:], "ACCOUNT=p", "PARTITION=gputest")
        self.assertNotIn("submit:", done.stderr)

    def test_memory_without_a_unit(self):
        for memory, warns in (("16", True), ("4095", True), ("4096", False), ("0", False), ("16G", False), ("100M", False)):
            done = self.submit("-n", "generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run", f"MEM={memory}")
            self.assertEqual((done.returncode, done.stderr.count(f"MEM={memory} is {memory} MB a node (MEM={memory}G: GB)")),
                             (0, int(warns)), done.stderr)

    def test_jobs_of_minutes(self):
        """...do not ask for hours and devices, or they wait for them."""
        def asked(template, *values, site="frontier"):
            lines = self.filled(site, template, "ACCOUNT=p", *values).splitlines()
            return [line[8:] for line in lines if line.startswith(("#SBATCH --time", "#SBATCH --gpus", "#SBATCH --gres"))]
        (self.folder / "run" / "checkpoints").mkdir(parents=True)
        (self.folder / "run" / "recipe.toml").touch()
        data = ["IDX_DIR=.", "DATA_DIR=data"]
        report = ["RUN=run", "OUT=out"]
        self.assertEqual(asked("report", *report), ["--time=00:15:00"])
        self.assertEqual(asked("prepare-data", *data), ["--time=01:00:00"])
        self.assertEqual(asked("prepare-data", *data, "TIME=5", "GPU=yes"), ["--gpus-per-node=1", "--time=5"])
        # Its queue takes nothing else; its evaluation computes.
        self.assertEqual(asked("report", *report, site="truba-kolyoz"), ["--gres=gpu:1", "--time=00:15:00"])
        self.assertEqual(asked("evaluate", "RUN_DIR=run", "DATA=."), ["--gpus-per-node=8", "--time=00:30:00"])
        self.assertEqual(asked("evaluate", "RUN_DIR=run", "DATA=.", "PARTITION=gputest", site="roihu-gpu")[1],
                         "--time=00:15:00")
        plan = asked("pipeline", "RECIPE=mlp.toml", "RUN_DIR=run", *data, "PREPARE_TIME=20", "EVALUATE_TIME=15",
                     "REPORT_TIME=6", "TIME=90")
        self.assertEqual([line for line in plan if "time" in line], [f"--time={n}" for n in (20, 90, 15, 6)])
        for given, nodes in (([], ["4", "1"]), (["EVALUATE_NODES=2"], ["4", "2"])):
            text = self.filled("frontier", "pipeline", "ACCOUNT=p", "RECIPE=mlp.toml", "RUN_DIR=run", *data, "NODES=4", *given)
            self.assertEqual([line[16:] for line in text.splitlines() if line.startswith("#SBATCH --nodes=")],
                             ["1", *nodes, "1"])
        self.assert_refused(["generic", "report", *report, "GPU=yes"], "no devices")

    def test_a_python_that_cannot_read_recipes(self):
        """...is told before the first job of a plan, not by the last one."""
        for name, ends in (("plain", 1), ("new", 0)):
            python = self.folder / name
            python.write_text(f"#!/bin/sh\nexit {ends}\n")
            python.chmod(0o755)
            done = self.submit("-n", "generic", "pipeline", "RECIPE=mlp.toml", "RUN_DIR=run", "IDX_DIR=.", "DATA_DIR=data",
                               f"PYTHON={python}")
            self.assertEqual("needs Python 3.11" in done.stderr, ends == 1, done.stderr)

    def test_a_run_that_is_not_there(self):
        self.assert_refused(["generic", "evaluate", "RUN_DIR=runs/nope", "DATA=."], "runs/nope", "no run")
        self.assert_refused(["generic", "report", "RUN=bin", "OUT=out"], "bin: there is no run")
        self.assertIn("afterok:7", self.filled("generic", "report", "RUN=bin", "OUT=out", "AFTER=7"))

    def test_pages_and_data_that_are_not_there(self):
        (self.folder / "run" / "checkpoints").mkdir(parents=True)
        (self.folder / "run" / "recipe.toml").touch()
        self.assert_refused(["generic", "report", "RUN=run", "OUT=out", "PAGE=swep"], "PAGE=swep", "report, compare, sweep")
        evaluate = ["generic", "evaluate", "RUN_DIR=run"]
        self.assert_refused([*evaluate, "DATA=bin"], "bin: there are no shards")
        self.assert_refused([*evaluate, "DATA=.", "SPLIT=train"], "no shards of train")
        self.filled(*evaluate, "DATA=.", "SPLIT=test")
        self.filled(*evaluate, "DATA=bin", "AFTER=7")

    def test_folders_of_sweeps(self):
        (self.folder / "lr" / "job").mkdir(parents=True)
        for name in ("grid.txt", "submitted.txt"):
            (self.folder / "lr" / "job" / name).touch()
        self.assert_refused(["generic", "evaluate", "RUN_DIR=lr", "DATA=."], "folder of a sweep", "lr/trial-0")
        self.assert_refused(["generic", "report", "RUN=lr", "OUT=out"], "folder of a sweep", "PAGE=sweep", "lr/trial-0")
        self.filled("generic", "report", "RUN=lr", "OUT=out", "PAGE=sweep")

    def test_queues_that_the_site_does_not_name(self):
        self.refuse_train("perlmutter", ["ACCOUNT=p", "QOS=realtime"], "realtime", "LIMIT=:realtime 1-1 1-00:00:00",
                          "perlmutter.env")

    def test_what_the_site_fills_in(self):
        text = self.train("frontier", "NODES=2")
        for line in ("--partition=batch", "--ntasks-per-node=8", "--cpus-per-task=7", "--gpus-per-node=8",
                     "--exclusive", "--time=02:00:00", "--signal=B:USR1@300", "--requeue"):
            self.assertIn(f"#SBATCH {line}\n", text)
        self.assertNotIn("--gpus-per-task", text)
        self.assertNotIn("NCCL_NET=", text)
        self.assertIn("module load PrgEnv-gnu", text)
        half = self.train("leonardo-booster", "RANKS=2")
        self.assertNotIn("--mem=", half)  # only whole nodes take all of the memory
        self.assertIn("--mem=494000", self.train("leonardo-booster"))
        self.assertIn("threads=16", self.train("perlmutter"))  # 32 hardware threads
        # What a site says comes later, and wins.
        self.assertIn("\nlaunch=(srun --wait=20 --kill-on-bad-exit=0 --mpi=pmix ", self.train("generic"))

    def test_values_are_quoted(self):
        text = self.train("generic", "SET=name='a $(touch x) b'", "SET=seed=1", "SBATCH=--mail-type=END",
                          "SBATCH=--licenses=x")
        self.assertIn("#SBATCH --mail-type=END\n#SBATCH --licenses=x\n", text)
        line = next(line for line in text.splitlines() if line.startswith("settings="))
        out = subprocess.run(["bash", "-c", line + '; printf "%s|" "${settings[@]}"'], capture_output=True,
                             text=True, check=True, cwd=self.folder).stdout
        self.assertEqual(out, "--set|name='a $(touch x) b'|--set|seed=1|")
        self.assertFalse((self.folder / "x").exists())

    def test_what_is_kept(self):
        done = self.submit("generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run", "NODES=2")
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("job 42:", "train-42.out", "jobs/stop", "scancel 42"):
            self.assertIn(text, done.stdout)
        job = self.folder / "run" / "job"
        self.assertEqual((self.folder / "sbatch-calls").read_text(),
                         f"--parsable {job.resolve()}/train.sbatch\n")
        script = (job / "train.sbatch").read_text()
        self.assertEqual((job / "train-42.sbatch").read_text(), script)
        recipe = Path(re.search("^recipe=(.*)$", script, re.MULTILINE).group(1))
        self.assertEqual(recipe.parent, job.resolve())
        self.assertEqual(recipe.read_text(), RECIPE.read_text())
        self.assertIn("SRUN=--mpi=pmix", (job / "site.env").read_text())
        self.assertRegex((job / "version.txt").read_text(), r"^quern \d+\.\d+\.\d+ \(commit [0-9a-z.+-]+\)\n$")
        self.assertIn("NODES=2", (job / "submitted.txt").read_text())
        umask = os.umask(0)
        os.umask(umask)
        self.assertEqual({path.stat().st_mode & 0o777 for path in job.iterdir()}, {0o666 & ~umask})

    def test_an_sbatch_that_says_more_than_the_id(self):
        """Some sites put a program of theirs in its place."""
        banner = 'echo "-----"; echo "  Welcome to 3 clusters"; echo "--> Verifying (1)... OK"; echo "12 hours"\n'
        self.program("sbatch", f'#!/bin/sh\n{banner}echo x >>"$SEEN/ids"\necho "4$(wc -l <"$SEEN/ids");main"\n')
        done = self.submit("generic", "chain", "RECIPE=mlp.toml", "RUN_DIR=run", "COUNT=2")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        job = self.folder / "run" / "job"
        self.assertEqual([line.split()[1:3] for line in (job / "jobs.txt").read_text().splitlines()],
                         [["41", "chain-1"], ["42", "chain-2"]])
        self.assertTrue((job / "chain-2-42.sbatch").exists())
        self.assertIn("stop all:    scancel 41 42\n", done.stdout)
        self.program("sbatch", f"#!/bin/sh\n{banner}")
        done = self.submit("generic", "train", "RECIPE=mlp.toml", "RUN_DIR=other")
        self.assertEqual(done.returncode, 2)
        for text in ("Welcome to 3 clusters", "12 hours", "no line with a job id alone", "may be in the queue"):
            self.assertIn(text, done.stderr)
        self.program("sbatch", '#!/bin/sh\necho "--> no such project"\nexit 1\n')
        done = self.submit("generic", "train", "RECIPE=mlp.toml", "RUN_DIR=third")
        self.assertIn("--> no such project\nsubmit: error: Slurm refused the job", done.stderr)

    def test_the_id_is_kept_first(self):
        """Where the disk is full just after sbatch."""
        self.program("sbatch", '#!/bin/sh\nmkdir "$SEEN/run/job/submitted.txt" "$SEEN/run/job/train-42.sbatch"\necho 42\n')
        done = self.submit(*TRAIN)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("scancel 42", done.stderr)
        self.assertIn(" 42 train ", (self.folder / "run" / "job" / "jobs.txt").read_text())

    def test_a_job_that_starts_meanwhile_reads_whole_files(self):
        """Jobs of the run may be starting: what is kept changes at once, and only if it is another text."""
        values = ("generic", "chain", "RECIPE=mlp.toml", "RUN_DIR=run", "COUNT=3")
        self.assertEqual(self.submit(*values).returncode, 0)
        job = self.folder / "run" / "job"
        names = sorted(path.name for path in job.iterdir())
        kept = [name for name in names if not name.endswith(".sbatch") and name != "submitted.txt"]
        before = [(job / name).stat().st_ino for name in kept]
        self.assertEqual(self.submit(*values).returncode, 0)
        self.assertEqual([(job / name).stat().st_ino for name in kept], before)
        self.assertEqual(sorted(path.name for path in job.iterdir()), names)

    def test_jobs_of_one_run_keep_their_recipes(self):
        """The recipe may be edited while a job of the run waits, runs, or is about to start again."""
        for text in ("", "# another\n"):
            (self.folder / "mlp.toml").write_text(text + RECIPE.read_text())
            self.assertEqual(self.submit("generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run").returncode, 0)
        copies = sorted((self.folder / "run" / "job").glob("mlp-*.toml"))
        self.assertEqual(sorted(len(copy.read_text()) - len(RECIPE.read_text()) for copy in copies), [0, 10])

    def test_submitting_again_is_another_try(self):
        """The first job of a plan clears the marks of runs that gave up; the others must see new ones."""
        runs = [self.folder / "run" / "job", self.folder / "run" / "trial-1" / "job"]
        for run in runs:
            run.mkdir(parents=True)
            (run / "GAVE_UP").write_text("diverged\n")
        sbatch = self.folder / "bin" / "sbatch"
        sbatch.write_text(sbatch.read_text() + "ls run/job/GAVE_UP >>marks 2>&1; touch run/job/GAVE_UP\n")
        values = ("generic", "chain", "RECIPE=mlp.toml", "RUN_DIR=run", "COUNT=3")
        self.assertEqual(self.submit("-n", *values).returncode, 0)
        self.assertTrue((runs[1] / "GAVE_UP").exists())
        self.assertEqual(self.submit(*values).returncode, 0)
        self.assertFalse((runs[1] / "GAVE_UP").exists())
        marks = (self.folder / "marks").read_text().splitlines()
        self.assertEqual(["No such file" in mark for mark in marks], [True, False, False], marks)
        # Whoever evaluates a run does not ask for another try.
        self.assertTrue((runs[0] / "submitted.txt").exists())
        done = self.submit("generic", "evaluate", "RUN_DIR=run", "DATA=.")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((runs[0] / "GAVE_UP").exists())

    def start(self, resume):
        """What --resume becomes when a job of the run starts."""
        job = ROOT / "jobs" / "lib" / "job"
        command = (f"set -u; source {job}/requeue.sh; source {job}/run.sh; resume={resume} run_dir=run submission=one; "
                   'choose_resume; echo "$resume"')
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True,
                              cwd=self.folder)
        self.assertEqual(done.stderr, "")
        return done.stdout.strip()

    def test_resume_is_for_the_first_start(self):
        run = self.folder / "run"
        (run / "job").mkdir(parents=True)
        (run / "checkpoints").mkdir()
        (run / "checkpoints" / "ckpt-0000000007.h5").touch()
        (run / "recipe.toml").touch()
        self.assertEqual(self.start("auto"), "auto")
        self.assertFalse((run / "job" / "begun-one").exists())
        for resume, written in (("never", "recipe.toml"), ("a.h5", "checkpoints/ckpt-0000000009.h5")):
            (run / "job" / "begun-one").unlink(missing_ok=True)
            self.assertEqual(self.start(resume), resume)
            self.assertEqual(self.start(resume), resume, "nothing was written: as the first one")
            time.sleep(0.01)  # file systems tell times apart that are so far from each other
            (run / written).touch()
            self.assertEqual(self.start(resume), "auto")

    def test_plans_are_checked_before_anything_is_queued(self):
        data = ["IDX_DIR=.", "DATA_DIR=data"]
        self.assert_refused(["generic", "pipeline", "RECIPE=mlp.toml", "RUN_DIR=run", *data, "SIGNAL=4000"],
                            "SIGNAL")
        self.assert_refused(["roihu-gpu", "scaling", "RECIPE=mlp.toml", "RUN_DIR=run", "BATCH=64",
                             "ACCOUNT=p"], "NODES=2")
        done = self.submit("generic", "pipeline", "RECIPE=mlp.toml", "RUN_DIR=run", *data)
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = (self.folder / "sbatch-calls").read_text().splitlines()
        self.assertEqual(len(calls), 4)
        self.assertIn("--dependency=afterok:42 --kill-on-invalid-dep=yes", calls[1])
        self.assertIn("scancel 42 42 42 42", done.stdout)

    def test_a_chain_waits_for_the_end_of_the_job_before(self):
        """...and not only for its state: its ranks may still write. It may also be quick: the run is
        finished before all of its jobs are queued."""
        sbatch = self.folder / "bin" / "sbatch"
        sbatch.write_text(sbatch.read_text() + "touch run/DONE\n")
        values = ["generic", "chain", "RECIPE=mlp.toml", "RUN_DIR=run", "COUNT=3"]
        done = self.submit(*values)
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = (self.folder / "sbatch-calls").read_text().splitlines()
        self.assertEqual([call.split()[1] for call in calls],
                         ["--dependency=singleton"] + ["--dependency=singleton,afterany:42"] * 2)
        self.assert_refused(values, "DONE")

    def test_slurm_refuses_a_later_job(self):
        sbatch = self.folder / "bin" / "sbatch"
        sbatch.write_text("#!/bin/sh\n[ ! -e one ] || exit 1\ntouch one\necho 42\n")
        done = self.submit("generic", "chain", "RECIPE=mlp.toml", "RUN_DIR=run")
        self.assertEqual(done.returncode, 2)
        self.assertIn("queued before that: 42\n  remove     scancel 42\n", done.stderr)

    def test_sweeps(self):
        text = self.filled("generic", "sweep", "RECIPE=mlp.toml", "GRID=grid", "RUN_DIR=run", "MAX_PARALLEL=3")
        self.assertIn("#SBATCH --array=0-1%3\n", text)
        # Tasks that wait in the queue keep their trials, whatever becomes of the file.
        self.assertIn("trials=(optimizer.lr=1e-3\noptimizer.lr=2e-3)\n", text)
        common = ["generic", "sweep", "RECIPE=mlp.toml", "RUN_DIR=run"]
        self.assert_refused([*common, "GRID=grid", "TRIALS_PER_JOB=3", "RANKS=3"], "only 2 trials")
        self.assert_refused([*common, "GRID=grid", "TRIALS_PER_JOB=2", "RANKS=3"], "shared out equally")
        (self.folder / "six").write_text("seed=1\n" * 6)
        for nodes, ranks, per, fitting in ((2, 3, 3, "1 2 6"), (3, 4, 4, "1 3 6"), (2, 6, 3, "1 2 4 6")):
            self.assert_refused([*common, "GRID=six", f"NODES={nodes}", f"RANKS={ranks}", f"TRIALS_PER_JOB={per}"],
                                f"TRIALS_PER_JOB={per}: each trial has {nodes * ranks // per} ranks", f": {fitting} would fit")
            for share in fitting.split():
                self.filled(*common, "GRID=six", f"NODES={nodes}", f"RANKS={ranks}", f"TRIALS_PER_JOB={share}")
        (self.folder / "bad").write_text("optimizer.lr = 1\n")
        self.assert_refused([*common, "GRID=bad"], "bad:1", "key.path=value")
        (self.folder / "bad").write_text("# nothing\n")
        self.assert_refused([*common, "GRID=bad"], "no trial")
        (self.folder / "bad").write_text("seed=1\n" * 101)
        self.assert_refused(["frontier", *common[1:], "GRID=bad", "ACCOUNT=p"], "at most 100")

    def accepted(self, *args):
        done = self.submit(*args)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def test_options_may_stand_anywhere(self):
        for words in ([TRAIN[0], "-n", *TRAIN[1:]], [*TRAIN, "--print"], [*TRAIN[:3], "-n", *TRAIN[3:]]):
            self.assertIn("#SBATCH", self.accepted(*words).stdout)
        self.assertFalse((self.folder / "run").exists())
        self.assert_refused([*TRAIN, "--prnt"], "unknown option '--prnt'")
        self.accepted(*TRAIN)
        again = self.submit("run", "-n", command=ROOT / "jobs" / "again")
        self.assertIn("submit --go-on generic train", again.stdout, again.stderr)
        self.assertEqual(len(self.calls()), 1)
        stopped = self.submit("run", "--later", command=ROOT / "jobs" / "stop")
        self.assertEqual((stopped.returncode, (self.folder / "run" / "STOP").exists()), (2, False), stopped.stdout)

    def refused_by_slurm(self, *args):
        """What is in the folder before and after; sbatch sees the new files."""
        self.program("sbatch", '#!/bin/sh\nfor file in "$@"; do :; done\ncp "$file" "$SEEN/seen"\n'
                               'ls run/job/GAVE_UP >"$SEEN/mark" 2>&1\necho "sbatch: error: no" >&2\nexit 1\n')
        (self.folder / "seen").touch()
        (self.folder / "mark").touch()
        temporary = self.folder / "temporary"
        temporary.mkdir(exist_ok=True)
        before = self.tree()
        done = self.submit(*args, TMPDIR=str(temporary))
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("submit: error: Slurm refused the job", done.stderr)
        self.assertEqual(self.tree(), before)
        return (self.folder / "seen").read_text()

    def tree(self):
        return {str(path.relative_to(self.folder)): (path.read_bytes(), path.stat().st_mtime_ns) if path.is_file() else None
                for path in self.folder.rglob("*") if path.name not in ("seen", "mark")}

    def test_what_slurm_refuses_leaves_everything_as_it_was(self):
        self.accepted(*TRAIN)
        job = self.folder / "run" / "job"
        (job / "GAVE_UP").write_text("diverged\n")
        (self.folder / "run" / "trial-1" / "job").mkdir(parents=True)
        (self.folder / "run" / "trial-1" / "job" / "GAVE_UP").write_text("diverged\n")
        for file in job.iterdir():
            os.utime(file, (1e9, 1e9))
        (self.folder / "mlp.toml").write_text((self.folder / "mlp.toml").read_text() + "# edited\n")
        self.assertIn("--nodes=3\n", self.refused_by_slurm(*TRAIN, "NODES=3"))
        self.assertIn("No such file", (self.folder / "mark").read_text())
        # No folder of a run that never was, nor those around it.
        self.refused_by_slurm("generic", "train", "RECIPE=mlp.toml", "RUN_DIR=deep/er/run")
        self.refused_by_slurm("generic", "sweep", "RECIPE=mlp.toml", "RUN_DIR=lr", "GRID=grid")

    def test_a_scaling_study_that_slurm_refuses(self):
        study = ["generic", "scaling", "RECIPE=mlp.toml", "RUN_DIR=study", "BATCH=64", "NODE_LIST=1"]
        self.refused_by_slurm(*study)
        self.program("sbatch", "#!/bin/sh\necho 42\n")
        self.accepted(*study)
        (self.folder / "study" / "nodes-1.json").write_text("{}\n")
        self.refused_by_slurm(*study)
        self.program("sbatch", "#!/bin/sh\necho 42\n")
        self.accepted(*study)
        self.assertTrue((self.folder / "study" / "earlier" / "nodes-1.json").exists())
        self.assertFalse((self.folder / "study" / "nodes-1.json").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
