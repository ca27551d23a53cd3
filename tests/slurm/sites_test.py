# SPDX-License-Identifier: Apache-2.0
"""Every template at every site: filled, good bash, shellcheck and jobs/lint find nothing, and a Slurm
whose nodes and partitions are shaped as the site's would take it (sbatch --test-only). What runs on the
real machines is not tested here: nobody ran it there."""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cluster
import toy
from cluster import PROGRAM, ROOT, SUBMIT

SITES = sorted(path.stem for path in (ROOT / "jobs" / "sites").glob("*.env")
               if "SCHEDULER=none" not in path.read_text())
LINT = ROOT / "jobs" / "lint"
CHECKED_WHOLE = ("generic", "perlmutter", "truba-orfoz")


def site_facts(name):
    facts = {}
    for line in (ROOT / "jobs" / "sites" / f"{name}.env").read_text().splitlines():
        if line and not line.startswith("#"):
            key, _, value = line.partition("=")
            facts.setdefault(key, []).append(value)
    return facts


def shape_of(facts):
    """Three virtual nodes as those of the site."""
    def first(key, default):
        return facts.get(key, [default])[0]
    partitions = {line.split()[0].split(":")[0] for line in facts["LIMIT"]}  # such as gpp:gp_ehpc
    partitions |= {first("SERIAL_PARTITION", "")}
    names = sorted(partitions - {"", "*"}) or ["main"]
    features = {first("CONSTRAINT", ""), first("SERIAL_CONSTRAINT", "")} - {""}
    kind = re.search(r"gpu:([a-z]\w*):", first("GPU_REQUEST", ""))
    return {"NODES": 3, "CPUS": first("CPUS_PER_NODE", "16"), "MEM": 600000,
            "GPUS": first("GPUS_PER_NODE", "0"), "GPU_TYPE": kind.group(1) if kind else "",
            "PARTITIONS": " ".join(names), "FEATURES": ",".join(sorted(features))}


def jobs_of(folder):
    """Template and keys of a call of every template."""
    recipe, run = f"RECIPE={folder}/toy.toml", f"RUN_DIR={folder}/run"
    return {"prepare-data": [f"IDX_DIR={folder}", f"DATA_DIR={folder}/data"],
            "train": [recipe, run, "NODES=2", "SET=train.epochs=3"],
            "chain": [recipe, run, "COUNT=2", "TIME=01:00:00"],
            "sweep": [recipe, run, f"GRID={folder}/grid", "NODES=1"],
            "scaling": [recipe, run, "BATCH=64", "NODE_LIST=1,2", "TIME=10"],
            "evaluate": [f"RUN_DIR={folder}", f"DATA={folder}"],
            "report": [f"RUN={folder}", f"OUT={folder}/report"],
            "pipeline": [f"RECIPE={ROOT}/recipes/mlp-mnist.toml", run, f"IDX_DIR={folder}", f"DATA_DIR={folder}/data"]}


class SitesTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        toy.write_recipe(self.folder)
        (self.folder / "checkpoints").mkdir()
        for name in ("recipe.toml", "data-test-00000-of-00001.h5"):
            (self.folder / name).touch()
        for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
            (self.folder / f"{name}-ubyte").touch()
        (self.folder / "grid").write_text("optimizer.lr=1e-3\noptimizer.lr=2e-3\n")

    def values(self, site, template):
        values = jobs_of(self.folder)[template]
        if site == "roihu-gpu":  # where a job of two nodes needs another partition
            large = {"train": ["PARTITION=gpularge"], "scaling": ["PARTITION=gpularge"]}
            values = values + large.get(template, [])
        return [*values, *(["ACCOUNT=p1"] if "generic" not in site else [])]

    def run_submit(self, *args, env=None):
        done = subprocess.run([str(SUBMIT), *args], capture_output=True, text=True, check=False,
                              cwd=self.folder, env=env, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, f"{args}\n{done.stdout}{done.stderr}")
        return done.stdout

    def fill(self, site, template):
        """Files of the filled jobs, each a script that bash can read."""
        files = []
        text = self.run_submit("-n", site, template, *self.values(site, template), f"QUERN={PROGRAM}")
        for number, script in enumerate(re.split(r"^(?=#!/bin/bash$)", text, flags=re.M)[1:]):
            file = self.folder / f"{site}-{template}-{number}.sbatch"
            file.write_text(script)
            files.append(file)
            self.assertEqual(re.findall(r"@[A-Z_]+@", script), [], file.name)
            checked = subprocess.run(["bash", "-n", file], capture_output=True, text=True, check=False)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""), file.name)
        return files

    def test_filled_jobs_are_good_scripts(self):
        pairs = [(site, template) for site in SITES for template in jobs_of(self.folder)]
        with ThreadPoolExecutor(max_workers=2) as workers:
            filled = dict(zip(pairs, workers.map(lambda pair: self.fill(*pair), pairs)))
        files = [file for some in filled.values() for file in some]
        self.assertGreaterEqual(len(files), 14 * len(SITES))
        found = subprocess.run([sys.executable, LINT, *files], capture_output=True, text=True, check=False)
        self.assertEqual(found.stdout, "0 finding(s)\n")
        if shutil.which("shellcheck"):
            # Sites differ in values and in the lines of SETUP: one template of each, and all of a few. SC2317 takes
            # functions that only a trap calls for unreachable.
            files = [file for (site, template), some in filled.items() for file in some
                     if template == "train" or site in CHECKED_WHOLE]
            found = subprocess.run(["shellcheck", "--format=gcc", "--exclude=SC2317", *files], capture_output=True,
                                   text=True, check=False)
            self.assertEqual(found.stdout, "")

    def test_slurm_of_the_sites_shape_takes_them(self):
        # Several at once: a cluster that starts and stops mostly waits.
        with ThreadPoolExecutor(max_workers=4) as workers:
            for answer in [workers.submit(self.ask, *numbered) for numbered in enumerate(SITES)]:
                answer.result()
        self.assertFalse((self.folder / "run").exists())

    def ask(self, number, site):
        first = 20000 + 500 * number
        machine = cluster.Cluster(**shape_of(site_facts(site)), PORTS=f"{first}-{first + 490}")
        try:
            for template in jobs_of(self.folder):
                self.run_submit("--test", site, template, *self.values(site, template), env=machine.env)
        finally:
            machine.stop()

    def test_sites_say_where_they_are_from(self):
        for site in SITES:
            facts = site_facts(site)
            self.assertTrue({"TITLE", "SOURCE", "CHECKED"} <= set(facts), site)
            if "generic" not in site:
                self.assertIn("never run there", facts["CHECKED"][0], site)
                self.assertIn("UNCERTAIN", facts, site)
                lines = (ROOT / "jobs" / "sites" / f"{site}.env").read_text().splitlines()
                self.assertLessEqual(len(lines), 36, site)


if __name__ == "__main__":
    cluster.main()
