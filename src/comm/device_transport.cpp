// SPDX-License-Identifier: Apache-2.0
#include "comm/device_transport.hpp"

#include <algorithm>
#include <exception>

#include "comm/agree.hpp"

namespace quern {

double GridTransports::deadline_s() const {
  double seconds = std::numeric_limits<double>::infinity();
  for (const DeviceTransport* transport : {data, tensor})
    if (transport) seconds = std::min(seconds, transport->deadline_s());
  return seconds;
}

void GridTransports::check() const {
  for (DeviceTransport* transport : {data, tensor})
    if (transport) transport->check();
}

void GridTransports::abort() const noexcept {
  for (DeviceTransport* transport : {data, tensor})
    if (transport) transport->abort();
}

void agree_on_exchange(Communicator& comm, const GridTransports& transports,
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
  if (own || others) transports.abort();
  agree_on_error(comm, own);
  agree_on_error(comm, others);
}

}  // namespace quern
