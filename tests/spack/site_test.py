# SPDX-License-Identifier: Apache-2.0
"""scripts/spack-site, with modules that we make up."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

from recipe import ROOT

SCRIPT = ROOT / "scripts" / "spack-site"
NVCC = "#!/bin/sh\necho 'Cuda compilation tools, release 12.6, V12.6.77'\n"
OMPI_INFO = """#!/bin/sh
case "$1" in
  --version) echo 'Open MPI v5.0.4' ;;
  *)
    echo 'mca:mpi:base:param:mpi_built_with_cuda_support:value:true'
    printf '%0200000d\n' 0 1 2 # much more than a pipe holds
    ;;
esac
"""
NCCL = (
    '#define NCCL_MAJOR 2\n#define NCCL_MINOR 27\n#define NCCL_PATCH 3\n#define NCCL_SUFFIX ""\n'
)


# What mpichversion prints, after these lines the options of its build.
MPICH = """#!/bin/sh
printf '%s Version:    \t%s\n%s Release date:\tThu Apr  6 09:43:36 CDT 2023\n' '{0}' '{1}' '{0}'
"""


class SiteTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        tools = self.root / "tools"
        tools.mkdir()
        for name in ("bash", "dirname", "sed", "paste", "grep", "head", "readlink"):
            (tools / name).symlink_to(Path("/usr/bin") / name)
        self.path = [str(tools)]

    def write(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)
        return file.parent.parent

    def run_script(self, **environment):
        return subprocess.run(
            ["/bin/bash", SCRIPT, "--print"],
            env={"PATH": os.pathsep.join(self.path), **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def found(self, **environment):
        """{package: (spec, prefix)} of its externals, and what else is said of MPI."""
        done = self.run_script(**environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        packages = yaml.safe_load(done.stdout)["packages"]
        mpi = packages.pop("mpi")["require"]
        for name, entry in packages.items():
            self.assertIs(entry["buildable"], False)
            self.assertEqual(len(entry["externals"]), 1)
            self.assertTrue(entry["externals"][0]["spec"].startswith(f"{name}@"))
        self.packages = packages
        return mpi, {
            name: (entry["externals"][0]["spec"], entry["externals"][0]["prefix"])
            for name, entry in packages.items()
        }

    def test_cray_and_rocm(self):
        rocm = self.write("rocm/.info/version", "6.2.4-120\n")
        mpi, found = self.found(
            CRAY_MPICH_DIR="/opt/cray/mpich", CRAY_MPICH_VERSION="8.1.31", ROCM_PATH=str(rocm)
        )
        self.assertEqual(mpi, "cray-mpich")
        self.assertEqual(
            found,
            {
                "cray-mpich": ("cray-mpich@8.1.31", "/opt/cray/mpich"),
                "hip": ("hip@6.2.4", str(rocm)),
                "hsa-rocr-dev": ("hsa-rocr-dev@6.2.4", str(rocm)),
                "rocthrust": ("rocthrust@6.2.4", str(rocm)),
                "rccl": ("rccl@6.2.4 amdgpu_target=gfx90a,gfx942", str(rocm)),
                "llvm-amdgpu": ("llvm-amdgpu@6.2.4", f"{rocm}/llvm"),
            },
        )
        compilers = self.packages["llvm-amdgpu"]["externals"][0]["extra_attributes"]["compilers"]
        self.assertEqual(
            compilers,
            {"c": f"{rocm}/llvm/bin/amdclang", "cxx": f"{rocm}/llvm/bin/amdclang++"},
        )

    def test_open_mpi_cuda_and_nccl(self):
        openmpi = self.write("openmpi/bin/ompi_info", OMPI_INFO)
        self.write("openmpi/bin/mpicc", "#!/bin/sh\n")
        cuda = self.write("cuda/bin/nvcc", NVCC)
        nccl = self.write("nccl/include/nccl.h", NCCL)
        self.path += [f"{openmpi}/bin", f"{cuda}/bin"]
        mpi, found = self.found(NCCL_HOME=str(nccl))
        self.assertEqual(mpi, "openmpi")
        self.assertEqual(
            found,
            {
                "openmpi": ("openmpi@5.0.4+cuda", str(openmpi)),
                "cuda": ("cuda@12.6.77", str(cuda)),
                "nccl": ("nccl@2.27.3 cuda_arch=70,80,90 fabrics=auto", str(nccl)),
            },
        )
        self.assertEqual(set(self.found()[1]), {"openmpi", "cuda"})

    def mpich(self, title, version):
        """What is found where mpichversion prints this."""
        prefix = self.write("mpich/bin/mpichversion", MPICH.format(title, version))
        self.write("mpich/bin/mpicc", "#!/bin/sh\n")
        self.path[1:] = [f"{prefix}/bin"]
        mpi, found = self.found()
        self.assertEqual(set(found), {mpi})
        self.assertEqual(found[mpi][1], str(prefix))
        return found[mpi][0]

    def test_mpich_and_its_children(self):
        # ParaStation MPI prints MPICH's lines: it is built of MPICH.
        self.assertEqual(self.mpich("MPICH", "4.1.1"), "mpich@4.1.1")
        self.assertEqual(self.mpich("MVAPICH", "4.0"), "mvapich@4.0")
        self.assertEqual(self.mpich("MVAPICH2", "2.3.7"), "mvapich2@2.3.7")

    def test_intel_mpi(self):
        root = self.write("oneapi/mpi/2021.13/bin/mpicc", "#!/bin/sh\n")
        (self.root / "oneapi/mpi/latest").symlink_to("2021.13")
        self.path.append(f"{root}/bin")
        for name in ("2021.13", "latest"):
            mpi, found = self.found(I_MPI_ROOT=str(self.root / "oneapi/mpi" / name))
            self.assertEqual(mpi, "intel-oneapi-mpi")
            spec = "intel-oneapi-mpi@2021.13+generic-names"
            self.assertEqual(found, {mpi: (spec, str(self.root / "oneapi"))})
        other = self.write("impi/bin/mpicc", "#!/bin/sh\n")
        self.path[1:] = [f"{other}/bin"]
        done = self.run_script(I_MPI_ROOT=str(other))
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"I_MPI_ROOT is '{other}'", done.stderr)
        # A variable left over from another module.
        self.path[1:] = [f"{self.write('openmpi/bin/mpicc', '#!/bin/sh')}/bin"]
        self.write("openmpi/bin/ompi_info", OMPI_INFO)
        self.assertEqual(self.found(I_MPI_ROOT=str(root))[0], "openmpi")

    def test_unknown_mpi(self):
        prefix = self.write("other/bin/mpicc", "#!/bin/sh\n")
        self.path.append(f"{prefix}/bin")
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"cannot tell which MPI {prefix}/bin/mpicc belongs to", done.stderr)
        self.assertIn("docs/deploy.md", done.stderr)
        self.write("other/bin/mpichversion", MPICH.format("Other", "1.0"))
        self.assertIn("names no version", self.run_script().stderr)

    def test_no_module(self):
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("load the module of an MPI first", done.stderr)
        for wrong in ((), ("../x",), ("--nam",)):
            done = subprocess.run([SCRIPT, *wrong], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
