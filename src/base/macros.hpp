// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks a function that kernels call: compiled for the device too when the compiler has one.
/// (KOKKOS_INLINE_FUNCTION for rooms that do not know Kokkos.)
#if defined(__CUDACC__) || defined(__HIPCC__)
#define QUERN_INLINE_FUNCTION __host__ __device__ inline
#else
#define QUERN_INLINE_FUNCTION inline
#endif
