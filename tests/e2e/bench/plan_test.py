# SPDX-License-Identifier: Apache-2.0
"""`quern plan`: from what was measured, and measured now; what it prints, writes and refuses. How quick the
machine is is nobody's business here."""
import json
from pathlib import Path

import training
from training import RECIPE

ROOT = Path(__file__).resolve().parents[3]
MACHINE = {"ranks": 1, "nodes": 1, "fma_peak_gflops": 100.0, "memory": {"gb_per_s": 10.0}}
SITES = """# a comment
fast | 2 | 400 | 200 | 2 | 12.5 | made up
slow | 1 | 100 | 10 | 5 | 0.1 | made up
odd | 2 | 400
wrong | 2 | much | 200 | 2 | 12.5 | made up
"""


class PlanTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.write("sites.txt", SITES)
        for samples, time in ((16, 1000.0), (64, 4000.0)):
            self.write_json(f"step-{samples}.json", {
                "benchmark": "step", "machine": MACHINE, "workload": "toy", "global_batch": samples,
                "step_us": time})

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def write_json(self, name, document):
        self.write(name, json.dumps(document))

    def plan(self, *words, recipe="mlp.toml", bench=("step-16.json", "step-64.json"), ranks=0):
        files = [word for file in bench for word in ("--bench", file)]
        return self.quern("plan", recipe, "--figures", "sites.txt", *files, *words, ranks=ranks)

    def steps(self, *words, **options):
        done = self.plan(*words, "--json", "out.json", **options)
        self.assertEqual(done.code, 0, done)
        document = json.loads((self.folder / "out.json").read_text())
        return done.out, document

    def test_from_what_was_measured(self):
        out, document = self.steps("--nodes", "16,4", "--site", "fast", "--set",
                                   "data.global_batch=2048", "--set", "train.micro_block=16")
        one, four, sixteen = document["steps"]
        self.assertEqual([step["nodes"] for step in document["steps"]], [1, 4, 16])
        self.assertEqual([step["ranks"] for step in document["steps"]], [2, 8, 32])
        # A rank of the site is twice as quick as the one that was measured: 1024 samples take what 512 did.
        self.assertAlmostEqual(one["compute_us"], 62.5 * 512, places=3)
        self.assertAlmostEqual(sixteen["compute_us"], 62.5 * 32, places=3)
        self.assertEqual(sixteen["samples_per_rank"], 64)
        self.assertEqual(one["node_bytes"], 0)
        self.assertLess(four["node_bytes"], sixteen["node_bytes"])
        self.assertGreater(one["efficiency"], sixteen["efficiency"])
        parameters = 144 * 19 + 19 + 19 * 10 + 10
        self.assertEqual(document["parameters"], parameters)
        for words in ("# toy on 16 nodes of fast", "32, 2 a node", "2048 samples, at most 64 a rank",
                      "not measured", "to change"):
            self.assertIn(words, out)

    def test_the_advice_fits_the_plan(self):
        out, document = self.steps("--nodes", "32", "--site", "slow", "--set", "data.global_batch=256")
        self.assertLess(document["steps"][-1]["efficiency"], 0.75)
        said = next(line for line in document["advice"] if "reaches" in line)
        batch = int(said.split("data.global_batch = ")[1].split()[0])
        _, better = self.steps("--nodes", "32", "--site", "slow", "--set", f"data.global_batch={batch}")
        self.assertGreaterEqual(better["steps"][-1]["efficiency"], 0.75)
        _, worse = self.steps("--nodes", "32", "--site", "slow", "--set", f"data.global_batch={batch // 2}")
        self.assertLess(worse["steps"][-1]["efficiency"], 0.75)
        self.assertIn(said, out)
        _, document = self.steps("--nodes", "8", "--site", "fast", "--set", "train.micro_block=40",
                                 "--set", "data.global_batch=160")
        self.assertIn("12 of 16 ranks have no micro-block", document["advice"][0])

    def test_one_rank_is_measured_now(self):
        before = training.tree(self.folder)
        done = self.plan("--nodes", "2", "--site", "fast", bench=())
        self.assertEqual(done.code, 0, done)
        self.assertIn("measured now", done.out)
        self.assertEqual(training.tree(self.folder), before)

    def test_sums_inside_a_node_and_a_network_that_were_measured(self):
        rows = [{"bytes": bytes, "partials": 1,
                 "rank_invariant": {"time_us": 30 + bytes / 1000}} for bytes in (4096, 1048576)]
        for nodes in (1, 4):
            self.write_json(f"sums-{nodes}.json", {
                "benchmark": "allreduce", "machine": {**MACHINE, "ranks": 4, "nodes": nodes}, "rows": rows})
        _, document = self.steps("--nodes", "1", "--ranks-per-node", 4, "--cores", 2, bench=(
            "step-16.json", "step-64.json", "sums-1.json"), recipe="mlp.toml")
        step = document["steps"][0]
        self.assertGreater(step["adding_us"], 30)
        # Four ranks on two cores, each with 16 of 49 samples (four micro-blocks).
        self.assertAlmostEqual(step["compute_us"], 2 * 1000, places=3)
        _, document = self.steps("--nodes", "8", "--set", "data.global_batch=512", bench=(
            "step-16.json", "step-64.json", "sums-4.json"))
        self.assertIn("4 nodes", document["network_from"])
        self.assertGreater(document["steps"][-1]["network_us"], 0)

    def test_the_sites_of_the_project(self):
        sites = [line.split("|")[0].strip() for line in
                 (ROOT / "jobs/sites/figures.txt").read_text().splitlines() if not line.startswith("#")]
        self.assertGreaterEqual(len(sites), 3)
        for site in sites:
            self.assertTrue((ROOT / f"jobs/sites/{site}.env").exists(), site)
            environment = (ROOT / f"jobs/sites/{site}.env").read_text()
            done = self.quern("plan", "mlp.toml", "--nodes", "2", "--site", site, "--bench", "step-16.json",
                              "--figures", ROOT / "jobs/sites/figures.txt", "--set",
                              "data.global_batch=512")
            self.assertEqual(done.code, 0, done)
            ranks = environment.split("RANKS_PER_NODE=")[1].split()[0]
            self.assertIn(f"{ranks} a node", done.out)

    def test_bad_input(self):
        self.write("bad.json", "{")
        self.write_json("other.json", {"benchmark": "step", "machine": MACHINE, "workload": "other",
                                       "global_batch": 8, "step_us": 1.0})
        self.write_recipe("staged", RECIPE.replace("[train]", "[parallel]\npipeline = 2\n[train]"),
                          training.MLP_LAYERS)
        before = training.tree(self.folder)
        for words, options, message in (
                (("--nodes", "0"), {}, "'0' is no number of nodes"),
                (("--nodes", "4,,8"), {}, "'' is no number of nodes"),
                (("--nodes", "many"), {}, "'many' is no number of nodes"),
                (("--nodes", "2"), {}, "nothing is known of the network"),
                (("--nodes", "2", "--site", "fsat"), {}, "no figures of the site 'fsat' (known: fast, slow"),
                (("--nodes", "2", "--site", "odd"), {}, "sites.txt:4: 3 columns, expected 7"),
                (("--nodes", "2", "--site", "wrong"), {}, "'much' is no number above 0"),
                (("--nodes", "64", "--site", "fast"), {}, "expected at least one sample per rank"),
                (("--nodes", "2", "--site", "fast"), {"bench": ("absent.json",)}, "'absent.json'"),
                (("--nodes", "2", "--site", "fast"), {"bench": ("bad.json",)}, "'bad.json'"),
                (("--nodes", "2", "--site", "fast"), {"bench": ("other.json",)}, "'other' was measured"),
                (("--nodes", "1"), {"recipe": "absent.toml"}, "absent.toml"),
                (("--nodes", "1", "--ranks-per-node", "2"), {"recipe": "staged.toml"}, "parallel.pipeline"),
                (("--nodes", "1", "--ranks-per-node", "2"), {"recipe": "staged.toml", "bench": ()},
                 "parallel.pipeline = 2: a plan is for ranks"),
                (("--nodes", "1", "--json", "no/out.json"), {}, "no folder 'no'"),
                (("--nodes", "1"), {"bench": (), "ranks": 2}, "measures one rank")):
            done = self.plan(*words, **options)
            self.assertEqual(set(done.codes), {2}, (words, done))
            self.assertEqual(len(done.errors()), 1, done)
            self.assertIn(message, done.err)
        self.assertEqual(training.tree(self.folder), before)


if __name__ == "__main__":
    training.main()
