# SPDX-License-Identifier: Apache-2.0
"""Which Kokkos CMake takes: one that Quern knows, and the one that was asked for or none."""
import configured
from configured import ConfiguredTest


class KokkosTest(ConfiguredTest):
    def test_back_ends(self):
        for name in ("SYCL", "OPENACC", "OPENMPTARGET", "HPX"):
            kokkos = self.kokkos(f"set(Kokkos_DEVICES {name} SERIAL)")
            said = self.refusal(f"-DKokkos_DIR={kokkos}")
            self.assertIn(f"The Kokkos in {kokkos} was built for {name}, for which Quern has no kernels", said)
        self.configure(f"-DKokkos_DIR={self.kokkos('set(Kokkos_DEVICES OPENMP THREADS SERIAL)')}")


if __name__ == "__main__":
    configured.main()
