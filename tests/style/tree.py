# SPDX-License-Identifier: Apache-2.0
"""The committed files of the tree, and how a style check reports."""
import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNTRACKED = {".git", ".venv", ".cache", "__pycache__", "runs"}


def files(root):
    """Paths relative to root, sorted: git's view of the tree, or all files where git cannot say."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=False)
    if listing.returncode == 0 and listing.stdout:
        names = {pathlib.PurePath(os.fsdecode(name)) for name in listing.stdout.split(b"\0") if name}
        return sorted(name for name in names if (root / name).is_file())
    found = []
    for folder, folders, names in os.walk(root):
        at_top = pathlib.Path(folder) == root
        folders[:] = [name for name in folders
                      if name not in UNTRACKED and not (at_top and name.startswith("build"))]
        found += [(pathlib.Path(folder) / name).relative_to(root) for name in names]
    return sorted(pathlib.PurePath(path) for path in found)


def cpp_files(root, *tops):
    """The C++ files below the top folders, all of them without tops."""
    return [path for path in files(root) if path.suffix in (".hpp", ".cpp", ".cu")
            and (not tops or path.parts[0] in tops)]


def text(root, path):
    """The file's text, or None when it is not text."""
    try:
        return (root / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def run(check, description):
    """main() of a check: check(root) gives one line for each offence."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=ROOT)
    offences = check(parser.parse_args().root.resolve())
    for offence in offences:
        print(offence)
    print(f"{len(offences)} offence(s)")
    sys.exit(1 if offences else 0)
