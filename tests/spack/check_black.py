#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""black leaves the Spack package as it is (lines of 99 columns, Spack's own rule)."""

import shutil
import subprocess
import sys

if not shutil.which("black"):
    print("skipped: no black")
    sys.exit(77)
sys.exit(
    subprocess.run(["black", "--check", "--diff", "--line-length=99", sys.argv[1]]).returncode
)
