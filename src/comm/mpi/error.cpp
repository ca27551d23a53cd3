// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/error.hpp"

#include <mpi.h>

#include <array>

#include "base/log.hpp"
#include "comm/transport_error.hpp"

namespace quern {

void MpiCaller::check(int code, const char* call) const {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  const std::string reason =
      length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : "unknown error";
  throw TransportError(call, "rank " + std::to_string(rank) + " (" + host + ")",
                       reason + " (code " + std::to_string(code) + ")");
}

void MpiCaller::check_quietly(int code, const char* call) const noexcept {
  try {
    check(code, call);
  } catch (const std::exception& e) {
    log::error(e.what());
  }
}

}  // namespace quern
