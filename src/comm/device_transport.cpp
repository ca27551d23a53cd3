// SPDX-License-Identifier: Apache-2.0
#include "comm/device_transport.hpp"

#include <exception>

#include "comm/agree.hpp"

namespace quern {

void agree_on_exchange(Communicator& comm, DeviceTransport& transport,
                       const std::function<void()>& work) {
  std::exception_ptr own;
  std::exception_ptr others;
  try {
    work();
  } catch (const OtherRankError&) {
    others = std::current_exception();
  } catch (...) {
    own = std::current_exception();
  }
  if (own || others) transport.abort();
  agree_on_error(comm, own);
  agree_on_error(comm, others);
}

}  // namespace quern
