# SPDX-License-Identifier: Apache-2.0
"""What scripts/setup decides, on systems made of stand-ins: package manager, sudo, download, CMake.

The scripts are a copy whose /usr is a folder of the test, and PATH holds nothing but stand_ins/ and
the usual small tools. Nothing is installed, and no host is asked.
"""
import hashlib
import io
import os
import pty
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parents[1] / "scripts"
TOOLS = ("ar awk basename bash cat chmod cp cut dirname env false grep gzip head ls mkdir mktemp "
         "nproc paste rm sed sha256sum sort tail tar touch tr true wc xargs").split()
PACKAGES = re.findall(r"(?m)^([a-z0-9+.-]+)\|(run|train|test)\|",
                      (SCRIPTS / "lib/packages.sh").read_text())
BOOKWORM = "bookworm|Debian|main|bookworm|http://mirror.invalid/debian|/etc/apt/sources.list:1\n"
REPLACING = ("Inst libc6 [2.36-9] (2.41-12 Debian:13/stable [amd64])\n"
             "Inst libkokkos-dev (5.2.2-1 Debian:unstable [amd64])\n")
NEW_ONLY = "Inst libkokkos-dev (5.2.2-1 Debian:unstable [amd64])\n"

NEW_ENOUGH = ("MPI 3.1\nHDF5 1.10.7\nZLIB 1.2\nPNG 1.6\nJPEG 62\nfmt 9\nnlohmann_json 3.11.2\ntomlplusplus 3.3.0\n"
              "CLI11 2.1.2\nxxHash 0.8.1\n")


