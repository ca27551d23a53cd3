// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quern {

/// Where MPI calls come from, for messages.
struct MpiCaller {
  int rank = 0;
  std::string host;

  /// Throws TransportError unless `code` is MPI_SUCCESS: "MPI_Bcast failed on rank 3 (node2):
  /// text".
  void check(int code, const char* call) const;
  /// For destructors: logs instead of throwing.
  void check_quietly(int code, const char* call) const noexcept;
};

}  // namespace quern
