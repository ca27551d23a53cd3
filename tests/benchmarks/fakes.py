# SPDX-License-Identifier: Apache-2.0
"""Programs that stand in for quern, a Python with the peers, and gemm_ceiling."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

QUERN = """
import json, sys
words = sys.argv[1:]
if words == ["info", "--json"]:
    sys.exit(print('{"tiles": "vector registers", "pairs": "AVX512_BF16"}'))
out = words[words.index("--json") + 1]
if words[1] == "step":
    speed = 8000.0 if 'train.precision="bf16"' in words else 4000.0
    document = {"global_batch": 128, "samples_per_s": speed, "peak_gflops": 100.0}
else:
    kernel = {"layer": "fc1", "kernel": "quern::layers::linear_forward", "time_us": 100.0}
    document = {"workloads": [{"workload": name, "kernels": [kernel]}
                              for name in ("mlp-mnist", "autoencoder-mnist")]}
open(out, "w").write(json.dumps(document))
"""

# Called as python -B SCRIPT WORDS...; the second variant of each peer is the quickest.
PEER = """
import json, os, sys
script, words = os.path.basename(sys.argv[2]), sys.argv[3:]
speed = {"fused+bytes": 2000.0, "whole+bytes": 1000.0, "scan+wide": 5000.0}
print(json.dumps({"version": "fake"}), flush=True)
for line in sys.stdin:
    if script == "gemm_peer.py":
        answer = {"seconds": 1e-3}
    else:
        faster = 1.25 if 'train.precision="bf16"' in words else 1
        answer = {"samples": 100, "seconds": 100 / (speed.get(words[1], 500.0) * faster)}
    print(json.dumps(answer), flush=True)
"""

# Knows three libraries; the time of a product depends on the library and the kernels it was told to
# take. Number 4 of this BLIS is zen3, the others but 0 are processors that it was not built for.
CEILING = """
import json, os, sys
library = sys.argv[1]
if library == "libopenblas.so.0":
    core = {"SKYLAKEX": "SkylakeX"}.get(os.environ.get("OPENBLAS_CORETYPE"), "Haswell")
elif library == "libblis.so.4":
    core = {"": "generic", "0": "skx", "4": "zen3"}[os.environ.get("BLIS_ARCH_TYPE", "")]
elif library == "libplain.so":
    core = ""
else:
    sys.exit(library + ": cannot open shared object file")
seconds = {"SkylakeX": 1e-3, "skx": 3e-3}.get(core, 2e-3)
print(json.dumps({"core": core}), flush=True)
for line in sys.stdin:
    print(json.dumps({"seconds": seconds}), flush=True)
"""


class FakesCase(unittest.TestCase):
    """self.main, the script's own, is run in this process."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, name, text):
        path = self.folder / name
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o755)
        return path

    def run_main(self, *words):
        """(exit status, standard output, standard error)"""
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            try:
                status = self.main([str(word) for word in words])
            except SystemExit as ended:
                status = ended.code
        return status, output.getvalue(), errors.getvalue()
