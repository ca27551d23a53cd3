# SPDX-License-Identifier: Apache-2.0
"""Every benchmark runs, once and short, and writes what benchmarks/README.md promises. How fast it
was is nobody's business here."""
import json
import re
import signal
from pathlib import Path

import training

ROOT = Path(__file__).resolve().parents[3]
RECIPES = ROOT / "recipes"
# Keys that benchmarks/README.md names; those of the ends of a range it describes once.
NAMED = set(re.findall(r"`(\w+)`", (ROOT / "benchmarks/README.md").read_text(encoding="utf-8").partition("\n## `quern bench`")[2]))
END = re.compile(r"^(?:fastest|slowest|smallest|largest)_")
MACHINE = {"processor", "vectors", "device", "ranks", "nodes", "threads", "fma_peak_gflops",
           "smallest_fma_peak_gflops", "largest_fma_peak_gflops", "l1", "l2", "l3", "memory"}
TILES = {"tile_unit", "tile_peak_gflops", "smallest_tile_peak_gflops", "largest_tile_peak_gflops"}
BANDWIDTH = {"gb_per_s", "smallest_gb_per_s", "largest_gb_per_s", "array_bytes"}


def all_keys(document):
    if isinstance(document, dict):
        return set(document).union(*map(all_keys, document.values()))
    return set().union(*map(all_keys, document)) if isinstance(document, list) else set()


def time_keys(name):
    return {f"{name}_us", f"fastest_{name}_us", f"slowest_{name}_us"}


