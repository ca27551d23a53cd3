# SPDX-License-Identifier: Apache-2.0
"""What jobs/submit hands on to the jobs of a plan. Called as `plans_test.py .../bin/quern`."""
import re
import shutil
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

from submit_case import PROGRAM, SUBMIT, SubmitCase

PLANS = {
    "chain": ["RECIPE=mlp.toml", "RUN_DIR=run", "COUNT=3"],
    "pipeline": ["RECIPE=mlp.toml", "RUN_DIR=run", "IDX_DIR=.", "DATA_DIR=data"],
    "scaling": ["RECIPE=mlp.toml", "RUN_DIR=run", "BATCH=64"],
}


class PlansTest(SubmitCase):
    def names(self, plan, *values):
        return re.findall(r"^#SBATCH --job-name=(.*)$", self.filled("generic", plan, *PLANS[plan], *values),
                          re.MULTILINE)

    def test_options_of_every_job(self):
        values = ("MAIL=ada@example.org", "RESERVATION=course", "COMMENT=figure 3, second try",
                  "SBATCH=--licenses=scratch", "SBATCH=--nice=10")
        lines = ("--mail-user=ada@example.org", "--mail-type=END,FAIL", "--reservation=course",
                 '--comment="figure 3, second try"', "--licenses=scratch", "--nice=10")
        jobs = {"chain": 3, "pipeline": 4, "scaling": 4, "sweep": 1, "evaluate": 1, "report": 1}
        (self.folder / "checkpoints").mkdir()
        (self.folder / "recipe.toml").touch()
        own = {"sweep": ["RECIPE=mlp.toml", "RUN_DIR=run", "GRID=grid"], "evaluate": ["RUN_DIR=.", "DATA=."],
               "report": ["RUN=.", "OUT=out"]}
        for template, count in jobs.items():
            text = self.filled("generic", template, *(PLANS | own)[template], *values)
            for line in lines:
                self.assertEqual(text.count(f"#SBATCH {line}\n"), count, f"{template}: {line}\n{text}")
        plain = self.train("generic")
        for option in ("mail", "reservation", "comment"):
            self.assertNotIn(f"--{option}", plain)

    def test_after(self):
        """What AFTER names must be over as well as what the plan itself waits for."""
        self.assertIn("# sbatch --dependency=afterok:7:9\n", self.train("generic", "AFTER=7,9"))
        dependencies = {
            "chain": ["singleton,{}", "singleton,afterany:42,{}", "singleton,afterany:42,{}"],
            "pipeline": ["{}"] + ["afterok:42,{}"] * 3,
            "scaling": ["{}"] * 3 + ["afterany:42:42:42,{}"],
        }
        for plan, expected in dependencies.items():
            (self.folder / "sbatch-calls").unlink(missing_ok=True)
            done = self.submit("generic", plan, *PLANS[plan], "AFTER=7,afterany:8:11")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([call.split()[1] for call in self.calls()],
                             ["--dependency=" + own.format("afterany:8:11,afterok:7") for own in expected])
        for value in ("AFTER=soon", "AFTER=7,", "AFTER=afterok", "AFTER=7;8", "AFTER=7?8", "AFTER=singleton"):
            self.refuse_train("generic", [value], value, "afterany:4711")

    def test_the_report_asks_the_program_of_the_plan(self):
        shutil.copy(PROGRAM, self.folder / "own")
        text = self.filled("generic", "pipeline", *PLANS["pipeline"], "QUERN=own")
        self.assertEqual(len(re.findall(rf"(?m)^(?:export )?(?:quern|QUERN)={self.folder}/own\b", text)), 4)

    def test_again_waits_for_nobody(self):
        """What a run waited for then is over, and Slurm refuses ids that it has forgotten."""
        done = self.submit("generic", "train", *PLANS["chain"][:2], "AFTER=7", "MAIL=ada@example.org")
        self.assertEqual(done.returncode, 0, done.stderr)
        again = self.submit("--print", "run", command=SUBMIT.parent / "again")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("MAIL=ada@example.org", again.stdout)
        self.assertNotIn("AFTER", again.stdout)

    def test_a_dependency_has_one_key(self):
        for template in ("train", "chain"):
            self.assert_refused(["generic", template, *PLANS["chain"][:2], "SBATCH=--dependency=afterok:7"],
                                "--dependency=afterok:7", "AFTER=")

    def test_comment(self):
        for sign in "\"'\\`$#":
            self.refuse_train("generic", [f"COMMENT=a{sign}b"], "COMMENT")

    def test_no_key_is_dropped(self):
        """Every key that a plan takes changes a job of it; what it decides itself is no key of it."""
        for name in ("other", "other/checkpoints"):
            (self.folder / name).mkdir()
        for file in self.folder.glob("*-ubyte"):
            shutil.copy(file, self.folder / "other")
        self.begin_run("begun")
        shutil.copy(self.folder / "mlp.toml", self.folder / "other.toml")
        shutil.copy(PROGRAM, self.folder / "quern")
        other = {"RECIPE": "other.toml", "QUERN": "./quern", "RUN_DIR": "other", "IDX_DIR": "other", "CHECKSUMS": "grid",
                 "SET": "seed=7", "SBATCH": "--nice=7", "MEM": "7G", "COUNT": "2", "REQUEUE": "no", "RESUME": "never",
                 "PREFLIGHT": "no", "MODE": "weak", "BATCH": "128", "NODE_LIST": "1,3", "PREPARE_GPU": "yes",
                 "STRATEGY": "data", "PIPELINE": "2", "TENSOR": "2", "BCAST": "/tmp"}
        small = {"chain": [*PLANS["chain"][:2], "COUNT=1"], "scaling": [*PLANS["scaling"], "NODE_LIST=1"]}
        for template, values in (PLANS | small).items():
            def jobs(key="", value="", template=template, values=values):
                given = [each for each in values if not key or not each.startswith(f"{key}=")]
                text = self.filled("leonardo-booster", template, "ACCOUNT=p", *given, *([f"{key}={value}"] if key else []))
                return [line for line in text.splitlines() if not line.startswith(("# Filled by", "# at "))]
            plain = jobs()
            if template != "scaling":  # CHANGE is for a run that is there
                begun = [each.replace("RUN_DIR=run", "RUN_DIR=begun") for each in values]
                text = self.filled("leonardo-booster", template, "ACCOUNT=p", *begun, "CHANGE=optimizer.lr=0.5")
                self.assertIn("changes=(--change optimizer.lr=0.5)", text)
            listed = self.submit("--keys", "leonardo-booster", template).stdout
            keys = set(re.findall(r"^[A-Z_]+(?= )", listed, re.MULTILINE)) - {
                "ACCOUNT", "CHANGE", "PARTITION", "QOS", "UENV", "VIEW"}  # the last two: sites_test.py
            self.assertGreater(len(keys), 15)
            with ThreadPoolExecutor(4) as pool:
                texts = list(pool.map(lambda key: jobs(key, other.get(key, "33" if key.endswith("TIME") else "3")), keys))
            self.assertEqual([key for key, text in zip(keys, texts) if text == plain], [], template)
        self.assert_refused(["generic", "scaling", *PLANS["scaling"], "NODES=2"], "unknown key 'NODES'", "NODE_LIST")
        self.assert_refused(["generic", "chain", *PLANS["chain"], "REQUEUE=yes"], "unknown key 'REQUEUE'")

    def test_node_counts_of_a_scaling_study(self):
        """What the site has; of those that were asked for the message names the key that was given."""
        study = ["scaling", *PLANS["scaling"]]
        self.assertRegex(self.submit("--keys", "generic", "scaling").stdout, r"(?m)^NODE_LIST +1,2,4 ")
        self.assertRegex(self.submit("--keys", "local", "scaling").stdout, r"(?m)^NODE_LIST +1 ")
        for given in ([], ["NODE_LIST="]):
            text = self.filled("local", *study, *given)
            self.assertEqual(re.findall(r"--nodes=(\d+)$", text, re.MULTILINE), ["1", "1"])
            self.assertIn("\nnode_list=1\n", text)
        self.assert_refused(["local", *study, "NODE_LIST=1,2"], "NODES=2 (of NODE_LIST=1,2): local allows in ")
        self.assert_refused(["local", "train", "RECIPE=mlp.toml", "RUN_DIR=run", "NODES=2"], "NODES=2: local allows in ")

    def test_job_names(self):
        self.assertEqual(self.names("pipeline", "JOB_NAME=paper"),
                         ["paper-prepare-data", "paper-train", "paper-evaluate", "paper-report"])
        self.assertEqual(self.names("scaling", "JOB_NAME=paper"),
                         ["paper-1", "paper-2", "paper-4", "paper-report"])
        self.assertEqual(self.names("chain", "JOB_NAME=paper"), ["paper"] * 3)
        self.assertEqual(self.names("pipeline"), ["data", "run", "run", "report"])

    def test_trials_of_a_sweep_keep_their_numbers(self):
        """A folder is compared with what its trials keep; without that, with the grid of the last submission."""
        values = ["generic", "sweep", "RECIPE=mlp.toml", "RUN_DIR=run", "GRID=grid"]
        self.assertEqual(self.submit(*values).returncode, 0)
        trial = self.folder / "run" / "trial-1"
        (trial / "job").mkdir(parents=True)
        (trial / "recipe.toml").touch()
        self.assertEqual(self.submit(*values).returncode, 0)
        (self.folder / "grid").write_text("optimizer.lr=1e-3\n\toptimizer.lr=2e-3 \noptimizer.lr=3e-3\n")
        self.assertEqual(self.submit(*values).returncode, 0)
        (self.folder / "grid").write_text("optimizer.lr=1e-3\noptimizer.lr=3e-3\n")
        self.assert_refused(values, "trial 1 is 'optimizer.lr=3e-3' there", "trial-1 holds 'optimizer.lr=2e-3'")
        (trial / "job" / "trial").write_text("optimizer.lr=3e-3\n")
        self.assertEqual(self.submit(*values).returncode, 0)
        # A finished trial is of this recipe and these settings, or it is another sweep's.
        (trial / "job" / "common").write_text("recipe 0123456789ab SET=seed=1\n")
        self.assertEqual(self.submit(*values).returncode, 0)
        (trial / "DONE").touch()
        self.assert_refused(values, "trial-1 is finished with recipe 0123456789ab SET=seed=1, and this sweep has")


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
