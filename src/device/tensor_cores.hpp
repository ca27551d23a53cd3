// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Macros.hpp>

// Since Ampere they multiply tf32 and bf16.
#if defined(KOKKOS_ENABLE_CUDA) && (defined(KOKKOS_ARCH_AMPERE) || defined(KOKKOS_ARCH_ADA89) || \
                                    defined(KOKKOS_ARCH_HOPPER) || defined(KOKKOS_ARCH_BLACKWELL))
#define QUERN_TENSOR_CORES 1
#endif

namespace quern {

/// Does this build multiply on tensor cores? Otherwise kernels that round their operands serve for
/// tests only.
#if defined(QUERN_TENSOR_CORES)
inline constexpr bool kTensorCores = true;
#else
inline constexpr bool kTensorCores = false;
#endif

}  // namespace quern
