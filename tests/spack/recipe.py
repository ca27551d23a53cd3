# SPDX-License-Identifier: Apache-2.0
"""Loads package.py against the stand-in for Spack, and answers what its directives say."""

import importlib.util
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

from specs import Spec

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent / "stub"))
import spack.package as api  # noqa: E402  pylint: disable=wrong-import-position

FILE = ROOT / "spack_repo" / "quern" / "packages" / "quern" / "package.py"
_spec = importlib.util.spec_from_file_location("quern_recipe", FILE)
module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(module)
Quern = module.Quern


def directives(kind):
    return [one for one in api.directives if one.kind == kind]


def variants():
    """{name: options of its declaration}"""
    return {one.args[0]: one.options for one in directives("variant")}


def complete(text):
    """The spec with every variant that it leaves out at its default, where that variant exists."""
    spec = Spec(text)
    for name, options in variants().items():
        spec.variants.setdefault(name, options["default"])
    for name, options in variants().items():
        if "when" in options and not spec.satisfies(options["when"]):
            spec.variants.pop(name)
    return spec


def refusals(text):
    """The messages of all conflicts that the spec runs into."""
    spec = complete(text)
    return [
        one.options["msg"]
        for one in directives("conflicts")
        if spec.satisfies(one.args[0]) and spec.satisfies(one.options.get("when", ""))
    ]


def dependencies(text, tested=False):
    """What a build of this spec depends on, and with `install --test=root`."""
    spec = complete(text)
    return [
        one.args[0]
        for one in directives("depends_on")
        if spec.satisfies(one.options.get("when", ""))
        and (tested or one.options.get("type") != "test")
    ]


def package(text, prefix="", tested=False):
    """The package of this spec, as a smoke test or cmake_args() sees it."""
    found = Quern()
    found.spec, found.prefix, found.run_tests = complete(text), api.Prefix(prefix), tested
    mpiexec = shutil.which("mpiexec")
    mpi = Path(mpiexec).resolve().parent.parent if mpiexec else "none"
    found.spec.dependencies = {"mpi": SimpleNamespace(prefix=api.Prefix(mpi))}
    return found
