// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "base/error.hpp"

namespace quern {

/// A call of MPI failed, often on all ranks at once.
class TransportError : public Error {
 public:
  /// `where`: "rank 3 (node2)". The message is "MPI_Bcast failed on rank 3 (node2): reason".
  TransportError(const std::string& call, const std::string& where, const std::string& reason)
      : Error(call + " failed on " + where + ": " + reason), reason_(call + ": " + reason) {}

  /// The message without the rank and its host: the same on all ranks where it failed alike.
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

}  // namespace quern
