# SPDX-License-Identifier: Apache-2.0
"""jobs/lint finds each mistake at its line and leaves good scripts alone."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "lint"
sys.path.insert(0, str(FOLDER))

import variants  # noqa: E402
from variants import GOOD  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
LINT = ROOT / "jobs" / "lint"
# The templates with what they need, at two sites; all sites are in tests/slurm/sites_test.py.
SITES = ("generic", "perlmutter")
TEMPLATES = {"train": "RECIPE={0}/r.toml RUN_DIR={0}/run", "chain": "RECIPE={0}/r.toml RUN_DIR={0}/run COUNT=2",
             "sweep": "RECIPE={0}/r.toml RUN_DIR={0}/run GRID={0}/grid RANKS=2 TRIALS_PER_JOB=2",
             "scaling": "RECIPE={0}/r.toml RUN_DIR={0}/run BATCH=64 NODE_LIST=1,2",
             "evaluate": "RUN_DIR={0}/old DATA={0}", "report": "RUN={0}/old OUT={0}/report",
             "prepare-data": "IDX_DIR={0} DATA_DIR={0}/data"}


def scripts_of(file):
    """Of a file of scripts: name, text, and what must be found as [(line, rule)]."""
    for block in re.split(r"^=== ", (FOLDER / file).read_text("utf-8"), flags=re.M)[1:]:
        name, _, body = block.partition("\n")
        found = [(int(line), rule) for line, rule in re.findall(r"^finds (\d+) ([\w-]+)$", body, flags=re.M)]
        yield name, re.sub(r"^finds .*\n", "", body, flags=re.M).rstrip("\n") + "\n", sorted(found)


class LintTest(unittest.TestCase):
    def lint(self, text, *options):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "job.sbatch"
            file.write_bytes(text.encode())
            return subprocess.run([sys.executable, LINT, *options, file], capture_output=True,
                                  text=True, check=False)

    def found_in(self, texts):
        """What is found in each of the texts, as [(line, rule)], by one call for all."""
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / f"{number}.sbatch" for number in range(len(texts))]
            for file, text in zip(files, texts):
                file.write_bytes(text.encode())
            done = subprocess.run([sys.executable, LINT, "--json", *files], capture_output=True, text=True,
                                  check=False)
        self.assertEqual(done.stderr, "")
        found = {str(file): [] for file in files}
        for one in json.loads(done.stdout):
            found[one["file"]].append((one["line"], one["name"]))
            self.assertTrue(one["text"] and one["why"] and one["fix"], one)
        return list(found.values())

    def names(self, text):
        done = self.lint(text, "--json")
        self.assertEqual(done.stderr, "")
        found = json.loads(done.stdout)
        self.assertEqual(done.returncode, 1 if found else 0)
        for one in found:
            self.assertTrue(one["text"] and one["why"] and one["fix"], one)
        return [(one["line"], one["name"]) for one in found]

    def assert_found(self, old, new, *expected):
        """Changing GOOD so makes these findings and no others."""
        self.assertIn(old, GOOD)
        self.assertEqual(self.names(GOOD.replace(old, new)), sorted(expected))

    def check_all(self, scripts):
        for (name, text, expected), found in zip(scripts, self.found_in([text for _, text, _ in scripts])):
            with self.subTest(name):
                self.assertEqual(found, expected)

    def test_bad_scripts(self):
        scripts = list(scripts_of("bad_scripts.txt"))
        self.assertEqual(len(scripts), 20)
        for _, _, expected in scripts:
            self.assertTrue(expected)
        self.check_all(scripts)

    def test_good_scripts(self):
        scripts = list(scripts_of("good_scripts.txt"))
        self.assertGreaterEqual(len(scripts), 12)
        self.assertEqual({str(expected) for _, _, expected in scripts}, {"[]"})
        self.check_all(scripts)

    def test_small_changes(self):
        scripts = []
        for old, new, wanted in variants.WRITTEN + variants.ASKED + variants.STARTED + variants.ENDED:
            self.assertIn(old, GOOD)
            expected = [(int(line), rule) for line, rule in re.findall(r"(\d+) ([\w-]+)", wanted)]
            scripts.append((repr(new), GOOD.replace(old, new, 1), sorted(expected)))
        self.assertGreater(len(scripts), 100)
        self.check_all(scripts)

    def test_status_that_is_kept(self):
        self.check_all([(body, variants.HEAD + body, []) for body in variants.KEPT])

    def test_every_rule_is_described_and_tested(self):
        """The rules of the sources, of the table in jobs/README.md, and of the tests are the same."""
        sources = "".join(path.read_text() for path in (ROOT / "jobs" / "lib" / "lint").glob("*_rules.py"))
        rules = set(re.findall(r"Finding\([^,()]+(?:\([^()]*\))?[^,()]*,\s*\"([a-z-]+)\"", sources)) | {
            "unmatched-quote", "never-closed"}
        section = (ROOT / "jobs" / "README.md").read_text().split("## Your own scripts")[1].split("\n## ")[0]
        table = "".join(line for line in section.splitlines() if line.startswith("|"))
        self.assertEqual(set(re.findall(r"`([a-z]+(?:-[a-z]+)+|typographic|placeholder)`", table)), rules)
        tests = Path(__file__).read_text() + "".join(path.read_text() for path in FOLDER.iterdir() if path.is_file())
        self.assertEqual({rule for rule in rules if not re.search(r"\d,? \"?" + rule + r"\b", tests)}, set())

    def test_filled_templates(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "r.toml").write_bytes((ROOT / "recipes" / "mlp-mnist.toml").read_bytes())
            for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
                Path(folder, f"{name}-ubyte").touch()
            Path(folder, "grid").write_text("optimizer.lr=1e-3\noptimizer.lr=2e-3\n")
            Path(folder, "old", "checkpoints").mkdir(parents=True)
            for name in ("old/recipe.toml", "data-test-00000-of-00001.h5"):
                Path(folder, name).touch()
            filled = []
            for site in SITES:
                for template, keys in TEMPLATES.items():
                    account = [] if site.startswith("generic") else ["ACCOUNT=p1"]
                    done = subprocess.run([ROOT / "jobs" / "submit", "-n", site, template, *keys.format(folder).split(),
                                           *account], capture_output=True, text=True, check=False, cwd=folder,
                                          stdin=subprocess.DEVNULL, env=dict(os.environ, QUERN=sys.argv[1], XDG_CONFIG_HOME=folder))
                    self.assertEqual(done.returncode, 0, done.stderr)
                    parts = re.split(r"^(?=#!/bin/bash$)", done.stdout, flags=re.M)[1:]
                    filled += [(f"{site} {template}", text, []) for text in parts]
        self.assertGreaterEqual(len(filled), len(SITES) * len(TEMPLATES))
        self.check_all(filled)

    def test_good_script(self):
        self.assertEqual(self.names(GOOD), [])
        self.assertIn("0 finding(s)", self.lint(GOOD).stdout)

    def test_variables_in_directives(self):
        for text in ("$NAME", "${NAME}", "`date`", "$(date)"):
            self.assert_found("job-name=good", f"job-name={text}", (2, "variable-in-directive"))

    def test_tasks_against_gpus(self):
        self.assert_found("per-node=4\n", "per-node=2\n", (5, "tasks-and-gpus"))
        self.assert_found("per-node=4\n", "per-node=8\n", (5, "tasks-and-gpus"))
        self.assert_found("--gpus-per-node=4", "--gres=gpu:a100:2", (5, "tasks-and-gpus"))
        self.assert_found("--gpus-per-node=4", "--gpus=8")
        self.assert_found("srun program", "srun torchrun program", (11, "tasks-and-gpus"))

    def test_hidden_peers(self):
        self.assert_found("--gpus-per-node=4 --gpu-bind=none", "--gpus-per-task=1", (5, "hidden-gpus"))
        self.assert_found("--gpu-bind=none", "--gpu-bind=single:1", (5, "hidden-gpus"))
        self.assert_found("srun program", "srun --gpu-bind=closest program", (11, "hidden-gpus"))

    def test_cores(self):
        self.assert_found("#SBATCH --cpus-per-task=8\n", "", (3, "no-cores"))
        self.assert_found("SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK ", "", (11, "srun-without-cores"))
        self.assert_found("OMP_NUM_THREADS=", "THREADS=", (4, "no-threads"))
        self.assertEqual(self.names(GOOD.replace("export SRUN_CPUS_PER_TASK=", "A=")
                                    .replace("srun p", "srun -c 8 p")), [])

    def test_signal(self):
        self.assert_found("#SBATCH --signal=USR1@300\n", "", (6, "no-signal"))
        self.assert_found("USR1@300", "USR1@60", (7, "short-signal"))
        self.assert_found("USR1@300", "USR1", (7, "short-signal"))
        self.assert_found("USR1@300", "USR1@5000", (7, "signal-and-time"))
        self.assert_found("USR1@300", "B:USR1@300", (7, "signal-not-forwarded"))
        trap = GOOD.replace("USR1@300", "B:USR1@300").replace("srun", "trap 'stop' USR1\nsrun")
        self.assertEqual(self.names(trap), [(12, "trap-waits")])

    def test_signal_under_mpirun(self):
        """What is recommended leads to a script in which nothing is found: no fix leaves B: out."""
        for old, new in (("USR1@300", "USR1@300"), ("USR1@300", "B:USR1@300"), ("#SBATCH --signal=USR1@300\n", "")):
            text = GOOD.replace("srun program", "mpirun program").replace(old, new)
            found = [one for one in json.loads(self.lint(text, "--json").stdout) if "signal" in one["name"]]
            self.assertEqual(len(found), 1, found)
            for part in ("--signal=B:USR1@300", "trap 'kill -USR1 $!' USR1", "mpirun ... & then wait $!"):
                self.assertIn(part, found[0]["fix"])
            self.assertNotIn("without B:", found[0]["fix"])
        trap = GOOD.replace("USR1@300", "B:USR1@300").replace("srun", "trap 'kill -USR1 $!' USR1\nmpirun")
        waits, = json.loads(self.lint(trap, "--json").stdout)
        self.assertEqual(waits["name"], "trap-waits")
        self.assertNotIn("without B:", waits["fix"])

    def test_requeue(self):
        self.assert_found('[[ $? != 85 ]] || scontrol requeue "$SLURM_JOB_ID"\n', "", (7, "no-requeue"))
        self.assert_found("--requeue --open-mode", "--open-mode", (2, "no-requeue"))
        self.assert_found(" --open-mode=append", "", (9, "no-append"))
        self.assert_found("--output=log-%j", "--array=0-3 --output=log-%A_%a",
                          (12, "requeues-whole-array"))

    def test_logs(self):
        self.assert_found("log-%j", "log", (9, "shared-log"))
        self.assert_found("#SBATCH --output=log-%j.out", "#SBATCH -o log", (9, "shared-log"))
        array = GOOD.replace("--output=log-%j", "--array=0-3 --output=log-%A")
        self.assertIn((9, "shared-log"), self.names(array))

    def test_ranks_at_batch_scope(self):
        line = "export RANK=$SLURM_PROCID\nsrun program"
        self.assert_found("srun program", line, (11, "rank-in-batch-scope"))
        inside = "srun bash -c 'export LOCAL_RANK=$SLURM_LOCALID; exec program'"
        self.assertEqual(self.names(GOOD.replace("srun program train", inside)), [])

    def test_launch(self):
        self.assert_found("srun program", "program", (12, "nothing-launched"))
        self.assert_found("srun program train", "srun program train &", (11, "no-wait"))

    def test_network(self):
        self.assert_found("export ", "export NCCL_NET=OFI ", (10, "fixed-network"))
        self.assert_found("export ", "export MASTER_PORT=29500 ", (10, "fixed-port"))

    def test_what_slurm_does_not_read(self):
        self.assert_found("#SBATCH --requeue", "date\n#SBATCH --requeue", (2, "no-append"), (2, "no-requeue"),
                          (9, "directive-after-command"), (10, "directive-after-command"))
        self.assert_found("#SBATCH --job-name", "# SBATCH --job-name", (2, "not-a-directive"))

    def test_first_line(self):
        self.assert_found("#!/bin/bash\n", "\n", (1, "no-interpreter"))
        self.assertEqual(self.names(GOOD.replace("\n", "\r\n")), [(1, "windows-line-ends")])

    def test_other_shells(self):
        """Their lines are not read as those of bash; it is said."""
        text = ("#!/bin/tcsh -f\n#SBATCH --nodes=2 --mem=64 --time=24:00\n# a comment's quote\nsetenv A `date`\n"
                "if ( $?B ) then\n  echo $status\nendif\n#SBATCH --ntasks=2\nfoo \"$argv\" | tee log\n")
        for line in ("#!/bin/tcsh -f", "#!/usr/bin/env -S tcsh -f", "#!/usr/bin/env python3"):
            done = self.lint(text.replace("#!/bin/tcsh -f", line), "--json")
            self.assertEqual([(one["line"], one["name"]) for one in json.loads(done.stdout)],
                             [(2, "memory-unit"), (2, "time-of-minutes"), (8, "directive-after-command")])
            self.assertIn("before line 4", json.loads(done.stdout)[2]["fix"])
            self.assertIn(f"its lines are for {'python3' if 'python' in line else 'tcsh'}, not for a shell like bash: "
                          "only #SBATCH lines are looked at", done.stderr)
        self.assertEqual(self.lint("#!/usr/bin/env bash\ntrue\n").stderr, "")

    def test_allowed(self):
        text = GOOD.replace("#SBATCH --signal=USR1@300\n", "# lint: allow no-signal: short\n")
        self.assertEqual(self.names(text), [])

    def test_odd_files(self):
        for text in ("", "#!/bin/bash", "\xff\x00", "#!/bin/sh\n#SBATCH\n#SBATCH -\nsrun \\",
                     "#!/bin/sh\nsrun $" + "(" * 9999, "case", "for", "if ! (", "trap", "srun", "x=(", "#SBATCH --time= =\n"):
            self.names(text)
        missing = subprocess.run([sys.executable, LINT, "no-such-file"], capture_output=True, text=True,
                                 check=False)
        self.assertEqual(missing.returncode, 2)
        self.assertIn("cannot read no-such-file", missing.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
