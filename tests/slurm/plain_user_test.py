# SPDX-License-Identifier: Apache-2.0
"""Where the tests run as root (containers): jobs of a plain user, on a Slurm that this user starts.

A copy of the job toolkit, the program and these tests, readable for everybody, runs some of them without
privileges. As a plain user all other tests do that already."""
import os
import shutil
import subprocess
import sys

import cluster

NOBODY = 65534
TESTS = ("RequeueTest.test_stopped_twice_by_its_signal", "RequeueTest.test_node_dies")


def copy_for_everybody(folder):
    for part in ("analysis", "jobs", "tests/slurm"):
        shutil.copytree(cluster.ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (cluster.PROGRAM, cluster.PRELOAD):
        shutil.copy(file, folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)


def main():
    if cluster.missing_daemons():
        print("skipped: no " + ", ".join(cluster.missing_daemons()))
        return 77
    if os.geteuid() != 0:
        print("skipped: this is a plain user, the other tests of Slurm are this one")
        return 77
    folder = cluster.short_folder("qu-")
    try:
        copy_for_everybody(folder)
        home = folder / "home"
        home.mkdir()
        os.chown(home, NOBODY, NOBODY)
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs",
                   sys.executable, "-B", folder / "tests/slurm/requeue_test.py", folder / os.path.basename(cluster.PROGRAM),
                   folder / os.path.basename(cluster.PRELOAD), *TESTS]
        environment = os.environ | {"HOME": str(home), "TMPDIR": "/tmp", "USER": "nobody", "LOGNAME": "nobody",
                                    "PYTHONPATH": str(folder / "tests/slurm/support")}
        return subprocess.run(command, env=environment, cwd=home, check=False).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
