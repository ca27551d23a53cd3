# SPDX-License-Identifier: Apache-2.0

import re

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.rocm import ROCmPackage

from spack.package import *


class Quern(CMakePackage, CudaPackage, ROCmPackage):
    """Quern trains neural networks from batch jobs, with Kokkos, MPI and HDF5. The trained weights
    have the same bits for any number of ranks."""

    # The clone that holds this recipe: its branch main, whatever is checked out. A URL, because of
    # a plain path Spack makes a partial clone that git cannot describe.
    git = f"file://{ancestor(__file__, 5)}"

    sanity_check_is_file = [
        join_path("bin", "quern"),
        join_path("bin", "quern-submit"),
        join_path("include", "quern", "train", "training_run.hpp"),
    ]
    sanity_check_is_dir = [join_path("share", "quern", "recipes")]

    license("Apache-2.0")

    version("main", branch="main")

    variant("mpi", default=True, description="Several ranks")
    variant("openmp", default=True, description="Several threads in a rank")
    variant("nccl", default=False, description="Gradients of GPUs by NCCL, or RCCL with +rocm")
    variant("shared", default=False, description="Build libquern as a shared library")

    # One GPU type in a build, as in Kokkos: these replace the lists of the base classes.
    variant(
        "cuda_arch",
        default="none",
        values=("none",) + CudaPackage.cuda_arch_values,
        multi=False,
        sticky=True,
        when="+cuda",
        description="CUDA architecture",
    )
    variant(
        "amdgpu_target",
        default="none",
        values=("none",) + ROCmPackage.amdgpu_targets,
        multi=False,
        sticky=True,
        when="+rocm",
        description="AMD GPU architecture",
    )

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("kokkos@4.6:5")
    # Kernels run on what Kokkos was built for.
    depends_on("kokkos~cuda", when="~cuda")
    depends_on("kokkos~rocm", when="~rocm")
    for _back_end in ("sycl", "openmptarget", "hpx"):
        conflicts(
            f"^kokkos+{_back_end}",
            msg=f"Quern has no kernels for {_back_end}: take another kokkos",
        )
    depends_on("kokkos+openmp", when="+openmp")
    depends_on("kokkos~openmp", when="~openmp")
    # One Kokkos for a shared libquern and the programs that link it.
    depends_on("kokkos+shared", when="+shared")
    requires("^kokkos cxxstd=20", when="^kokkos@:4")
    depends_on("mpi", when="+mpi")
    depends_on("hdf5@1.10:")
    depends_on("hdf5~mpi", when="~mpi")
    depends_on("zlib-api")
    depends_on("libpng")
    depends_on("jpeg")
    depends_on("fmt@9:")
    depends_on("nlohmann-json@3.11:")
    depends_on("tomlplusplus@3.3:")
    depends_on("cli11@2.1:")
    depends_on("xxhash@0.8:")
    # jobs/ and analysis/, installed as they are.
    depends_on("python@3.11:", type="run")
    depends_on("googletest+gmock", type="test")

    # CUDA: the compiler is Kokkos' wrapper of nvcc, around GCC.
    depends_on("kokkos+cuda+wrapper", when="+cuda")
    requires("^kokkos+cuda_lambda", when="+cuda ^kokkos@:4")
    for _arch in CudaPackage.cuda_arch_values:
        depends_on(f"kokkos+cuda cuda_arch={_arch}", when=f"+cuda cuda_arch={_arch}")
        depends_on(f"nccl@2.20: cuda_arch={_arch}", when=f"+nccl+cuda cuda_arch={_arch}")
    requires("%cxx=gcc", when="+cuda", msg="+cuda needs GCC as the compiler: add %cxx=gcc")
    conflicts(
        "cuda_arch=none",
        when="+cuda",
        msg="+cuda: set cuda_arch: 70 (V100), 80 (A100), 90 (H100, H200, GH200)",
    )

    # ROCm 6.2 has the first RCCL with the interface of NCCL 2.20.
    for _target in ROCmPackage.amdgpu_targets:
        depends_on(f"kokkos+rocm amdgpu_target={_target}", when=f"+rocm amdgpu_target={_target}")
        depends_on(
            f"rccl@6.2: amdgpu_target={_target}", when=f"+nccl+rocm amdgpu_target={_target}"
        )
    conflicts(
        "amdgpu_target=none",
        when="+rocm",
        msg="+rocm: set amdgpu_target: gfx90a (MI250X), gfx942 (MI300)",
    )

    conflicts("+cuda", when="+rocm", msg="choose one of +cuda and +rocm")
    conflicts("~cuda~rocm", when="+nccl", msg="+nccl is for GPUs: add +cuda or +rocm")
    conflicts("~mpi", when="+nccl", msg="+nccl needs +mpi: ranks find each other by MPI")
    conflicts("%gcc@:11", msg="Quern is C++20 and needs GCC 12 or newer")
    conflicts(
        "%gcc@12.5",
        when="^kokkos@4.7:5.1",
        msg="GCC 12.5 miscompiles this Kokkos (its issue 7464): take another GCC",
    )
    conflicts(
        "%gcc@12.2:12.5",
        when="+cuda ^kokkos@4.7:",
        msg="+cuda: GCC 12.2 to 12.5 miscompile this Kokkos (its issue 7464): take GCC 13",
    )

    def cmake_args(self):
        args = [
            self.define_from_variant("QUERN_ENABLE_MPI", "mpi"),
            self.define_from_variant("QUERN_ENABLE_NCCL", "nccl"),
            self.define_from_variant("QUERN_ENABLE_CUBLAS", "cuda"),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define("QUERN_ENABLE_PNG", True),
            self.define("QUERN_ENABLE_JPEG", True),
            self.define("QUERN_ENABLE_TESTS", self.run_tests),
            # Spack's compiler wrapper adds the flags of the target.
            self.define("QUERN_ARCH", ""),
        ]
        if "commit" in self.spec.variants:
            # Sources from a mirror have no .git.
            args.append(self.define("QUERN_COMMIT", self.spec.variants["commit"].value[:12]))
        if self.spec.satisfies("+cuda"):
            args += [
                self.define("QUERN_REQUIRE_BACKEND", "CUDA"),
                self.define("CMAKE_CXX_COMPILER", self["kokkos"].kokkos_cxx),
            ]
        elif self.spec.satisfies("+rocm"):
            args.append(self.define("QUERN_REQUIRE_BACKEND", "HIP"))
            # A compiler that knows HIP by itself stays; so does Kokkos' own recipe.
            if not (self.spec.satisfies("%cxx=clang") or self.spec.satisfies("%cxx=rocmcc")):
                args.append(self.define("CMAKE_CXX_COMPILER", self.spec["hip"].hipcc))
        return args

    def check(self):
        """Those tests that need neither Slurm nor the tools of style checks."""
        with working_dir(self.build_directory):
            ctest(
                "--output-on-failure",
                "--no-tests=error",
                "--parallel",
                str(make_jobs),
                "--label-regex",
                "^(unit|mpi)$",
            )

    # Tests may run on one GPU, on one core, and in a container, where Open MPI minds being root.
    _test_environment = {
        "QUERN_SHARE_GPU": "1",
        "OMP_NUM_THREADS": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }

    def test_resume(self):
        """train two steps; stopped after the first and resumed, the weights have the same bits"""
        whole = self._train("whole", "--set", "train.epochs=2")
        self._train("parts", "--set", "train.epochs=1")
        parts = self._train("parts", "--set", "train.epochs=2")
        assert parts == whole, f"resumed: {parts}, in one go: {whole}"

    def test_two_ranks(self):
        """train two steps on two ranks; the weights have the bits of one rank"""
        if not self.spec.satisfies("+mpi"):
            raise SkipTest("built without MPI")
        launcher = which("mpiexec", path=[self.spec["mpi"].prefix.bin])
        if launcher is None:
            raise SkipTest("this MPI has no mpiexec: its programs are started by the batch system")
        one = self._train("one", "--set", "train.epochs=2")
        two = self._train("two", "--set", "train.epochs=2", launcher=(launcher.path, "-n", "2"))
        assert two == one, f"two ranks: {two}, one rank: {one}"

    def _train(self, run_dir, *options, launcher=()):
        """Trains the smallest recipe, one step an epoch, and returns the hash of the weights."""
        quern = which(self.prefix.bin.quern, required=True)
        recipe = join_path(self.prefix.share, "quern", "recipes", "ddp-toy.toml")
        train = [*launcher, quern.path, "train", recipe, "--run-dir", run_dir, *options]
        Executable(train[0])(*train[1:], extra_env=self._test_environment)
        out = quern("checkpoint", "hash", run_dir, output=str)
        assert re.fullmatch("[0-9a-f]{64}\n", out), f"expected a SHA-256, got '{out}'"
        return out.strip()
