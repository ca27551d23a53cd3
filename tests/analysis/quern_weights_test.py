# SPDX-License-Identifier: Apache-2.0
import argparse
import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import h5py
import numpy as np

import example_run  # makes analysis/ importable
import quern_weights
from quern_weights import WeightsError

try:
    import torch
except ImportError:
    torch = None

WEIGHTS = {"conv1.weight": np.arange(18, dtype=np.float32).reshape(2, 1, 3, 3) - 7,
           "layer1.0.bn.running_var": np.float32([1, 2.5]), "fc.bias": np.float32([0.1])}


def write_checkpoint(path, weights):
    with h5py.File(path, "w") as file:
        datasets = []
        for name, values in weights.items():
            place = "/model/" + name.replace(".", "/")
            file[place] = values
            datasets.append({"path": place, "sha256": hashlib.sha256(values.tobytes()).hexdigest()})
        file["/optimizer/exp_avg/fc/bias"] = np.float32([9])
        datasets.append({"path": "/optimizer/exp_avg/fc/bias", "sha256": "of no interest"})
        file.attrs["format"] = "quern-checkpoint"
        file.attrs["manifest"] = json.dumps({"datasets": datasets})


class QuernWeightsTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def assert_weights(self, weights, expected=None):
        expected = WEIGHTS if expected is None else expected
        self.assertEqual(list(weights), list(expected))
        for name, values in expected.items():
            self.assertEqual(weights[name].dtype, np.float32)
            np.testing.assert_array_equal(weights[name], values)

    def test_says_what_it_needs(self):
        """As a program; a module raises what Python raises."""
        (self.folder / "numpy.py").write_text("raise ImportError('No module named numpy')")
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        done = subprocess.run([sys.executable, "-B", quern_weights.__file__, "a.pt", "b.safetensors"], env=environment,
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "quern_weights.py: this needs NumPy (Debian: python3-numpy)\n")
        environment["PYTHONPATH"] += os.pathsep + str(Path(quern_weights.__file__).parent)
        done = subprocess.run([sys.executable, "-B", "-c", "import quern_weights"], env=environment,
                              capture_output=True, text=True, check=False)
        self.assertIn("ImportError", done.stderr)

    def test_reads_checkpoints_and_run_folders(self):
        checkpoints = self.folder / "run" / "checkpoints"
        checkpoints.mkdir(parents=True)
        write_checkpoint(checkpoints / "ckpt-0000000009.h5", {"fc.bias": np.float32([5])})
        write_checkpoint(checkpoints / "ckpt-0000000010.h5", WEIGHTS)
        for path in (self.folder / "run", checkpoints, checkpoints / "ckpt-0000000010.h5"):
            self.assert_weights(quern_weights.read_weights(path))

    def test_finds_damage(self):
        file = self.folder / "ckpt-0000000010.h5"
        write_checkpoint(file, WEIGHTS)
        with h5py.File(file, "r+") as checkpoint:
            checkpoint["/model/fc/bias"][0] = 0.2
        with self.assertRaisesRegex(WeightsError, "'/model/fc/bias' is damaged"):
            quern_weights.read_checkpoint(file)
        file.write_bytes(b"nothing")
        with self.assertRaisesRegex(WeightsError, "cannot be read"):
            quern_weights.read_checkpoint(file)
        file.unlink()
        with self.assertRaisesRegex(WeightsError, "no checkpoint in"):
            quern_weights.read_weights(self.folder)

    def test_safetensors_there_and_back(self):
        file = self.folder / "w.safetensors"
        extra = {**WEIGHTS, "layer1.0.bn.num_batches_tracked": np.int64(4),
                 "scalar": np.float64(2), "half": np.float16([1.5])}
        quern_weights.write_safetensors(extra, file)
        self.assert_weights(quern_weights.read_safetensors(file),
                            {**WEIGHTS, "scalar": np.float32(2), "half": np.float32([1.5])})
        self.assertEqual(len(list(self.folder.iterdir())), 1)

    def test_short_floats_are_read(self):
        file = self.folder / "w.safetensors"
        header = json.dumps({"a": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]},
                             "b": {"dtype": "BF16", "shape": [1, 1], "data_offsets": [4, 6]}}).encode()
        file.write_bytes(len(header).to_bytes(8, "little") + header
                         + np.float16([1, -2.5]).tobytes() + bytes.fromhex("20c0"))
        self.assert_weights(quern_weights.read_safetensors(file),
                            {"a": np.float32([1, -2.5]), "b": np.float32([[-2.5]])})

    def test_what_is_no_model_is_refused_and_leaves_nothing(self):
        file = self.folder / "w.safetensors"
        for tensors, message in (({"a": np.int32([1])}, "'a' holds int32"),
                                 ({"a": np.float32([np.nan])}, "'a' is not finite")):
            with self.assertRaisesRegex(WeightsError, message):
                quern_weights.write_safetensors(tensors, file)
        with self.assertRaisesRegex(WeightsError, "cannot write"):
            quern_weights.write_safetensors(WEIGHTS, self.folder / "absent" / "w.safetensors")
        self.assertEqual(list(self.folder.iterdir()), [])
        for content in (b"", b"\xff" * 20, b"\x02" + bytes(7) + b"[]", b"\x02" + bytes(7) + b"{}"):
            file.write_bytes(content)
            if content.endswith(b"{}"):
                self.assertEqual(quern_weights.read_safetensors(file), {})
                continue
            with self.assertRaisesRegex(WeightsError, "no safetensors"):
                quern_weights.read_safetensors(file)

    def test_converts_as_a_program(self):
        checkpoint, file = self.folder / "ckpt-0000000010.h5", self.folder / "w.safetensors"
        write_checkpoint(checkpoint, WEIGHTS)
        self.assertEqual(quern_weights.main([str(checkpoint), str(file)]), 0)
        self.assert_weights(quern_weights.read_weights(file))
        error = io.StringIO()
        with contextlib.redirect_stderr(error):
            self.assertEqual(quern_weights.main([str(checkpoint), str(self.folder / "w.onnx")]), 2)
        self.assertIn("ends in .safetensors or .pt", error.getvalue())

    def test_finds_the_state_dict_in_a_dictionary(self):
        state = {"fc.weight": unittest.mock.Mock(spec=["detach"])}
        self.assertIs(quern_weights.state_of(state, "x.pt"), state)
        for key in ("model_state_dict", "state_dict", "model"):
            self.assertIs(quern_weights.state_of({"epoch": 3, key: state, "loss": state["fc.weight"]}, "x.pt"), state)
        for content in ([1], {}, {"epoch": 3}, {"model": {"lr": 0.1}}, {"state_dict": 7}):
            with self.assertRaisesRegex(WeightsError, "'x.pt' holds no state_dict"):
                quern_weights.state_of(content, "x.pt")

    @unittest.skipUnless(torch, "no PyTorch")
    def test_torch_saves_more_than_weights(self):
        network = torch.nn.Linear(3, 2)
        saved, file = self.folder / "saved.pt", self.folder / "w.safetensors"
        torch.save({"epoch": 5, "model_state_dict": network.state_dict(), "loss": torch.tensor(0.5)}, saved)
        self.assertEqual(quern_weights.main([str(saved), str(file)]), 0)
        self.assertEqual(list(quern_weights.read_safetensors(file)), ["weight", "bias"])
        saved.unlink()
        arguments = argparse.Namespace(lr=0.1)
        torch.save({"model": network.state_dict(), "args": arguments}, saved)
        self.assertEqual(quern_weights.main([str(saved), str(file)]), 0)
        for content, said in ((network, "holds a whole model: save model.state_dict()"),
                              ({"model": network.state_dict(), "at": Path("x")}, "holds pathlib.PosixPath beside tensors"),
                              ([1], "holds no state_dict (list)"), (b"none", "is no file of torch.save"),
                              (b"", "cannot be read"), (None, "cannot be read: No such file or directory")):
            if isinstance(content, bytes):
                saved.write_bytes(content)
            elif content is None:
                saved.unlink()
            else:
                torch.save(content, saved)
            error = io.StringIO()
            with contextlib.redirect_stderr(error):
                self.assertEqual(quern_weights.main([str(saved), str(file)]), 2)
            self.assertIn(said, error.getvalue())
            self.assertEqual(error.getvalue().count("\n"), 1, error.getvalue())

    @unittest.skipUnless(torch, "no PyTorch")
    def test_files_of_torch_of_any_name(self):
        network = torch.nn.Linear(3, 2)
        file, old = self.folder / "w.safetensors", {"_use_new_zipfile_serialization": False}
        lightning = {"state_dict": network.state_dict(), "hyper_parameters": {"lr": 0.1}}
        for name, content, options in (("last.ckpt", lightning, {}), ("pytorch_model.bin", network.state_dict(), {}),
                                       ("w.tar", network.state_dict(), {}), ("old.bin", network.state_dict(), old)):
            torch.save(content, self.folder / name, **options)
            self.assertEqual(quern_weights.main([str(self.folder / name), str(file)]), 0, name)
            self.assertEqual(list(quern_weights.read_safetensors(file)), ["weight", "bias"])
            self.assertEqual(list(quern_weights.read_weights(self.folder / name)), ["weight", "bias"])
        saved = self.folder / "gan.pt"
        torch.save({"net": network.state_dict(), "other": torch.nn.Linear(5, 4).state_dict(), "epoch": 3}, saved)
        for options, said in (([], "(--key net or other takes one)"), (["--key", "epoch"], "no state_dict under 'epoch'")):
            error = io.StringIO()
            with contextlib.redirect_stderr(error):
                self.assertEqual(quern_weights.main([str(saved), str(file), *options]), 2)
            self.assertIn(said, error.getvalue())
        self.assertEqual(quern_weights.main([str(saved), str(file), "--key", "net"]), 0)
        self.assertEqual(quern_weights.read_safetensors(file)["weight"].shape, (2, 3))

    def test_a_header_that_begins_as_a_pickle(self):
        """One of 128 bytes: its length begins with the byte of a pickle."""
        file = self.folder / "w.safetensors"
        header = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode().ljust(128)
        file.write_bytes(len(header).to_bytes(8, "little") + header + np.float32([1]).tobytes())
        self.assert_weights(quern_weights.read_weights(file), {"a": np.float32([1])})

    def test_import_says_what_it_needs(self):
        class Model:
            state_dict = None

        for tensors, options, said in (
                (Model(), {}, "a Model, expected a dict of names and tensors: give its .state_dict()"), (7, {}, "an? int, expected"),
                (WEIGHTS, {"program": str(self.folder / "quern")}, 'no program .*: expected program="PATH/quern"')):
            with self.assertRaisesRegex(WeightsError, said):
                quern_weights.import_weights(tensors, "r.toml", "out.h5", **options)
        program = self.folder / "quern"
        program.write_text(f"#!/bin/sh\necho \"$@\" > {self.folder}/arguments\n")
        program.chmod(0o755)
        quern_weights.import_weights(WEIGHTS, "r.toml", "out.h5", rename="=net.", skip=["a", "b"], program=str(program))
        self.assertIn("--rename =net. --skip a --skip b", (self.folder / "arguments").read_text())

    @unittest.skipUnless(torch, "no PyTorch")
    def test_torch_takes_and_gives_state_dicts(self):
        network = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2))
        file, saved = self.folder / "w.safetensors", self.folder / "w.pt"
        torch.save(network.state_dict(), saved)
        self.assertEqual(quern_weights.main([str(saved), str(file)]), 0)
        other = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2))
        other.load_state_dict(quern_weights.state_dict(file))
        for name, values in network.state_dict().items():
            self.assertTrue(torch.equal(values, other.state_dict()[name]), name)
        halves = {name: values.bfloat16() for name, values in network.state_dict().items()
                  if values.is_floating_point()}
        quern_weights.write_safetensors(halves, file)
        self.assertTrue(torch.equal(quern_weights.state_dict(file)["0.weight"],
                                    halves["0.weight"].float()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
