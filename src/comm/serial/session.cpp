// SPDX-License-Identifier: Apache-2.0
#include "comm/serial/session.hpp"

#include <string>

#include "comm/serial/communicator.hpp"

namespace quern {

namespace {

class SerialSession : public CommSession {
 public:
  Communicator& communicator() override { return communicator_; }
  const char* transport() const override { return "serial"; }
  const std::string& library() const override { return library_; }

 private:
  SerialCommunicator communicator_;
  std::string library_;
};

}  // namespace

std::unique_ptr<CommSession> start_serial() {
  return std::make_unique<SerialSession>();
}

}  // namespace quern
