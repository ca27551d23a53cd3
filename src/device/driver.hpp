// SPDX-License-Identifier: Apache-2.0
// The runtime below Kokkos, CUDA's or HIP's: their names differ in the prefix only. Of src/ only
// this room calls it; QUERN_DRIVER(Stream_t) is cudaStream_t or hipStream_t, and not defined where
// kernels run on the host.
#pragma once

#include <string>

#include "base/error.hpp"
#include "tensor/types.hpp"

#if defined(KOKKOS_ENABLE_CUDA)
#define QUERN_DRIVER(name) cuda##name
#elif defined(KOKKOS_ENABLE_HIP)
#define QUERN_DRIVER(name) hip##name
#endif

#if defined(QUERN_DRIVER)

namespace quern::driver {

inline QUERN_DRIVER(Stream_t) stream_of(const ExecSpace& exec) {
#if defined(KOKKOS_ENABLE_CUDA)
  return exec.cuda_stream();
#else
  return exec.hip_stream();
#endif
}

/// Throws Error unless `code` is success: "`what`: " and the driver's reason.
inline void check(QUERN_DRIVER(Error_t) code, const char* what) {
  if (code == QUERN_DRIVER(Success)) return;
  throw Error(std::string(what) + ": " + QUERN_DRIVER(GetErrorString)(code));
}

}  // namespace quern::driver

#endif
