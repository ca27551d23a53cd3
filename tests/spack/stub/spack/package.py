# SPDX-License-Identifier: Apache-2.0
"""A stand-in for Spack's package API, as far as our recipe uses it. Directives are only written
down, in the order of the file, in `directives`; what smoke tests call is real."""

import contextlib
import os
import pathlib
import shutil
import subprocess
from collections import namedtuple

Directive = namedtuple("Directive", "kind args options")
directives = []


def _directive(kind):
    def write_down(*args, **options):
        directives.append(Directive(kind, args, options))

    return write_down


license = _directive("license")
version = _directive("version")
variant = _directive("variant")
depends_on = _directive("depends_on")
requires = _directive("requires")
conflicts = _directive("conflicts")


class SkipTest(Exception):
    pass


class Prefix(str):
    """A path whose attributes are paths below it."""

    def __getattr__(self, name):
        return Prefix(os.path.join(self, name))


class Executable:
    def __init__(self, path):
        self.path = path

    def __call__(self, *args, output=None, extra_env=None):
        done = subprocess.run(
            [self.path, *args],
            env={**os.environ, **(extra_env or {})},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout if output is str else None


def which(name, path=None, required=False):
    found = shutil.which(name, path=os.pathsep.join(path) if path else None)
    if found:
        return Executable(found)
    if required:
        raise FileNotFoundError(f"'{name}' not found")
    return None


def ancestor(path, n=1):
    return str(pathlib.Path(path).resolve().parents[n - 1])


join_path = os.path.join
make_jobs = 2
ctest = Executable("ctest")


@contextlib.contextmanager
def working_dir(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