class BenchTest(training.TrainingTest):
    def bench(self, *args, ranks=1):
        """Runs a benchmark on 0 (without mpirun) or more ranks; returns output and document."""
        before = training.tree(self.folder)
        done = self.quern("bench", *args, "--rounds", 1, "--json", "out.json", ranks=ranks)
        self.assertEqual(set(done.codes), {0}, done)
        self.assertNotIn("no cost is declared", done.out + done.err)
        document = json.loads((self.folder / "out.json").read_text())
        (self.folder / "out.json").unlink()
        self.assertEqual(training.tree(self.folder), before)
        self.check_head(document, args[0], max(1, ranks))
        self.assertEqual({key for key in all_keys(document) if END.sub("", key) not in NAMED}, set(),
                         "benchmarks/README.md names none of these keys")
        return done.out, document

    def check_head(self, document, name, ranks):
        self.assertEqual(document["benchmark"], name)
        self.assertEqual(document["rounds"], 1)
        machine = document["machine"]
        self.assertIn(set(machine), (MACHINE, MACHINE | TILES))
        self.assertEqual(machine["ranks"], ranks)
        self.assertGreater(machine["fma_peak_gflops"], 0)
        for level in ("l1", "l2", "l3", "memory"):
            self.assertLessEqual(BANDWIDTH, set(machine[level]))
            self.assertGreater(machine[level]["gb_per_s"], 0)

    def check_time(self, row, name):
        self.assertLessEqual(time_keys(name), set(row))
        self.assertLessEqual(0, row[f"fastest_{name}_us"])
        self.assertLessEqual(row[f"fastest_{name}_us"], row[f"{name}_us"])
        self.assertLessEqual(row[f"{name}_us"], row[f"slowest_{name}_us"])

    def test_step(self):
        for ranks in (0, 2):
            out, document = self.bench("step", "mlp.toml", "--steps", 3, "--warmup", 1, ranks=ranks)
            self.assertIn("of the FMA peak", out)
            self.assertLessEqual({"workload", "global_batch", "steps", "samples_per_s",
                                  "epoch_samples", "seconds_per_epoch", "gflops", "peak_gflops",
                                  "fraction_of_peak"}, set(document))
            self.check_time(document, "step")
            self.assertEqual((document["workload"], document["global_batch"], document["steps"]),
                             ("toy", 49, 3))
            self.assertGreaterEqual(document["untimed_steps"], 1)
            self.assertIn(f"1 round of 3 steps after {document['untimed_steps']} untimed", out)

    def test_products_of_bf16_have_their_own_peak(self):
        bf16 = ("--steps", 2, "--set", "train.precision=bf16")
        out, document = self.bench("step", "mlp.toml", *bf16)
        if "Cuda" in self.quern("info").out:
            return
        unit = document["machine"]["tile_unit"]
        self.assertIn(unit, self.quern("info").out)
        self.assertGreater(document["machine"]["tile_peak_gflops"], 0)
        self.assertIn("of the peak of tiles", out)
        self.assertAlmostEqual(document["fraction_of_tile_peak"],
                               document["gflops"] / document["machine"]["tile_peak_gflops"])
        _, document = self.bench("kernels", "mlp.toml", *bf16)
        rows = [row for row in document["workloads"][0]["kernels"] if "flop" in row]
        self.assertTrue(rows)
        peak = document["machine"]["tile_peak_gflops"]
        for row in rows:
            self.assertAlmostEqual(row["fraction_of_peak"], row["gflops"] / peak)
            self.assertNotEqual(row["bound"], "FMA")

    def test_step_on_random_data(self):
        out, document = self.bench("step", RECIPES / "ddp-toy.toml", "--steps", 3)
        self.assertEqual(document["workload"], "ddp-toy")
        samples = int(re.search(r"^samples = (\d+)", (RECIPES / "ddp-toy.toml").read_text(), re.MULTILINE)[1])
        self.assertEqual(document["epoch_samples"], samples)
        self.assertIn(f" per epoch of {samples}\n", out)

    def test_kernels(self):
        for ranks in (1, 2):
            out, document = self.bench("kernels", "conv.toml", "mlp.toml", "--steps", 2, "--set",
                                       "data.global_batch=64", ranks=ranks)
            conv, mlp = document["workloads"]
            self.assertEqual(mlp["global_batch"], 64)
            self.assertEqual(mlp["samples_of_rank"], 64 // ranks)
            for name in ("step", "profiled_step", "all_kernels"):
                self.check_time(conv, name)
            layers = {row["layer"] for row in conv["kernels"]}
            self.assertLessEqual({"conv1", "dropout1", "fc1", ""}, layers)
            # On a processor the first convolution has taken over its ReLU and pool.
            self.assertEqual("max_pool2d1" in layers, "Cuda" in self.quern("info").out)
            for row in conv["kernels"] + mlp["kernels"]:
                self.assertTrue(row["kernel"].startswith("quern::"), row)
                self.assertGreaterEqual(row["calls"], 1)
                self.check_time(row, "time")
                self.assertIn(row["kernel"].removeprefix("quern::"), out)
            self.check_products(conv["kernels"], "conv1", 64 // ranks * 2 * 45 * 100)
            self.check_products(mlp["kernels"], "fc1", 64 // ranks * 2 * 144 * 19)

    def check_products(self, rows, layer, flop):
        """The kernels of the first trained layer: forward and weight gradient, no input gradient."""
        products = [row for row in rows if row["layer"] == layer and "flop" in row]
        self.assertEqual([row["flop"] for row in products], [flop, flop], products)
        for row in products:
            for key in ("gflops", "fraction_of_peak", "bytes", "working_set_bytes", "gb_per_s", "level",
                        "bound", "limit_us",
                        "fraction_of_limit", "fraction_of_memory_bandwidth", "limit_gflops",
                        "share_of_step", "shape"):
                self.assertIn(key, row)

    def test_kernels_filter(self):
        _, document = self.bench("kernels", "mlp.toml", "--steps", 2, "--filter", "^fc1 .*forward")
        rows = document["workloads"][0]["kernels"]
        self.assertEqual([row["layer"] for row in rows], ["fc1"])
        # As the table shows it.
        _, document = self.bench("kernels", "mlp.toml", "--steps", 2, "--filter", "^fc1 layers::linear_f")
        self.assertEqual(document["workloads"][0]["kernels"][0]["kernel"], rows[0]["kernel"])
        done = self.quern("bench", "kernels", "mlp.toml", "--rounds", 1, "--steps", 1, "--filter", "^fc9 ")
        self.assertEqual(done.code, 0, done)
        self.assertIn("warning: --filter: '^fc9 ' finds no kernel", done.err)

    def test_allreduce(self):
        for ranks in (1, 2, 3):
            out, document = self.bench("allreduce", "mlp.toml", "--bytes", "4K,100000",
                                       ranks=ranks)
            self.assertIn("rank-invariant", out)
            rows = document["rows"]
            self.assertEqual([row["workload"] for row in rows], ["", "", "toy"])
            self.assertEqual([row["bytes"] for row in rows[:2]], [4096, 100000])
            for row in rows:
                self.assertGreaterEqual(row["partials"], 1)
                for method in ("rank_invariant", "fast", "transport"):
                    self.check_time(row[method], "time")
                    # One rank has nothing to add.
                    self.assertEqual({"gb_per_s", "over_transport"} & set(row[method]),
                                     {"gb_per_s", "over_transport"} if ranks > 1 else set())
                self.assertEqual("rank_invariant_over_fast" in row, ranks > 1)

    def test_allreduce_in_one_mode(self):
        _, document = self.bench("allreduce", "--bytes", "8K", "--mode", "fast", ranks=2)
        self.assertIn("fast", document["rows"][0])
        self.assertNotIn("rank_invariant", document["rows"][0])
        _, document = self.bench("allreduce", "--bytes", "8K", "--mode", "rank-invariant",
                                 "--blocks", 6, ranks=2)
        self.assertEqual(document["rows"][0]["partials"], 2)
        self.assertNotIn("fast", document["rows"][0])

    def test_allreduce_after_a_step(self):
        for ranks in (1, 2, 3):
            out, document = self.bench("allreduce", "mlp.toml", "--bytes", "4K", "--after-step", ranks=ranks)
            self.assertIn("after step", out)
            size, recipe = document["rows"]
            self.assertEqual(recipe["workload"], "toy")
            for method in ("rank_invariant", "fast"):
                self.assertNotIn("after_step_us", size[method])
                # A difference of two times: on a machine that others use it may even be below 0.
                self.assertLessEqual(recipe[method]["fastest_after_step_us"], recipe[method]["after_step_us"])
                self.assertLessEqual(recipe[method]["after_step_us"], recipe[method]["slowest_after_step_us"])
            self.assertNotIn("after_step_us", recipe["transport"])

    def test_io(self):
        (self.folder / "runs").mkdir()
        for ranks in (1, 2):
            out, document = self.bench("io", "mlp.toml", "--bytes", "64K", "--data", "train",
                                       "--run-dir", "runs", ranks=ranks)
            self.assertIn("asked to drop its copies", out)
            rows = document["rows"]
            self.assertEqual([(row["operation"], row["of"]) for row in rows],
                             [("checkpoint_write", "64.0 KiB"), ("checkpoint_read", "64.0 KiB"),
                              ("checkpoint_write", "toy"), ("checkpoint_read", "toy"),
                              ("shards_read", "train"), *2 * [("shards_streamed", "train"),
                                                              ("shards_streamed_again", "train")]])
            self.assertEqual([row["cold"] for row in rows], [False] * 7 + [True] * 2)
            self.assertEqual((rows[-1]["samples"], rows[-1]["bytes"]), (600, 600 * 145))
            for row in rows:
                self.check_time(row, "time")
                self.check_time(row, "raw")
                self.assertLessEqual({"gb_per_s", "raw_gb_per_s", "over_raw"}, set(row))

    def test_io_makes_up_its_own_shards(self):
        _, document = self.bench("io", "--bytes", "4K")
        self.assertEqual(document["rows"][-1]["samples"], 60000)

    def test_an_interrupted_io_leaves_nothing(self):
        before = training.tree(self.folder)
        run = training.Run("bench", "io", "--bytes", "16M", "--rounds", 1000, cwd=self.folder)
        self.assertTrue(run.wait_until(lambda: list(self.folder.glob(".quern-bench-*/ckpt-*"))))
        run.send(signal.SIGINT)
        done = run.wait()
        self.assertEqual(done.code, 1, done)
        self.assertIn("interrupted", done.err)
        self.assertEqual(training.tree(self.folder), before)

    def refuse(self, *args, expected, ranks=0):
        before = training.tree(self.folder)
        done = self.quern("bench", *args, ranks=ranks)
        self.assertEqual(set(done.codes), {2}, done)
        self.assertEqual(len(done.errors()), 1, done)
        self.assertIn(expected, done.err)
        self.assertEqual(training.tree(self.folder), before)

    def test_bad_options(self):
        for args, expected in (
                ([], "A subcommand is required"),
                (["speed"], "no command 'speed'"),
                (["step"], "recipe"),
                (["step", "absent.toml"], "absent.toml"),
                (["step", "mlp.toml", "--rounds", "0"], "--rounds"),
                (["step", "mlp.toml", "--json", "absent/out.json"], "absent"),
                (["step", "mlp.toml", "--set", "train.epoch=3"], "epochs"),
                (["kernels"], "recipes/mlp-mnist.toml"),
                (["kernels", "mlp.toml", "--filter", "(("], "--filter"),
                (["allreduce", "--mode", "exact"], "--mode"),
                (["allreduce", "--bytes", "4K,many"], "--bytes"),
                (["allreduce", "--bytes", "0"], "--bytes"),
                (["allreduce", "--bytes", "4K", "--after-step"], "--after-step without a recipe"),
                (["allreduce", "--after-step"], "--after-step without a recipe"),
                (["allreduce", "--bytes", "4K", "--set", "seed=1"], "--set without a recipe"),
                (["io", "--bytes", "4K", "--set", "seed=1"], "--set without a recipe"),
                (["io", "--bytes", "4K", "--run-dir", "absent"], "absent"),
                (["io", "--bytes", "4K", "--data", "absent"], "absent")):
            with self.subTest(args=args):
                self.refuse(*args, expected=expected)

    def test_no_input_is_overwritten(self):
        (self.folder / "link.json").symlink_to("mlp.toml")
        (self.folder / "run" / "checkpoints").mkdir(parents=True)
        shard = sorted((self.folder / "train").glob("*.h5"))[0].relative_to(self.folder)
        short = ("--rounds", 1, "--bytes", "4K")
        for args, ranks in (
                (("step", "mlp.toml", "--steps", 1, "--json", "mlp.toml"), 0),
                (("step", "mlp.toml", "--steps", 1, "--json", "link.json"), 2),
                (("kernels", "conv.toml", "mlp.toml", "--steps", 1, "--json", "./mlp.toml"), 0),
                (("allreduce", "mlp.toml", *short, "--json", "mlp.toml"), 0),
                (("io", "mlp.toml", *short, "--json", "mlp.toml"), 0),
                (("io", *short, "--data", "train", "--json", shard), 0)):
            self.refuse(*args, expected="itself, expected another file", ranks=ranks)
        for file in ("run/checkpoints/ckpt-0000000938.h5", "ckpt-0000000938.h5"):
            self.refuse("step", "mlp.toml", "--steps", 1, "--json", file, expected="would be taken for a checkpoint")

    def test_bad_options_on_two_ranks(self):
        self.refuse("kernels", "mlp.toml", "--filter", "((", ranks=2, expected="--filter")
        self.refuse("allreduce", "mlp.toml", "--after-step", "--set", "parallel.pipeline=2", ranks=2,
                    expected="--after-step: the ranks of 'toy' share the network")
        self.refuse("io", "--bytes", "4K", "--run-dir", "absent", ranks=2, expected="absent")
        self.refuse("io", "--bytes", "4K", "--data", "absent", ranks=2, expected="absent")

    def test_damaged_shards_leave_nothing_behind(self):
        self.own_data()
        shard = sorted((self.folder / "train").glob("*.h5"))[0]
        content = bytearray(shard.read_bytes())
        content[len(content) // 2] ^= 1
        shard.write_bytes(content)
        before = training.tree(self.folder)
        done = self.quern("bench", "io", "--bytes", "4K", "--data", "train", "--rounds", 1, ranks=2)
        self.assertEqual(set(done.codes), {93}, done)
        self.assertEqual(training.tree(self.folder), before)


if __name__ == "__main__":
    training.main()
