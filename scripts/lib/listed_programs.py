#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A test run uses nothing that scripts/setup did not put there. Two ways to hold it to that:

listed_programs.py path FOLDER NAME...   fills FOLDER with links to the programs of setup's packages;
                                         prints which optional ones of other packages are among them
listed_programs.py check CACHE NAME...   prints what a CMakeCache.txt names of other packages

NAME... are the packages of setup's list, and programs that the caller asks for (program:ccache). What
they depend on belongs to them, and so do Debian's essential and required packages. Exit status: 0;
1 with a line for each stranger; 77 with the reason where dpkg cannot say.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

# Tests use these where they are installed, and say so where they are not.
OPTIONAL = ("nvcc", "hipcc", "clang++", "spack", "dpkg-shlibdeps", "pkg-config")
# What scripts/setup may add beside its list: a Kokkos, and what downloads one.
ADDED = ("libkokkos-dev", "curl", "wget", "ca-certificates")
FOLDERS = ("/usr/bin", "/usr/sbin", "/bin", "/sbin")
FIELDS = ("db:Status-Status", "Package", "Essential", "Priority", "Provides", "Pre-Depends", "Depends")


class CannotSay(Exception):
    """dpkg does not know enough about this system."""


def dpkg_query(*words):
    done = subprocess.run(["dpkg-query", *words], capture_output=True, text=True, check=False)
    return done.stdout


def relations(text):
    """[[name, other name], ...] of a Depends line: one of each inner list is needed."""
    return [[re.split(r"[ :(\[]", name.strip())[0] for name in group.split("|")]
            for group in text.split(",") if group.strip()]


def closure(roots):
    """The installed ones of the packages `roots`, what they depend on, and Debian's own base."""
    depends, providers, wanted = {}, {}, list(roots)
    form = "\\t".join(f"${{{field}}}" for field in FIELDS) + "\\n"
    for line in dpkg_query("-W", f"-f={form}").splitlines():
        status, name, essential, priority, provides, *needs = line.split("\t")
        if status != "installed":
            continue
        depends.setdefault(name, []).extend(relations(",".join(needs)))
        for (virtual,) in relations(provides):
            providers.setdefault(virtual, []).append(name)
        if essential == "yes" or priority == "required":
            wanted.append(name)
    missing = [name for name in roots if name not in depends and name not in ADDED]
    if missing:
        raise CannotSay(f"not installed as packages of dpkg: {' '.join(missing)}")
    found = set()
    while wanted:
        name = wanted.pop()
        if name in found or name not in depends:
            continue
        found.add(name)
        for group in depends[name]:
            real = [other for other in group if other in depends]
            wanted += real[:1] or [one for other in group for one in providers.get(other, ())]
    return found


def canonical(path):
    """The place of a file, whatever links lead to its folder (/bin is often /usr/bin)."""
    path = Path(path)
    return str(Path(os.path.realpath(path.parent)) / path.name)


def files_of(packages):
    return {canonical(line) for line in dpkg_query("-L", *sorted(packages)).splitlines()
            if line.startswith(FOLDERS)}


def fill(folder, packages, programs):
    """Links to the programs of `packages`; calls of the `programs`, wherever they are: their names
    are the result."""
    owned = files_of(packages)
    for place in dict.fromkeys(os.path.realpath(name) for name in FOLDERS):
        for entry in Path(place).glob("*"):
            if entry.is_symlink() and os.readlink(entry).startswith("/etc/alternatives/"):
                if not any(place in owned for place in chain(entry)):
                    continue
            elif canonical(entry) not in owned:
                continue
            link = Path(folder) / entry.name
            if not link.is_symlink():
                link.symlink_to(entry)
    added = []
    for name in programs:
        found, link = shutil.which(name), Path(folder) / name
        if found and not link.is_symlink():
            link.write_text(f'#!/bin/sh\nexec "{found}" "$@"\n')
            link.chmod(0o755)
            added.append(name)
    return added


def chain(link):
    """The files that a link leads over, each in its canonical place."""
    while link.is_symlink():
        link = link.parent / os.readlink(link)
        yield canonical(link)


def strangers(cache, packages, programs):
    """Lines "VARIABLE=FILE: package NAME" for files of other packages that a CMake cache names."""
    named = {}
    for variable, value in re.findall(r"(?m)^([\w.-]+):\w+=(.+)$", Path(cache).read_text()):
        if variable.endswith("_LAUNCHER"):
            value = shutil.which(value) or value
        if value.startswith("/") and Path(value).is_file() and Path(value).name not in programs:
            named[variable] = value
    places = {os.path.realpath(value) for value in named.values()} | set(named.values())
    owner = {}
    for line in dpkg_query("-S", *places).splitlines():
        names, _, file = line.partition(": ")
        owner.setdefault(file, {name.split(":")[0] for name in names.split(", ")})
    for variable, value in sorted(named.items()):
        owners = owner.get(value) or owner.get(os.path.realpath(value)) or set()
        if owners and not owners & packages:
            yield f"{variable}={value}: package {', '.join(sorted(owners))}"


def main(words):
    if len(words) < 2 or words[0] not in ("path", "check"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        if not shutil.which("dpkg-query"):
            raise CannotSay("there is no dpkg")
        programs = [*OPTIONAL, *(w[len("program:"):] for w in words[2:] if w.startswith("program:"))]
        packages = closure([*(w for w in words[2:] if not w.startswith("program:")), *ADDED])
    except CannotSay as reason:
        print(reason)
        return 77
    if words[0] == "path":
        print(*fill(words[1], packages, programs))
        return 0
    lines = list(strangers(words[1], packages, programs))
    print(*lines, sep="\n", end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
