// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>

#include "comm/message.hpp"
#include "comm/mpi/error.hpp"

namespace quern {

/// One end of a message as a persistent request of MPI.
class MpiMessage final : public Message {
 public:
  enum class End { send, receive };

  /// Takes the request over; `size` floats. `caller` outlives this.
  MpiMessage(MPI_Request request, std::size_t size, const MpiCaller& caller, End end);
  ~MpiMessage() override;

  void start() override;
  void wait() override;

  /// Lets this process's sends move on, which MPI does only inside a call. Are some still under
  /// way?
  static bool advance_sends();

 private:
  MPI_Request request_;
  std::size_t size_;
  const MpiCaller& caller_;
  End end_;
  bool under_way_ = false;  ///< started, and not waited for
};

}  // namespace quern
