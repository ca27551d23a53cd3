# SPDX-License-Identifier: Apache-2.0
"""Sites' files: what is wrong with a value is said with file and line. Called as `site_files_test.py .../bin/quern`."""
import shutil
import sys
import unittest

from submit_case import ROOT, SubmitCase

FACTS = ["# mine", "TITLE=mine", "LIMIT=main 1-8 1-00:00:00", "PARTITION=main"]
TRAIN = ["train", "RECIPE=mlp.toml", "RUN_DIR=run"]


class SiteFilesTest(SubmitCase):
    def setUp(self):
        super().setUp()
        for part in ("analysis", "jobs"):
            shutil.copytree(ROOT / part, self.folder / "tree" / part, ignore=shutil.ignore_patterns("__pycache__"))
        self.file = self.folder / "tree" / "jobs" / "sites" / "mine.env"
        self.command = self.folder / "tree" / "jobs" / "submit"

    def write(self, *lines, end="\n"):
        self.file.write_bytes("".join(line + end for line in lines).encode())

    def refused(self, *lines):
        """The one error line about a site of these lines."""
        self.write(*lines)
        done = self.submit("-n", "mine", *TRAIN, command=self.command)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr.removesuffix("\n")

    def test_values(self):
        time = "a time of Slurm was expected: minutes, HH:MM:SS, D-HH:MM:SS or UNLIMITED"
        limit = ("PARTITION[:QOS] FIRST-LAST TIME was expected, nodes and a time of Slurm or UNLIMITED, such as "
                 "main 1-64 1-00:00:00")
        share = "PARTITION[:QOS] FIRST-LAST was expected, such as main 1-4"
        count, number = "a number from 1 on was expected", "a number from 0 on was expected"
        request = ("an option with @GPUS@ for the number of devices was expected, such as --gpus-per-node=@GPUS@")
        for line, expected in (
                ("REQUEUE=No", "yes or no was expected"), ("EXCLUSIVE=Yes", "yes or no was expected"),
                ("UENV=true", "yes or no was expected"), ("ACCOUNT=Required", "one of required, optional was expected"),
                ("TIME=1h", time), ("TIME=0", time), ("TIME=1234567-00:00:00", time), ("LIMIT=main 1-1000", limit),
                ("LIMIT=main 1-1000 2h", limit), ("LIMIT=main 8-1 60", limit), ("LIMIT=2h", limit),
                ("LIMIT=main 1-010 60", limit), ("LIMIT=main 1-8 60 min", limit), ("LIMIT=ma'in 1-8 60", limit),
                ("CPU_LIMIT=main 1", share), ("GPU_LIMIT=1-4", share), ("CPUS_PER_NODE=lots", count),
                ("CPUS_PER_GPU=0", count), ("RANKS_PER_NODE=x", count), ("THREADS_PER_CORE=two", count),
                ("MAX_ARRAY=abc", count), ("SERIAL_CPUS=-1", count), ("GPUS_PER_NODE=four", number),
                ("GPUS_PER_NODE=08", number), ("SERIAL_GPUS=yes", number),
                ("CPUS_RULE=foo", "one of exact, multiple, min, free was expected"),
                ("OMP_BIND=foo", "one of spread, close, none, program was expected"),
                ("HINT=threads", "one of compute_bound, memory_bound, multithread, nomultithread was expected"),
                ("SCHEDULER=pbs", "one of slurm, none was expected"), ("GPU_REQUEST=4", request),
                ("GPU_STEP=--gres=gpu:@GPU@", request), ("SRUN=pmix", "an option was expected, --name=value"),
                ("OPTION=nice=5", "an option was expected, --name=value"),
                ("OPTION=--clusters=cm4", "squeue and scancel would ask another cluster: SLURM_CLUSTERS in the user's shell was expected"),
                ("MEM_FULL_NODE=all", "memory was expected, such as 480G (without a unit: MB)")):
            self.assertEqual(self.refused(*FACTS, line), f"submit: error: {self.file}:5: {line}: {expected}")
        for line, key in (("PARTITION=a b", "PARTITION"), ("QOS=a'b", "QOS"), ("GPU_ACCOUNT_END=_g $x", "GPU_ACCOUNT_END")):
            self.assertEqual(self.refused(FACTS[0], FACTS[2], line), f"submit: error: {self.file}:3: {key}='{line.split('=')[1]}': "
                             "blanks and quotes cannot be in it")

    def test_keys(self):
        self.assertIn(f"{self.file}:5: unknown key 'CPUS' (known: TITLE HOSTS", self.refused(*FACTS, "CPUS=4"))
        self.assertIn(f"{self.file}:5: unknown key 'a]$(touch x)'", self.refused(*FACTS, "a]$(touch x)=4"))
        self.assertIn(f"{self.file}:5: unknown key 'words'", self.refused(*FACTS, "words"))
        self.assertIn(f"{self.file}:5: PARTITION is there twice", self.refused(*FACTS, "PARTITION=b"))
        self.assertIn(f"{self.file}: LIMIT is missing", self.refused("TITLE=mine"))
        self.assertIn(f"{self.file}: CPUS_RULE=exact: CPUS_PER_GPU is missing", self.refused(*FACTS, "CPUS_RULE=exact"))

    def test_the_ends_of_lines(self):
        self.write(*FACTS, "", "  ", "REQUEUE=no \t", "EXCLUSIVE=", end="\r\n")
        done = self.submit("-n", "mine", *TRAIN, command=self.command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("#SBATCH --partition=main\n", done.stdout)
        self.assertIn("#SBATCH --no-requeue\n", done.stdout)
        self.assertNotIn("\r", done.stdout)

    def test_a_time_without_an_end(self):
        for limit, line in (("UNLIMITED", "cost: unknown, TIME=UNLIMITED"), ("0-01:00:00", "cost: at most 1 node-hours")):
            self.write(f"LIMIT=* 1-8 {limit}", "TIME=UNLIMITED", "REQUEUE=no")
            done = self.submit("-n", "mine", *TRAIN, command=self.command)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(line, done.stderr)

    def test_folders_of_sites(self):
        """The first folder that holds the name counts: those of QUERN_SITES, the user's, that of the program."""
        places = [self.folder / "group", self.folder / "shared", self.folder / "config" / "quern" / "sites"]
        for place in places:
            place.mkdir(parents=True)
        own = [place / "generic.env" for place in places]
        variables = {"QUERN_SITES": f"{self.folder}/none::{places[0]}:shared"}
        for file in reversed(own):
            file.write_text(f"LIMIT=* 1-8 60\nPARTITION={file.parent.name}\n")
            done = self.submit("-n", "generic", *TRAIN, **variables)
            self.assertIn(f"#SBATCH --partition={file.parent.name}\n", done.stdout, done.stderr)
            self.assertIn(f"jobs/submit {file} train", done.stdout)
        self.assertIn("--partition=sites\n", self.submit("-n", "generic", *TRAIN).stdout)
        places[1].joinpath("ours.env").write_text("LIMIT=* 1-8 60\n")
        listed = self.submit("--help", **variables).stdout
        self.assertIn(" lumi-g marenostrum5-acc marenostrum5-gpp ours perlmutter ", listed)
        self.assertIn(f"{places[1]} {places[2]} {ROOT}/jobs/sites\n", listed)
        done = self.submit("nowhere", *TRAIN, **variables)
        self.assertEqual(done.returncode, 2)
        self.assertIn(" ours perlmutter perlmutter-cpu roihu-cpu", done.stderr)
        self.assertIn(f"looked for in {self.folder}/none, {places[0]}, {places[1]}, {places[2]}, {ROOT}/jobs/sites)", done.stderr)
        self.assertIn("no site ''", self.submit("", *TRAIN).stderr)
        # Its home is told where there is no XDG_CONFIG_HOME.
        done = self.submit("nowhere", *TRAIN, XDG_CONFIG_HOME="", HOME=str(self.folder))
        self.assertIn(f"{self.folder}/.config/quern/sites", done.stderr)

    def test_paths(self):
        (self.folder / "here.env").write_text("LIMIT=* 1-8 60\nPARTITION=here\n")
        for path in ("here.env", "./here.env", "./here", f"{self.folder}/here.env"):
            done = self.submit("-n", path, *TRAIN)
            self.assertIn("#SBATCH --partition=here\n", done.stdout, done.stderr)
            self.assertIn("for site here;", done.stdout)
        self.assert_refused(["here", *TRAIN], "no site 'here'", "looked for in")
        self.assert_refused(["not.env", *TRAIN], f"no site 'not.env': no such file, from {self.folder}")
        shutil.copy(self.folder / "here.env", self.folder / "a b.env")
        self.assert_refused(["a b.env", *TRAIN], "a b.env': a name of letters")

    def test_the_users_file_of_defaults(self):
        sites = self.folder / "config" / "quern" / "sites"
        sites.mkdir(parents=True)
        (sites / "mine.env").write_text("HOSTS=*.mine.org\r\nLIMIT=* 1-8 60\n")
        defaults = sites.parent / "jobs.env"
        for site in ("mine", str(sites / "mine.env"), "~/config/quern/sites/mine"):
            defaults.write_text(f"SITE={site}\nACCOUNT=p1\n")
            for words in ([], ["mine"], [str(sites / "mine.env")]):
                done = self.submit("-n", *words, *TRAIN, HOME=str(self.folder))
                self.assertIn("#SBATCH --account=p1\n", done.stdout, done.stderr)
            self.assertNotIn("--account", self.submit("-n", "generic", *TRAIN, HOME=str(self.folder)).stdout)
        defaults.write_text("SITE=sites/mine.env\n")
        self.assert_refused(TRAIN, f"{defaults}:1: SITE=sites/mine.env: a name was expected, or a path that begins with / or ~/")
        defaults.unlink()
        hostname = self.folder / "bin" / "hostname"
        hostname.write_text("#!/bin/sh\necho login1.mine.org\n")
        hostname.chmod(0o755)
        self.assertIn("for site mine;", self.submit("-n", *TRAIN).stdout)

    def test_submitted_again(self):
        """...from the same file, also where the variable is not set; the name of a site of the program stays a name."""
        (self.folder / "group").mkdir()
        file = self.folder / "group" / "ours.env"
        file.write_text("LIMIT=* 1-8 60\nPARTITION=ours\n")
        self.assertEqual(self.submit("ours", *TRAIN, QUERN_SITES="group").returncode, 0)
        squeue = self.folder / "bin" / "squeue"
        squeue.write_text("#!/bin/sh\n")
        squeue.chmod(0o755)
        again = ROOT / "jobs" / "again"
        self.assertIn(f" {file} train RECIPE=mlp.toml RUN_DIR=run\n", self.submit("-n", "run", command=again).stdout)
        done = self.submit("run", command=again)
        self.assertIn("train at ours", done.stdout, done.stderr)
        self.assertEqual((self.folder / "run" / "job" / "site.env").read_text(), file.read_text())
        file.unlink()
        self.assertIn(f"no site '{file}'", self.submit("run", command=again).stderr)
        self.assertEqual(self.submit("generic", *TRAIN).returncode, 0)
        self.assertIn("submit --go-on generic train", self.submit("-n", "run", command=again).stdout)

    def test_a_key_that_is_given_empty(self):
        """...drops what the site would fill in."""
        self.write("LIMIT=*:* 1-8 60", "PARTITION=main", "QOS=normal", "CONSTRAINT=fast", "TIME=50", "CPUS_PER_NODE=4",
                   "MEM_FULL_NODE=8G", "SERIAL_PARTITION=small", "SERIAL_QOS=short", "REQUEUE=no")

        def options(*args, site="mine", **variables):
            done = self.submit("-n", site, *args, command=self.command, **variables)
            self.assertEqual(done.returncode, 0, done.stderr)
            jobs = done.stdout.split("#!/bin/bash\n")[1:]
            return [dict(line[10:].split("=", 1) for line in job.splitlines() if line.startswith("#SBATCH --") and "=" in line)
                    for job in jobs], done
        given = {"partition": "main", "qos": "normal", "constraint": "fast", "time": "50", "mem": "8G", "account": "p1"}
        for key in given:
            name = key.upper()
            (job,), done = options(*TRAIN, f"{name}=", SBATCH_ACCOUNT="p1")
            self.assertEqual({name: job.get(name) for name in given}, given | {key: None}, done.stderr)
            self.assertIn(f"RUN_DIR=run {name}=\n", done.stdout)
            self.assertEqual("cost: unknown, no TIME\n" in done.stderr, key == "time", done.stderr)
        (job,), _ = options(*TRAIN, "NODES=", "CPUS=", "REQUEUE=", "SIGNAL=", "JOB_NAME=")
        self.assertEqual([job[name] for name in ("nodes", "cpus-per-task", "signal", "job-name")], ["1", "4", "B:USR1@300", "run"])
        # Of a plan: in the jobs that get the key.
        data = ["IDX_DIR=.", "DATA_DIR=data"]
        pipeline = ["pipeline", *TRAIN[1:], *data]
        jobs, _ = options(*pipeline, "QOS=", "TIME=", "REPORT_TIME=", "ACCOUNT=", SBATCH_ACCOUNT="p1")
        self.assertEqual([job.get("qos") for job in jobs], ["short", None, None, "short"])
        self.assertEqual([job.get("time") for job in jobs], ["01:00:00", None, "00:30:00", None])
        self.assertEqual([job.get("account") for job in jobs], [None] * 4)
        for plan in (["chain", "COUNT=2"], ["scaling", "BATCH=64", "NODE_LIST=1,2"]):
            jobs, _ = options(*plan, *TRAIN[1:], "CONSTRAINT=", "MEM=")
            self.assertEqual([job.get("constraint") for job in jobs[:2]], [None, None])
            self.assertEqual([job.get("mem") for job in jobs[:2]], [None, None])
        (job,), _ = options("prepare-data", *data, "PARTITION=")
        self.assertNotIn("partition", job)
        done = self.submit("mine", *TRAIN, "TIME=", command=self.command)
        self.assertIn("at most as long as Slurm lets it", done.stdout, done.stderr)
        self.assertIn("word TIME=\n", (self.folder / "run" / "job" / "command-train.txt").read_text())

    def test_a_key_that_the_site_wants(self):
        self.refuse_train("frontier", ["ACCOUNT="], "ACCOUNT is missing")
        self.refuse_train("perlmutter", ["ACCOUNT=p", "QOS="], "PARTITION=(the default): not among", "LIMIT=: 1-1 1-00:00:00 to")


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