class SetupTest(unittest.TestCase):
    """Starts as root on Debian 12, all packages there but a Kokkos, the release's host silent."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        self.clone, self.state, self.bin = (self.root / name for name in ("clone", "state", "bin"))
        for folder in (self.state, self.bin, self.root / "later", self.root / "usr/bin"):
            folder.mkdir(parents=True)
        shutil.copytree(SCRIPTS, self.clone / "scripts")
        (self.clone / "cmake").mkdir()
        shutil.copy(SCRIPTS.parent / "cmake/QuernDependencies.cmake", self.clone / "cmake")
        for file in (self.clone / "scripts").rglob("*"):
            if file.is_file():
                file.write_text(re.sub(r"(?<!!)/(usr|etc)\b", rf"{self.root}/\1", file.read_text()))
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        for tool in (HERE / "stand_ins").iterdir():
            shutil.copy(tool, self.bin)
        for tool in ("c++", "git", "ninja", "mpirun", "clang-format", "clang-tidy", "shellcheck",
                     "sbatch", "python3"):
            self.program(tool)
        shutil.move(self.bin / "make_kokkos", self.root)
        for name, content in {"installed": "\n".join(name for name, _ in PACKAGES) + "\n",
                              "uid": "0\n", "candidate": "3.7.01-2\n", "indexes": BOOKWORM,
                              "plan": REPLACING, "lists_are_read": "", "cmake_finds": "",
                              "versions": "",
                              "release_version": "4.6.1\n"}.items():
            self.given(name, content)
        self.file("etc/ssl/certs/ca-certificates.crt")

    def given(self, name, content=""):
        (self.state / name).write_text(content)

    def program(self, name, text="exit 0"):
        (self.bin / name).unlink(missing_ok=True)
        (self.bin / name).write_text(f"#!{shutil.which('bash')}\n{text}\n")
        (self.bin / name).chmod(0o755)

    def file(self, name):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def kokkos(self, prefix, version):
        subprocess.run([self.root / "make_kokkos", self.root / prefix, version], check=True)
        return self.root / prefix

    def without_apt(self):
        for tool in ("apt-get", "apt-cache", "dpkg-query", "sudo"):
            (self.bin / tool).unlink()
        self.given("uid", "1000\n")

    def without_package(self, name):
        names = (self.state / "installed").read_text().split()
        self.given("installed", "".join(f"{other}\n" for other in names if other != name))

    def release(self, version="4.6.1", listed=True):
        """The host serves a release; `listed`: with the SHA-256 that the scripts expect."""
        parts = version.split(".")
        text = "".join(f"set(Kokkos_VERSION_{name} {part})\n"
                       for name, part in zip(("MAJOR", "MINOR", "PATCH"), parts))
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for name, content in (("kokkos/CMakeLists.txt", text), ("kokkos/core/src/x.hpp", "")):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content.encode()))
        (self.state / "release.tar.gz").write_bytes(packed.getvalue())
        if listed:
            script = self.clone / "scripts/lib/kokkos_source.sh"
            found = hashlib.sha256(packed.getvalue()).hexdigest()
            text, count = re.subn("(?m)^(kKokkosReleaseSha256=).*", rf"\g<1>{found}",
                                  script.read_text())
            self.assertEqual(count, 1)
            script.write_text(text)

    def setup(self, *options, terminal=None, **environment):
        """Runs scripts/setup; `terminal`: what is typed on one. Gives status and all output."""
        (self.state / "calls").write_text("")
        command = [self.bin / "bash", self.clone / "scripts/setup", *options]
        environment = {"PATH": str(self.bin), "HOME": str(self.root), "STATE": str(self.state),
                       **environment}
        streams = {"stdin": subprocess.DEVNULL}
        if terminal is not None:
            ours, theirs = pty.openpty()
            self.addCleanup(os.close, ours)
            self.addCleanup(os.close, theirs)
            os.write(ours, terminal.encode())
            streams = {"stdin": theirs, "stderr": theirs}
        done = subprocess.run(command, env=environment, text=True, timeout=60, check=False,
                              **{"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **streams})
        output = done.stdout
        if terminal is not None:
            os.set_blocking(ours, False)
            try:
                output += os.read(ours, 65536).decode()
            except BlockingIOError:
                pass
        return done.returncode, output

    def calls(self, word):
        """What was asked of the stand-ins, the questions about what there is left out."""
        return [line for line in (self.state / "calls").read_text().splitlines()
                if word in line and "indextargets" not in line and "-n true" not in line]

    def assert_changed_nothing(self):
        self.assertEqual(self.calls("install ") + self.calls("update") + self.calls("curl"), [])

    def assert_works(self, *options, **more):
        status, output = self.setup(*options, **more)
        self.assertEqual(status, 0, output)
        self.assertIn("Everything that Quern needs is installed", output)
        return output

    def assert_refused(self, message, *options, **more):
        status, output = self.setup(*options, **more)
        self.assertEqual(status, 1, output)
        self.assertIn(message, " ".join(output.split()))
        return output

    def assert_second_run_is_quick(self):
        self.assert_works()
        self.assertEqual(self.calls(""), [])

    def remembered(self):
        file = self.clone / "build/.quern-setup.env"
        return file.read_text() if file.exists() else None


class KokkosIsThere(SetupTest):
    def test_in_the_system(self):
        self.kokkos("usr", "5.2.2")
        self.file("usr/lib/libkokkossimd.a")
        self.assert_works()
        self.assertEqual(self.calls(""), [])
        self.assertIsNone(self.remembered())

    def test_in_the_system_without_two_archives(self):
        self.kokkos("usr", "5.2.2")
        self.assertIn("making the empty archive", self.assert_works())
        self.assertEqual(self.calls("apt-get"), [])
        self.assertTrue((self.root / "usr/lib/libkokkossimd.a").exists())
        self.assert_second_run_is_quick()

    def test_in_the_system_without_two_archives_but_in_the_environment(self):
        for name, value in (("CMAKE_PREFIX_PATH", "{0}"), ("Kokkos_ROOT", "{0}/"),
                            ("CMAKE_PREFIX_PATH", "/nowhere:{0}/lib/..")):
            with self.subTest(name, value=value):
                shutil.rmtree(self.root / "usr/lib", ignore_errors=True)
                self.kokkos("usr", "5.2.2")
                output = self.assert_works(**{name: value.format(self.root / "usr")})
                self.assertIn("making the empty archive", output)
                self.assertIsNone(self.remembered())

    def test_named_remembered_and_in_the_environment(self):
        named, root, listed = (self.kokkos(name, "4.6.1") for name in ("named", "root", "listed"))
        old = self.kokkos("old", "4.5.1")
        self.assert_works(CMAKE_PREFIX_PATH=f"{old}:{listed}")
        self.assertEqual(self.remembered(), f"KOKKOS_PREFIX={listed}\n")
        (self.clone / "build/.quern-setup.env").unlink()
        self.assert_works(Kokkos_ROOT=str(root), CMAKE_PREFIX_PATH=str(listed))
        self.assertEqual(self.remembered(), f"KOKKOS_PREFIX={root}\n")
        self.assert_works("--prefix", named)
        self.assert_works(Kokkos_ROOT=str(root))
        self.assertEqual(self.remembered(), f"KOKKOS_PREFIX={named}\n")
        self.assert_changed_nothing()

    def test_named_but_too_old_or_missing(self):
        self.assert_refused("no Kokkos 4.6 or newer in", "--prefix", self.kokkos("old", "4.5.1"))
        self.assert_refused("there is no folder", "--prefix", self.root / "nowhere")
        self.assertIsNone(self.remembered())


class KokkosIsMissing(SetupTest):
    def test_own_package_comes_first(self):
        self.given("candidate", "5.1.1-2+b1\n")
        self.release()
        self.assert_works()
        self.assertEqual(self.calls("curl"), [])
        self.assertEqual(len(self.calls("install libkokkos-dev")), 1)
        self.assert_second_run_is_quick()

    def test_release_replaces_nothing(self):
        self.release()
        output = self.assert_works()
        self.assertNotIn("unstable", output.split("== Installing Kokkos")[1])
        self.assertEqual(self.calls("apt-get"), [])
        self.assertEqual(self.remembered(), f"KOKKOS_PREFIX={self.clone}/build/deps/kokkos\n")
        self.assert_second_run_is_quick()
        # Named, it is not built again; the folder is found when only the memory is lost.
        self.assertIn("already", self.assert_works("--kokkos-source", "release"))
        self.assertEqual(self.calls("curl"), [])
        (self.clone / "build/.quern-setup.env").unlink()
        self.assert_second_run_is_quick()

    def test_release_with_another_checksum_is_refused(self):
        self.release(listed=False)
        output = self.assert_refused("was refused: its SHA-256 is")
        self.assertIn("--kokkos-source DIR", output)
        self.assertEqual(self.calls("apt-get") + self.calls("--build"), [])
        self.assertFalse((self.clone / "build/deps").exists())

    def test_silent_host_leads_to_unstable_as_root_without_a_terminal(self):
        output = self.assert_works()
        for sentence in ("cannot download Kokkos", "libc6 2.36-9 -> 2.41-12", "cannot be undone",
                         "ends the security updates", "running as root: going on"):
            self.assertIn(sentence, " ".join(output.split()))
        self.assertIn("-t trixie", self.calls("-qq -y")[0])
        self.assertIn("--connect-timeout", self.calls("curl")[0])
        self.assert_second_run_is_quick()

    def test_terminal_is_asked_first(self):
        output = self.assert_refused("nothing was replaced", terminal="n\n")
        self.assertIn("cannot be undone", output)
        self.assertEqual(self.calls("-qq -y"), [])
        self.assert_works(terminal="y\n")
        self.assertEqual(len(self.calls("-qq -y")), 1)

    def test_yes_answers_on_a_terminal(self):
        self.assert_works("--yes", terminal="")
        self.assertEqual(len(self.calls("-qq -y")), 1)

    def test_sudo_without_a_terminal_needs_yes(self):
        self.given("uid", "1000\n")
        self.assert_refused("without a terminal needs --yes")
        self.assertEqual(self.calls("-qq -y"), [])
        self.assert_works("--yes")
        self.assertTrue(all(line.startswith(("sudo", "apt-get")) for line in self.calls("-qq -y")))

    def test_user_without_sudo_gets_the_release_or_the_other_ways(self):
        (self.bin / "sudo").unlink()
        self.given("uid", "1000\n")
        output = self.assert_refused("no way to a Kokkos is left")
        self.assertIn("--prefix DIR", output)
        self.release()
        self.assert_works()
        self.assertEqual(self.calls("apt-get"), [])

    def test_sudo_that_wants_a_password_is_not_waited_for(self):
        self.given("uid", "1000\n")
        self.given("sudo_asks")
        self.assert_refused("no way to a Kokkos is left")

    def test_unstable_where_nothing_is_replaced_asks_nothing(self):
        self.given("indexes", BOOKWORM.replace("bookworm", "trixie"))
        self.given("plan", NEW_ONLY)
        self.given("uid", "1000\n")
        output = self.assert_works()
        self.assertIn("Nothing on this system is replaced", output)
        self.assertNotIn("undone", output)

    def test_plan_that_removes_packages_is_refused(self):
        self.given("plan", REPLACING + "Remv locales [2.36-9]\n")
        self.assert_refused("apt would remove packages; refused", "--yes")
        self.assertEqual(self.calls("-qq -y"), [])

    def test_other_distribution_has_no_unstable(self):
        self.given("indexes", "noble|Ubuntu|main|noble|http://mirror.invalid/ubuntu|/etc/apt/x:1\n")
        self.assertNotIn("unstable", self.assert_refused("no way to a Kokkos is left"))

    def test_package_lists_that_were_never_read(self):
        (self.state / "lists_are_read").unlink()
        output = self.assert_works()
        self.assertIn("what apt offers, once its package lists are read", output)
        self.assertEqual(len(self.calls("install libkokkos-dev")), 2)  # tried, then done

    def test_download_needs_a_program_that_root_installs(self):
        shutil.move(self.bin / "curl", self.root / "later/curl")
        (self.root / "etc/ssl/certs/ca-certificates.crt").unlink()
        self.release()
        self.assert_works()
        self.assertIn("install curl ca-certificates", self.calls("-y")[0])
        self.assertEqual(self.remembered(), f"KOKKOS_PREFIX={self.clone}/build/deps/kokkos\n")

    def test_no_download_program_and_no_root(self):
        for tool in ("curl", "sudo"):
            (self.bin / tool).unlink()
        self.given("uid", "1000\n")
        self.assert_refused("neither curl nor wget is installed")

    def test_source_folder(self):
        source = self.root / "source"
        (source / "core/src").mkdir(parents=True)
        for version, good in (("4 5 1", False), ("5 0 2", True)):
            parts = zip(("MAJOR", "MINOR", "PATCH"), version.split())
            (source / "CMakeLists.txt").write_text(
                "".join(f"set(Kokkos_VERSION_{name} {part})\n" for name, part in parts))
            if good:
                self.given("release_version", "5.0.2\n")
                self.assert_works("--kokkos-source", source)
            else:
                self.assert_refused("holds Kokkos 4.5.1; 4.6", "--kokkos-source", source)
        self.assertEqual(self.calls("curl") + self.calls("apt-get"), [])

    def test_named_release_is_all_that_is_tried(self):
        self.assert_refused("no way to a Kokkos is left", "--kokkos-source", "release")
        self.assertEqual(self.calls("apt-get"), [])

    def test_dry_run_changes_nothing(self):
        output = self.setup("--dry-run")[1]
        self.assertLess(output.index("release 4.6"), output.index("Debian unstable"))
        self.assert_changed_nothing()
        self.assertFalse((self.clone / "build").exists())


class Packages(SetupTest):
    def setUp(self):
        super().setUp()
        self.kokkos("usr", "5.2.2")
        self.file("usr/lib/libkokkossimd.a")

    def test_missing_ones_are_named_and_installed(self):
        self.without_package("libcli11-dev")
        output = self.assert_works()
        self.assertRegex(output, r"libcli11-dev +command line")
        self.assertIn("install libcli11-dev", self.calls("-y")[0])
        self.assertEqual(len(self.calls("install")), 1)

    def test_only_what_it_is_for(self):
        for package in ("slurmd", "g++", "python3-h5py"):
            self.without_package(package)
        (self.bin / "c++").unlink()
        self.program("python3", "exit 1")
        for what, wanted in (("run", {"python3-h5py"}), ("train", {"python3-h5py", "g++"}),
                             ("test", {"python3-h5py", "g++", "slurmd"})):
            output = self.setup("--for", what, "--dry-run")[1]
            self.assertEqual(set(re.findall("(?m)^  ([a-z0-9+-]+) ", output)), wanted)

    def test_run_needs_no_kokkos(self):
        shutil.rmtree(self.root / "usr/lib")
        self.assert_works("--for", "run")
        self.assert_changed_nothing()

    def test_needs_root_and_there_is_none(self):
        self.without_package("libcli11-dev")
        self.given("uid", "1000\n")
        self.given("sudo_asks")
        self.assert_refused("sudo cannot ask for a password without a terminal")
        (self.bin / "sudo").unlink()
        self.assert_refused("needs root, and there is no sudo")
        self.assert_changed_nothing()

    def test_no_apt_and_all_there(self):
        self.without_apt()
        self.given("cmake_finds", NEW_ENOUGH)
        output = self.assert_refused("this system has no apt")
        self.assertEqual(re.findall("(?m)^  ([a-z0-9+-]+)  ", output.split("error")[0]),
                         ["dataset-fashion-mnist"])
        self.assert_works("--without", "dataset-fashion-mnist")
        self.file("usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")
        self.assert_works()

    def test_packages_that_are_too_old(self):
        self.given("versions", "libfmt-dev 8.1.1+ds1\nlibhdf5-dev 1.10.8+repack1\n")
        output = self.assert_refused("still missing after the installation: libfmt-dev (9 or newer)")
        self.assertIn("libfmt-dev               text formatting (9 or newer)\n", output)
        self.assertEqual(len(self.calls("install libfmt-dev")), 1)
        self.given("cmake_finds", "fmt 8.1.1\n")
        self.assert_refused("libfmt-dev (9 or newer)")
        self.given("cmake_finds", "fmt 10.2\n")
        self.assert_works()
        self.assert_changed_nothing()

    def test_no_apt_and_libraries_that_are_too_old(self):
        self.without_apt()
        self.file("usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")
        self.given("cmake_finds", NEW_ENOUGH)
        self.assert_works()
        for package, before in (("libhdf5-dev", "HDF5 1.8.23"), ("libfmt-dev", "fmt 8.1.1"),
                                ("nlohmann-json3-dev", "nlohmann_json 3.10.5"),
                                ("libtomlplusplus-dev", "tomlplusplus 3.0.1"),
                                ("libcli11-dev", "CLI11 2.0.0"), ("libxxhash-dev", "xxHash 0.7.4")):
            with self.subTest(package):
                self.given("cmake_finds", re.sub(f"(?m)^{before.split()[0]} .*", before, NEW_ENOUGH))
                self.assertIn(f"\n  {package} ", self.assert_refused("this system has no apt"))

    def test_no_apt_and_a_kokkos_to_build(self):
        shutil.rmtree(self.root / "usr/lib")
        self.without_apt()
        self.given("cmake_finds", NEW_ENOUGH)
        self.release()
        self.assert_works("--without", "dataset-fashion-mnist")
        self.assertEqual(self.remembered(), f"KOKKOS_PREFIX={self.clone}/build/deps/kokkos\n")

    def test_wrong_options(self):
        for options in (["--without", "g+"], ["--for", "fun"], ["--prefix"], ["--wrong"],
                        ["--kokkos-source", "nowhere"], ["--prefix", "a", "--kokkos-source", "release"]):
            status, output = self.setup(*options)
            self.assertEqual(status, 2, output)
            self.assertRegex(output, "^setup: error: .*\n$")

    def test_help(self):
        status, output = self.setup("--help")
        self.assertEqual(status, 0)
        self.assertIn("ends their security updates", " ".join(output.split()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
