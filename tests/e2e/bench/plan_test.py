# SPDX-License-Identifier: Apache-2.0
"""`quern plan`: from what was measured, and measured now; what it prints, writes and refuses. How quick the
machine is is nobody's business here."""
import json
import os
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
gpus | 4 | 4000 | 400 | 10 | 100 | 200 | - | 8000 | made up
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
        sites = ("--figures", "sites.txt") if "--site" in words else ()
        return self.quern("plan", recipe, *sites, *files, *words, ranks=ranks)

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
        self.assertIn("12 of 16 ranks have no micro-block: data.global_batch = 640 gives every rank one",
                      document["advice"][0])
        # 17 blocks of 20: the first ranks would take two.
        _, document = self.steps("--nodes", "8", "--site", "fast", "--set", "train.micro_block=20",
                                 "--set", "data.global_batch=340")
        self.assertIn("7 of 16 ranks have no micro-block: data.global_batch = 320", document["advice"][0])
        # 33 of them.
        _, document = self.steps("--nodes", "8", "--site", "fast", "--set", "train.micro_block=20",
                                 "--set", "data.global_batch=660")
        self.assertIn("5 of 16 ranks have no micro-block: data.global_batch = 640 gives every rank 2",
                      document["advice"][0])
        _, document = self.steps("--nodes", "8", "--site", "slow", "--ranks-per-node", "6",
                                 "--set", "train.micro_block=4", "--set", "data.global_batch=192")
        self.assertTrue(any("with a power of two of them (4) twice" in said for said in document["advice"]),
                        document["advice"])
        # On one node they are added in shared memory.
        for nodes, is_said in (("8", True), ("1", False)):
            _, document = self.steps("--nodes", nodes, "--site", "slow", "--ranks-per-node", "32",
                                     "--set", "train.micro_block=1", "--set", "data.global_batch=768")
            self.assertGreater(document["steps"][-1]["partial_sums"], 1)
            self.assertEqual(any("a rank hands on up to" in said for said in document["advice"]), is_said, document["advice"])
        # Three micro-blocks a rank: that is why more leaves a node.
        _, document = self.steps("--nodes", "8", "--site", "slow", "--ranks-per-node", "32",
                                 "--set", "train.micro_block=1", "--set", "data.global_batch=768")
        self.assertFalse(any("a power of two of them" in said for said in document["advice"]), document["advice"])

    def measured(self, name, *sets, ranks=0):
        done = self.quern("bench", "step", "mlp.toml", "--steps", "1", "--rounds", "1", "--json", name,
                          *(word for text in sets for word in ("--set", text)), ranks=ranks)
        self.assertEqual(done.code, 0, done)

    def test_a_step_with_other_settings_is_refused(self):
        self.measured("plain.json")
        same = ("--nodes", "1", "--set", "optimizer.lr=0.5", "--set", "data.global_batch=30", "--set", "seed=5")
        self.assertEqual(self.plan(*same, bench=("plain.json",)).code, 0)
        for sets, message in (
                ("train.precision=bf16", 'with train.precision = "fp32", and the plan is for "bf16"'),
                ("network.layers.fc1.features=20", "with network.layers[1].features = 19, and the plan is for 20"),
                ("train.recompute=true", "with train.recompute = false, and the plan is for true"),
                ("optimizer={type='sgd', lr=0.1}", 'with optimizer.type = "adam"')):
            done = self.plan("--nodes", "1", "--set", sets, bench=("plain.json",))
            self.assertEqual(done.code, 2, done)
            self.assertIn(f"a step of 'toy' was measured {message}", done.err)
        self.measured("split.json", "parallel.pipeline=2", ranks=2)
        done = self.plan("--nodes", "1", bench=("split.json",))
        self.assertEqual(done.code, 2, done)
        self.assertIn("whose network was split over ranks", done.err)

    def test_memory_is_that_of_a_dry_run(self):
        """Of large layers, and where all batches are full: a plan does not know the last one."""
        sets = ("network.layers.fc1.features=4000", "data.global_batch=60", "train.micro_block=15")
        words = [word for text in sets for word in ("--set", text)]
        for ranks in (1, 2, 4):
            with self.subTest(ranks):
                dry = self.quern("train", "mlp.toml", "--dry-run", *words, ranks=ranks)
                line = next(line for line in dry.out.splitlines() if line.startswith("memory  "))
                planned = self.plan("--nodes", "1", "--ranks-per-node", str(ranks), *words)
                self.assertIn(line + "\n", planned.out)
                # The model and two averages of each parameter.
                parameters = 144 * 4000 + 4000 + 4000 * 10 + 10
                self.assertIn(f"for checkpoints {3 * 4 * parameters / 2**20:.1f} MiB more on rank 0", line)
        _, document = self.steps("--nodes", "1", *words)
        self.assertEqual(document["checkpoint_copy_bytes"], 3 * 4 * parameters)

    def test_turns_on_processors_are_not_those_of_a_site(self):
        ranks = len(os.sched_getaffinity(0)) + 1
        done = self.plan("--nodes", "1", "--site", "fast", "--ranks-per-node", str(ranks), bench=(), ranks=ranks)
        self.assertEqual(set(done.codes), {2}, done)
        self.assertEqual(len(done.errors()), 1, done)
        self.assertIn(f"--site: {ranks} ranks with 1 thread each are more than the processors here", done.err)

    def test_one_rank_is_measured_now(self):
        before = training.tree(self.folder)
        done = self.plan("--nodes", "2", "--site", "fast", bench=())
        self.assertEqual(done.code, 0, done)
        self.assertIn("measured now", done.out)
        self.assertEqual(training.tree(self.folder), before)

    def test_all_ranks_of_a_node_are_measured_at_once(self):
        before = training.tree(self.folder)
        done = self.plan("--nodes", "1", bench=(), ranks=2)
        self.assertEqual(set(done.codes), {0}, done)
        self.assertIn("steps of 2 ranks on this machine at once", done.out)
        self.assertRegex(done.out, r"ranks +2, 2 a node")
        self.assertEqual(training.tree(self.folder), before)

    def staged(self):
        self.write_recipe("staged", RECIPE.replace("[train]", "[parallel]\npipeline = 2\nmicro_batches = 4\n[train]"),
                          training.MLP_LAYERS)

    def test_stages(self):
        self.staged()
        out, document = self.steps("--nodes", "1,2", "--ranks-per-node", 2, "--site", "fast", "--set", "data.global_batch=64", "--set", "train.micro_block=16",
                                   recipe="staged.toml")
        one, two = document["steps"]
        self.assertEqual((one["data_ranks"], one["micro_batches"], two["data_ranks"], two["micro_batches"]), (1, 4, 2, 2))
        # Multiply-adds of a sample: nobody wants the gradient of the first layer's input.
        first, second = 2 * 144 * 19, 3 * 19 * 10
        stages = one["stages"]
        self.assertEqual([stage["first_layer"] for stage in stages], ["flatten1", "fc2"])
        self.assertAlmostEqual(stages[0]["work"], first / (first + second), places=9)
        self.assertAlmostEqual(stages[1]["work"], second / (first + second), places=9)
        # Nineteen units of 16 samples, in whole vectors.
        crossing = stages[0]["micro_batch_bytes_forward"]
        self.assertTrue(4 * 16 * 19 <= crossing < 3 * 4 * 16 * 19, crossing)
        self.assertEqual(stages[1]["micro_batch_bytes_backward"], crossing)
        self.assertEqual((stages[0]["micro_batch_bytes_backward"], stages[1]["micro_batch_bytes_forward"]), (0, 0))
        # A rank of the site is twice as quick: 64 samples take what 32 did.
        whole = 62.5 * 32
        self.assertAlmostEqual(one["compute_us"], whole * first / (first + second), places=3)
        self.assertAlmostEqual(one["idle_us"], whole * second / (first + second) / 4, places=3)
        self.assertEqual(one["node_bytes"], 0)
        self.assertEqual(two["node_bytes"], 2 * two["micro_batches"] * two["stages"][0]["micro_batch_bytes_forward"])
        self.assertEqual(one["step_us"], sum(one[f"{part}_us"] for part in (
            "compute", "idle", "crossing", "layers", "messages", "network", "adding", "batch_sums")))
        for words in ("2 data x 2 stages x 1 part of a layer", "'flatten1' to 'relu1'", "'fc2' to 'fc2'",
                      "goes with its multiply-adds", "has 91 % of the work"):
            self.assertIn(words, out)

    def test_a_grid_that_needs_several_nodes_is_compared_with_the_fewest(self):
        self.staged()
        out, document = self.steps("--nodes", "4", "--ranks-per-node", 1, "--site", "fast", "--set",
                                   "data.global_batch=64", recipe="staged.toml")
        self.assertEqual([step["nodes"] for step in document["steps"]], [2, 4])
        self.assertEqual(document["steps"][0]["efficiency"], 1)
        self.assertIn("of that of 2 nodes per node", out)

    def test_parts_of_layers(self):
        layers = '[{type = "flatten"}, {type = "linear", features = 128}, {type = "linear", features = 10}]'
        self.write_recipe("parts", RECIPE.replace("[train]", "[parallel]\ntensor = 2\n[train]"), layers)
        out, document = self.steps("--nodes", "1", "--ranks-per-node", 2, "--site", "fast", "--set",
                                   "data.global_batch=64", "--set", "train.micro_block=64", recipe="parts.toml")
        self.assertIn(" in 1 exchange inside of layers", out)
        step = document["steps"][0]
        first, second = 2 * 144 * 128, 3 * 128 * 10  # the second has fewer units than slices
        part = (first / 2 + second) / (first + second)
        self.assertAlmostEqual(step["stages"][0]["work"], part, places=9)
        self.assertAlmostEqual(step["compute_us"], 62.5 * 32 * part, places=3)
        # The first layer's outputs are gathered; nobody wants the gradient of its input.
        stage = step["stages"][0]
        self.assertEqual(stage["micro_batch_exchanges"], 1)
        half = 4 * 64 * 128 / 2
        self.assertTrue(half <= stage["micro_batch_exchanged_bytes"] < 1.1 * half, stage)
        self.assertGreater(step["layers_us"], 0)

    def test_stages_and_parts_are_measured_alone(self):
        self.staged()
        before = training.tree(self.folder)
        for settings in ((), ("--set", "parallel.tensor=2")):
            out, document = self.steps("--nodes", "1", "--ranks-per-node", 2 + len(settings), "--set",
                                       "data.global_batch=64", *settings, recipe="staged.toml", bench=())
            self.assertIn("measured now", out)
            self.assertNotIn("multiply-adds", out)
            self.assertGreater(document["steps"][0]["compute_us"], 0)
        self.assertEqual(training.tree(self.folder), {**before, **{
            name: content for name, content in training.tree(self.folder).items() if name == "out.json"}})

    def test_sums_inside_a_node_and_a_network_that_were_measured(self):
        rows = [{"bytes": bytes, "partials": 1,
                 "rank_invariant": {"time_us": 30 + bytes / 1000}} for bytes in (4096, 1048576)]
        for nodes in (1, 4):
            self.write_json(f"sums-{nodes}.json", {
                "benchmark": "allreduce", "machine": {**MACHINE, "ranks": 4, "nodes": nodes}, "rows": rows})
        out, document = self.steps("--nodes", "1", "--ranks-per-node", 4, "--cores", 2, bench=(
            "sums-1.json", "step-16.json", "step-64.json"), recipe="mlp.toml")
        self.assertIn("quern bench step, step-16.json and others", out)
        step = document["steps"][0]
        self.assertGreater(step["adding_us"], 30)
        # Four ranks on two cores, each with 16 of 49 samples (four micro-blocks).
        self.assertAlmostEqual(step["compute_us"], 2 * 1000, places=3)
        _, document = self.steps("--nodes", "8", "--set", "data.global_batch=512", bench=(
            "step-16.json", "step-64.json", "sums-4.json"))
        self.assertIn("4 nodes", document["network_from"])
        self.assertGreater(document["steps"][-1]["network_us"], 0)

    def test_sums_take_longer_after_a_step(self):
        """As much as was measured, where the same recipe is on as many ranks."""
        rows = [{"bytes": bytes, "partials": 1, "workload": name,
                 "rank_invariant": {"time_us": 30 + bytes / 1000, "after_step_us": after}}
                for name, bytes, after in (("toy", 12000, 142), ("other", 1048576, 5000))]
        for nodes in (1, 4):
            # Between nodes four ranks halve: two rounds there, two back.
            sent = {"halving": {"messages": 4, "floats": 1.5 * 12000 / 4}} if nodes == 4 else {}
            self.write_json(f"sums-{nodes}.json", {
                "benchmark": "allreduce", "machine": {**MACHINE, "ranks": 4, "nodes": nodes},
                "rows": [row | sent for row in rows]})
        steps = ("step-16.json", "step-64.json")
        words = ("--set", "data.global_batch=64", "--set", "train.micro_block=16")
        for nodes, ranks in ((1, 4), (4, 1)):
            out, document = self.steps("--nodes", nodes, "--ranks-per-node", ranks, "--cores", 4, *words,
                                       bench=(*steps, f"sums-{nodes}.json"))
            step = document["steps"][-1]
            if nodes == 1:
                gradient = 1000 * (step["adding_us"] - 30)
            # 100 us more for 12000 bytes.
            expected = 100 * gradient / 12000
            if nodes == 4:  # by what is added and sent, of which halves are whole groups of lanes
                expected = 100 * (5 / 4 * gradient + step["rank_bytes"]) / (5 / 4 * 12000 + 1.5 * 12000)
            self.assertAlmostEqual(step["after_step_us"], expected, places=6)
            self.assertIn("more after a step", out)
            self.assertAlmostEqual(step["step_us"], sum(step[f"{part}_us"] for part in (
                "compute", "messages", "network", "adding", "batch_sums", "after_step")), places=6)
        # Unless ranks take turns inside a node, or nothing was measured.
        for cores, files in ((2, (*steps, "sums-1.json")), (4, steps)):
            _, document = self.steps("--nodes", 1, "--ranks-per-node", 4, "--cores", cores, *words, bench=files)
            self.assertEqual(document["steps"][-1]["after_step_us"], 0)

    def test_gpus_are_estimated_from_their_figures(self):
        words = ("--nodes", "2", "--site", "gpus", "--set", "data.global_batch=2048", "--set",
                 "train.micro_block=64")
        out, document = self.steps(*words, bench=())
        one, two = document["steps"]
        self.assertIn("no GPU has confirmed it", out)
        self.assertIn("no GPU has confirmed it", document["estimate"])
        self.assertTrue(any("40 % of the peak" in text for text in document["assumed"]), document["assumed"])
        # A layer reads its input twice and its output's gradient, and writes its output and its input's gradient:
        # 144 to 19, 19, 19 to 10. Parameters with two moments are touched ten times. 80 % of 100 GB/s.
        sample = 4 * (3 * (144 + 19 + 19) + 2 * (19 + 19 + 10))
        self.assertGreater(sample / 0.8e11, 2 * (2 * 144 * 19 + 3 * 19 * 10) / 0.4e12)
        parameters = one["compute_us"] - 512 * sample / 0.8e11 * 1e6
        floats = 144 * 19 + 19 + 19 * 10 + 10
        self.assertGreaterEqual(parameters, 10 * 4 * floats / 0.8e11 * 1e6 - 1e-6)
        self.assertLess(parameters, 3 * 10 * 4 * floats / 0.8e11 * 1e6)
        self.assertAlmostEqual(one["compute_us"] - two["compute_us"], 256 * sample / 0.8e11 * 1e6, places=6)
        self.assertEqual(one["node_bytes"], 0)
        self.assertGreater(two["network_us"], 0)
        self.assertEqual(two["hidden_us"], 0)  # one bucket
        self.assertEqual(self.plan(*words, "--set", "train.precision=bf16", bench=()).code, 0)
        # Each GPU has parameters, gradient and both averages, also where all are on one node.
        wide = [self.steps("--nodes", str(nodes), "--site", "gpus", "--batch-per-rank", "64", "--set",
                           "network.layers.fc1.features=4000", bench=())[1]["steps"][-1]["memory_bytes"] for nodes in (1, 2)]
        self.assertGreater(wide[0], 4 * 4 * (144 * 4000 + 4000 * 10))
        self.assertAlmostEqual(wide[0], wide[1], delta=0.1 * wide[1])
        before = training.tree(self.folder)
        for more, options, message in (
                (("--set", "train.precision=tf32"), {}, 'train.precision = "tf32": the GPUs of \'gpus\' have no figures'),
                ((), {"bench": ("step-16.json",)}, "--bench: the site 'gpus' has GPUs"),
                (("--ranks-per-node", "2"), {}, "--ranks-per-node: the site 'gpus' has GPUs, 4 on a node"),
                (("--set", "parallel.pipeline=2"), {}, "parallel.pipeline: the site 'gpus' has GPUs"),
                (("--set", "parallel.tensor=2"), {"ranks": 2}, "parallel.tensor: the site 'gpus' has GPUs")):
            done = self.plan(*words, *more, **{"bench": (), **options})
            self.assertEqual(set(done.codes), {2}, (more, done))
            self.assertEqual(len(done.errors()), 1, done)
            self.assertIn(message, done.err)
        self.assertEqual(training.tree(self.folder), before)

    def test_the_sites_of_the_project(self):
        sites = [line.split("|")[0].strip() for line in
                 (ROOT / "jobs/sites/figures.txt").read_text().splitlines() if not line.startswith("#")]
        self.assertGreaterEqual(len(sites), 3)
        for site in sites:
            self.assertTrue((ROOT / f"jobs/sites/{site}.env").exists(), site)
            environment = (ROOT / f"jobs/sites/{site}.env").read_text()
            gpus = "GPUS_PER_NODE=" in environment
            bench = () if gpus else ("--bench", "step-16.json")
            done = self.quern("plan", "mlp.toml", "--nodes", "2", "--site", site, *bench,
                              "--figures", ROOT / "jobs/sites/figures.txt", "--set",
                              "data.global_batch=512")
            self.assertEqual(done.code, 0, done)
            ranks = environment.split("GPUS_PER_NODE=" if gpus else "RANKS_PER_NODE=")[1].split()[0]
            self.assertIn(f"{ranks} a node", done.out)
            self.assertEqual("no GPU has confirmed it" in done.out, gpus)

    def test_bad_input(self):
        self.write("bad.json", "{")
        self.write_json("other.json", {"benchmark": "step", "machine": MACHINE, "workload": "other",
                                       "global_batch": 8, "step_us": 1.0})
        self.staged()
        before = training.tree(self.folder)
        for words, options, message in (
                (("--nodes", "0"), {}, "'0' is no number of nodes"),
                (("--nodes", "4,,8"), {}, "'' is no number of nodes"),
                (("--nodes", "many"), {}, "'many' is no number of nodes"),
                (("--nodes", "2"), {}, "nothing is known of the network"),
                (("--nodes", "2", "--site", "fsat"), {}, "no figures of the site 'fsat' (known: fast, slow"),
                (("--nodes", "2", "--site", "odd"), {}, "sites.txt:4: 3 columns, expected 7, or 10 for"),
                (("--nodes", "2", "--site", "wrong"), {}, "'much' is no number above 0"),
                (("--nodes", "64", "--site", "fast"), {}, "expected at least one sample per rank"),
                (("--nodes", "2", "--site", "fast"), {"bench": ("absent.json",)}, "'absent.json'"),
                (("--nodes", "2", "--site", "fast"), {"bench": ("bad.json",)}, "'bad.json'"),
                (("--nodes", "2", "--site", "fast"), {"bench": ("train",)}, "'train' is a folder"),
                (("--nodes", "2", "--site", "fast"), {"bench": ("other.json",)}, "'other' was measured"),
                (("--nodes", "1"), {"recipe": "absent.toml"}, "absent.toml"),
                (("--nodes", "1", "--ranks-per-node", "3"), {"recipe": "staged.toml"},
                 "3 ranks cannot be cut into groups of 2 (pipeline)"),
                (("--nodes", "1", "--ranks-per-node", "3"), {"recipe": "staged.toml", "bench": ()},
                 "3 ranks cannot be cut into groups of 2 (pipeline)"),
                (("--nodes", "4", "--ranks-per-node", "2", "--set", "parallel.tensor=4"), {},
                 "parallel.tensor = 4: ranks that share layers are to be on one node, but a node has 2 ranks "
                 "(expected a multiple of 4"),
                (("--nodes", "1", "--figures", "sites.txt"), {}, "--figures requires --site"),
                (("--nodes", "1", "--batch-per-rank", "64", "--set", "data.global_batch=512"), {},
                 "--batch-per-rank and --set data.global_batch both say the batch (expected one of them)"),
                (("--nodes", "1", "--batch-per-rank", "64", "--set", "data.batch_per_rank = 32"), {},
                 "--batch-per-rank and --set data.batch_per_rank both say the batch"),
                (("--nodes", "1", "--cores", "1"), {"bench": (), "ranks": 2},
                 "--cores: the 2 ranks that were started are measured on the cores that they have here"),
                (("--nodes", "1", "--json", "no/out.json"), {}, "no folder 'no'"),
                (("--nodes", "1", "--json", "no/out.json"), {"ranks": 2}, "no folder 'no'"),
                (("--nodes", "0"), {"ranks": 2}, "'0' is no number of nodes"),
                (("--nodes", "1", "--ranks-per-node", "3"), {"bench": (), "ranks": 2},
                 "all ranks of a node at once, but 2 were started on nodes of 3 ranks")):
            done = self.plan(*words, **options)
            self.assertEqual(set(done.codes), {2}, (words, done))
            self.assertEqual(len(done.errors()), 1, done)
            self.assertIn(message, done.err)
        for file in ("mlp.toml", "step-64.json", "sites.txt"):
            done = self.plan("--nodes", "2", "--site", "fast", "--json", file)
            self.assertEqual((done.code, len(done.errors())), (2, 1), done)
            self.assertIn(f"'{file}' is the input '{file}' itself, expected another file", done.err)
        done = self.quern("plan", "mlp.toml", "--nodes", "2", "--site", "fast", "--figures", "train")
        self.assertEqual((done.code, len(done.errors())), (2, 1), done)
        self.assertIn("'train' is a folder, expected a file of sites' figures", done.err)
        done = self.quern("plan", "mlp.toml", "--nodes", "2", "--site", "fast")  # beside no jobs/
        self.assertEqual((done.code, len(done.errors())), (2, 1), done)
        self.assertIn(f"cannot read the sites' figures 'jobs/sites/figures.txt' in '{self.folder.resolve()}', expected a file as "
                      "jobs/sites/figures.txt of Quern's repository (--figures FILE)", done.err)
        self.assertEqual(training.tree(self.folder), before)


if __name__ == "__main__":
    training.main()
