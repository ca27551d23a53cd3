# SPDX-License-Identifier: Apache-2.0
from spack.package import depends_on, variant


class CudaPackage:
    cuda_arch_values = ("70", "80", "90")
    variant("cuda", default=False, description="Build with CUDA")
    depends_on("cuda", when="+cuda")
