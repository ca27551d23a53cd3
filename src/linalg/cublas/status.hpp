// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublasLt.h>

#include <string>

#include "base/error.hpp"

namespace quern::cublas {

/// Throws Error naming `call` unless it went well.
inline void check(cublasStatus_t status, const std::string& call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(call + " failed: " + cublasLtGetStatusString(status));
}

}  // namespace quern::cublas
