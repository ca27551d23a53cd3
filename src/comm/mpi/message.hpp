// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <vector>

#include "comm/message.hpp"
#include "comm/mpi/error.hpp"

namespace quern {

/// One end of a message as persistent requests of MPI: one, unless it is longer than MPI counts.
class MpiMessage final : public Message {
 public:
  enum class End { send, receive };

  /// A request for `count` of its floats.
  struct Part {
    explicit Part(int floats) : count(floats) {}

    int count;
    MPI_Request request = MPI_REQUEST_NULL;
    bool under_way = false;  ///< started, and not waited for
  };

  /// Takes the requests over, which are in the order of the floats. `caller` outlives this.
  MpiMessage(std::vector<Part> parts, const MpiCaller& caller, End end);
  ~MpiMessage() override;

  void start() override;
  void wait() override;

  /// Lets this process's sends move on, which MPI does only inside a call. Are some still under
  /// way?
  static bool advance_sends();

 private:
  void wait_for(Part& part);

  std::vector<Part> parts_;
  const MpiCaller& caller_;
  End end_;
};

}  // namespace quern
