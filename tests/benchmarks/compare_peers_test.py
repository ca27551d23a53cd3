# SPDX-License-Identifier: Apache-2.0
import json
import os
import sys
import unittest

from fakes import PEER, QUERN, FakesCase

import compare_peers
from workloads import ProblemError
from contender import pin


class ComparePeersTest(FakesCase):
    main = staticmethod(compare_peers.main)

    def setUp(self):
        super().setUp()
        self.quern = self.program("quern", QUERN)
        self.out = self.folder / "out.json"
        cores, environment = os.sched_getaffinity(0), dict(os.environ)
        self.addCleanup(os.sched_setaffinity, 0, cores)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(environment)))

    def compare(self, *words, python=None):
        return self.run_main("--quern", self.quern, "--python",
                             python or self.program("python", PEER), "--json", self.out,
                             "--rounds", 2, *words)

    def contenders(self):
        return json.loads(self.out.read_text())["results"][0]["contenders"]

    def test_each_peer_at_its_best_and_the_ratios(self):
        status, text, errors = self.compare("--workloads", "W1")
        self.assertEqual((status, errors), (0, ""))
        found = self.contenders()
        self.assertEqual({name: figures["variant"] for name, figures in found.items()},
                         {"quern": "", "eager": "fused+bytes", "compile": "whole+bytes",
                          "jax": "scan+wide"})
        ratios = {name: round(figures["ratio"]["median"], 9) for name, figures in found.items()
                  if name != "quern"}
        self.assertEqual(ratios, {"eager": 2.0, "compile": 4.0, "jax": 0.8})
        self.assertAlmostEqual(found["quern"]["seconds_per_epoch"]["median"], 15)
        self.assertAlmostEqual(found["quern"]["fraction_of_peak"], 4000 * 605696 / 100e9)
        self.assertRegex(text, r"(?m)^JAX +12\.000 .* 0\.80 \(0\.80 to 0\.80\) +scan\+wide$")

    def test_bf16_is_compared_with_peers_in_bf16_and_with_its_own_fp32(self):
        status, text, errors = self.compare("--workloads", "W1,gemm", "--precision", "bf16,fp32",
                                            "--set", "a.b=1")
        self.assertEqual((status, errors), (0, ""))
        results = json.loads(self.out.read_text())["results"]
        self.assertEqual([(result["workload"], result.get("precision")) for result in results],
                         [("W1", "bf16"), ("W1", "fp32"), ("gemm", None)])
        found = self.contenders()
        self.assertEqual({name: figures["variant"] for name, figures in found.items()},
                         {"quern": 'train.precision="bf16" train.bf16_sums="pairs" a.b=1', "quern-fp32": "a.b=1",
                          "eager": "fused+bytes", "compile": "whole+bytes"})
        self.assertEqual({name: round(figures["ratio"]["median"], 9) for name, figures in found.items()
                          if name != "quern"}, {"quern-fp32": 2.0, "eager": 3.2, "compile": 6.4})
        self.assertAlmostEqual(found["quern"]["fraction_of_peak"], 8000 * 605696 / 100e9)
        self.assertRegex(text, r"(?m)^W1 \(mlp-mnist\) in bf16, FMA peak 100 Gflop/s$")
        self.assertRegex(text, r"(?m)^Quern, fp32 +15\.000 .* 2\.00 \(2\.00 to 2\.00\) +a\.b=1$")

    def test_who_is_not_compared_in_bf16(self):
        for words, said in ((["--workloads", "W1", "--peers", "jax"], "jax: not compared in bf16"),
                            (["--workloads", "gemm"], "gemm: compared in fp32 only")):
            status, _, errors = self.compare("--precision", "bf16", *words)
            self.assertEqual((status, errors), (2, f"compare_peers: {said}\n"))

    def test_a_variant_that_was_asked_for_needs_no_trial(self):
        status, _, errors = self.compare("--workloads", "W1", "--peers", "eager", "--variant",
                                         "eager=foreach")
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(self.contenders()["eager"]["variant"], "foreach")
        self.assertEqual(self.contenders()["eager"]["trial_samples_per_s"], {})

    def test_quern_alone(self):
        status, _, errors = self.compare("--workloads", "W2", "--peers", "none", python="/nowhere")
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(list(self.contenders()), ["quern"])

    def test_a_residual_network_at_the_batch_of_the_comparison(self):
        (self.folder / "resnet50.toml").write_text("""name = "resnet50"
[data]
global_batch = 120
[network]
input = [3, 32, 32]
layers = [
  {type = "conv2d", channels = 4, kernel = 3, padding = 1, bias = false},
  {type = "batch_norm"},
  {type = "bottleneck", name = "layer1", channels = 2, stride = 2},
  {type = "global_avg_pool"},
  {type = "linear", name = "fc", features = 10},
]
""")
        status, text, errors = self.compare("--workloads", "resnet50", "--recipes", self.folder)
        self.assertEqual((status, errors), (0, ""))
        found = {name: figures["variant"] for name, figures in self.contenders().items()}
        self.assertEqual(found, {"quern": "data.global_batch=32 train.micro_block=16", "eager": "fused",
                                 "compile": "fused+parts", "jax": "loop+wide"})
        macs = (1024 * 4 * 27 * 2 + 3 * (1024 * 2 * 4 + 256 * (2 * 18 + 8 * 2 + 8 * 4) + 8 * 10))
        self.assertAlmostEqual(json.loads(self.out.read_text())["results"][0]["flop_per_sample"],
                               2 * macs)
        self.assertIn("resnet50 (resnet50)", text)

    def test_products_with_and_without_a_kernel_of_their_own(self):
        status, text, errors = self.compare("--workloads", "gemm", "--peers", "jax")
        self.assertEqual((status, errors), (0, ""))
        products = json.loads(self.out.read_text())["results"][0]["products"]
        self.assertEqual(len(products), 11)
        flop = 2 * 128 * 128 * 784
        self.assertAlmostEqual(products[0]["gflops"]["quern"]["median"], flop / 100e-6 * 1e-9)
        self.assertAlmostEqual(products[0]["gflops"]["jax"]["median"], flop / 1e-3 * 1e-9)
        self.assertNotIn("quern", products[1]["gflops"])
        self.assertIn("128x784x128", text)

    def test_a_python_without_the_peer(self):
        for module, peer in (("torch", "eager"), ("torch", "compile"), ("jax", "jax")):
            (self.folder / f"{module}.py").write_text(
                f"raise ModuleNotFoundError('no {module} here', name='{module}')")
            os.environ["PYTHONPATH"] = str(self.folder)
            for workload in ("W1", "gemm"):
                status, _, errors = self.compare("--workloads", workload, "--peers", peer,
                                                 python=sys.executable)
                self.assertEqual(status, 2)
                self.assertIn(f"{peer}: this Python ({sys.executable}) has no module '{module}'",
                              errors)
                self.assertIn(f"--peers leaves {peer} out", errors)

    def test_a_peer_that_breaks_says_why(self):
        broken = self.program("broken", "import sys\nsys.exit('out of memory')\n")
        status, _, errors = self.compare("--workloads", "W1", python=broken)
        self.assertEqual(status, 2)
        self.assertIn("ended with exit status 1: out of memory", errors)
        once = self.program("once", "print('{}', flush=True)\nraise SystemExit('later')\n")
        status, _, errors = self.compare("--workloads", "W1", python=once)
        self.assertEqual(status, 2)
        self.assertIn("later", errors)
        status, _, errors = self.compare("--workloads", "W1", python="/nowhere/python")
        self.assertEqual(status, 2)
        self.assertIn("cannot start /nowhere/python", errors)

    def test_a_quern_that_does_not_deliver(self):
        for text, said in (("import sys\nsys.exit('bad recipe')", "exit status 1: bad recipe"),
                           ("", "no usable figures"),
                           (QUERN.replace("samples_per_s", "speed"), "no usable figures")):
            self.quern = self.program("quern", text)
            status, _, errors = self.compare("--workloads", "W1", "--peers", "none")
            self.assertEqual(status, 2)
            self.assertIn(said, errors)
        self.quern = "/nowhere/quern"
        self.assertIn("cannot start /nowhere/quern",
                      self.compare("--workloads", "W1", "--peers", "none")[2])

    def test_usage_errors(self):
        for words in (["--workloads", "W9"], ["--peers", "tensorflow"], ["--rounds", "0"],
                      ["--variant", "fused"], ["--threads", "0"], ["--precision", "tf32"]):
            self.assertEqual(self.compare(*words)[0], 2, words)
        status, _, errors = self.compare("--threads", 2, "--cores", 0)
        self.assertEqual(status, 2)
        self.assertIn("2 thread(s) need as many cores", errors)

    def test_pinning_refuses_cores_that_are_not_ours(self):
        with self.assertRaises(ProblemError):
            pin(1, [100000])
        with self.assertRaises(ProblemError):
            pin(100000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
