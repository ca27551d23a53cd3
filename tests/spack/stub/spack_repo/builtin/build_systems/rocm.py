# SPDX-License-Identifier: Apache-2.0
from spack.package import depends_on, variant


class ROCmPackage:
    amdgpu_targets = ("gfx90a", "gfx942")
    variant("rocm", default=False, description="Build for ROCm")
    depends_on("hip+rocm", when="+rocm")
