# SPDX-License-Identifier: Apache-2.0
"""What is installed below share/ is for everybody, whoever may read the clone, and is of the tree."""
import os
import shutil
import stat
import unittest

import configured
from configured import ConfiguredTest, ROOT

FOLDERS = ("analysis", "jobs", "recipes", "examples")


class ShareTest(ConfiguredTest):
    def clone(self):
        """A copy of this tree, as `umask 077` makes it."""
        source = self.folder / "clone"
        source.mkdir()
        for name in (*FOLDERS, "cmake", "docs", "scripts", "src"):
            shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns(
                "__pycache__", "build", "build-*", "runs"))
        for name in ("CMakeLists.txt", "LICENSE", "NOTICE"):
            shutil.copy(ROOT / name, source / name)
        for path in [source, *source.rglob("*")]:
            if not path.is_symlink():
                path.chmod(path.stat().st_mode & 0o700)
        return source

    def install(self, source):
        """Without the program and with an empty libquern: nothing has been built."""
        self.source = source
        self.configure("-DCMAKE_INSTALL_LIBDIR=lib")
        (self.build / "lib").mkdir(exist_ok=True)
        (self.build / "lib/libquern.a").touch()
        (self.build / "include/quern").mkdir(parents=True, exist_ok=True)
        old = os.umask(0o022)
        done = self.run_cmake("--install", self.build, "--prefix", self.folder / "prefix",
                              "--component", "Unspecified")
        os.umask(old)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / "prefix"

    def test_share(self):
        source = self.clone()
        for junk in ("examples/build/junk", "examples/build-debug/junk", "jobs/runs/one", "jobs/__pycache__/a.pyc"):
            (source / junk).parent.mkdir(parents=True, exist_ok=True)
            (source / junk).touch()
        prefix = self.install(source)
        for path in prefix.rglob("*"):
            mode = stat.S_IMODE(path.stat().st_mode)
            kept = source / path.relative_to(prefix / "share/quern") if "share/quern/" in f"{path}" else None
            wanted = 0o755 if path.is_dir() or "bin" in path.relative_to(prefix).parts else 0o644
            if kept and kept.is_file():
                wanted = 0o755 if kept.stat().st_mode & stat.S_IXUSR else 0o644
            self.assertEqual(oct(mode), oct(wanted), path)
        names = {path.name for path in (prefix / "share/quern").rglob("*")}
        self.assertFalse(names & {"build", "build-debug", "junk", "runs", "__pycache__"})
        self.assertIn("train_lenet.cpp", names)


if __name__ == "__main__":
    configured.main()
