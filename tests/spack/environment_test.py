# SPDX-License-Identifier: Apache-2.0
"""The YAML files for Spack: their keys, the paths they name, and what the environment asks for on
each GPU."""

import re
import unittest

import yaml

from recipe import Quern, ROOT, refusals, variants
from specs import Spec

GPUS = ("none", "v100", "a100", "h100", "h200", "gh200", "mi250x", "mi300a", "mi300x")


def read(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def specs(environment):
    """The specs that spack.yaml asks for where the variables have these values."""
    lists = {}
    for entry in read("spack.yaml")["spack"]["definitions"]:
        condition = entry.pop("when", "True")
        if eval(condition, {"__builtins__": {}}, {"env": environment}):  # as Spack does
            for name, values in entry.items():
                lists.setdefault(name, []).extend(values)
    found = [""]
    for row in read("spack.yaml")["spack"]["specs"][0]["matrix"]:
        values = [one for name in row for one in lists.get(name.lstrip("$"), [])]
        found = [f"{left}{right}" for left in found for right in values]
    return found


class EnvironmentTest(unittest.TestCase):
    def test_environment_has_known_keys(self):
        spack = read("spack.yaml")["spack"]
        known = {"include", "repos", "definitions", "specs", "develop", "packages", "view"}
        self.assertLessEqual(set(spack), known | {"concretizer"})
        for entry in spack["include"]:
            self.assertEqual(set(entry), {"path", "when"})
            for site, wanted in (({}, False), ({"QUERN_SITE": "lumi-g"}, True)):
                found = eval(entry["when"], {"__builtins__": {}}, {"env": site})  # as Spack does
                self.assertIs(found, wanted)
        self.assertEqual(set(spack["develop"]["quern"]), {"spec", "path"})
        self.assertTrue((ROOT / spack["develop"]["quern"]["path"] / "CMakeLists.txt").is_file())
        for settings in spack["packages"].values():
            self.assertLessEqual(
                set(settings), {"prefer", "require", "buildable", "externals", "variants"}
            )

    def test_repository_is_found_both_ways(self):
        folder = read("spack.yaml")["spack"]["repos"]["quern"]
        self.assertEqual(read("spack-repo-index.yaml"), {"repo_index": {"paths": [folder]}})
        repo = read(f"{folder}/repo.yaml")["repo"]
        self.assertEqual(set(repo), {"namespace", "api"})
        self.assertEqual(folder, f"spack_repo/{repo['namespace']}")
        self.assertRegex(repo["api"], r"^v2\.\d+$")
        file = ROOT / folder / "packages" / "quern" / "package.py"
        self.assertTrue(file.is_file())
        self.assertEqual(Quern.__name__.lower(), file.parent.name)

    def test_every_gpu_gives_one_spec_that_the_recipe_takes(self):
        for gpu in GPUS:
            with self.subTest(gpu):
                found = specs({"QUERN_GPU": gpu})
                self.assertEqual(len(found), 1, found)
                self.assertEqual(refusals(found[0]), [])
                self.assertLessEqual(set(Spec(found[0]).variants), set(variants()))
                self.assertEqual(Spec(found[0]).variants.get("nccl", False), gpu != "none")
        self.assertEqual(specs({}), specs({"QUERN_GPU": "none"}))
        self.assertEqual(specs({"QUERN_GPU": "h100"}), ["quern@main+cuda+nccl cuda_arch=90"])
        gfx942 = ["quern@main+rocm+nccl amdgpu_target=gfx942"]
        self.assertEqual([specs({"QUERN_GPU": gpu}) for gpu in ("mi300a", "mi300x")], [gfx942] * 2)
        for unknown in ("a1000", "A100", ""):
            found = specs({"QUERN_GPU": unknown})
            self.assertEqual(len(found), 1, found)
            for gpu in GPUS:
                self.assertIn(gpu, found[0])

    def test_documented_gpus_and_sites(self):
        text = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
        self.assertLessEqual(set(re.findall(r"QUERN_GPU=(\w+)", text)), set(GPUS))
        sites = {path.stem for path in (ROOT / "jobs" / "sites").glob("*.env")}
        used = set(re.findall(r"(?:QUERN_SITE=|scripts/spack-site )([a-z0-9-]+)", text))
        self.assertLessEqual(used, sites | {"laptop"})
        for site in sites - {"generic", "generic-gpu", "local"}:
            self.assertIn(site, text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
