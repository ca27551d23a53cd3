// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl_support.hpp"

#include <chrono>

#include "base/error.hpp"
#include "comm/agree.hpp"
#ifdef QUERN_HAVE_NCCL
#include "comm/nccl/transport.hpp"
#endif

namespace quern {

int nccl_timeout_s(const EnvironmentLookup& lookup) {
  constexpr int kDefault = 300;
  const char* const name = "QUERN_NCCL_TIMEOUT";
  const char* text = environment_text(lookup, name);
  if (!text) return kDefault;
  if (const auto seconds = environment_number(lookup, name, 1)) return *seconds;
  throw InputError(std::string(name) + "=" + text +
                   " in the environment (expected seconds, a whole number of at least 1)");
}

#ifdef QUERN_HAVE_NCCL

bool built_with_nccl() {
  return true;
}

std::string nccl_version() {
  return nccl_library_version();
}

std::unique_ptr<DeviceTransport> connect_by_nccl(Communicator& comm) {
  const int timeout_s = agree(comm, [] { return nccl_timeout_s(); });
  return start_nccl(comm, std::chrono::seconds(timeout_s));
}

#else

bool built_with_nccl() {
  return false;
}

std::string nccl_version() {
  return "";
}

std::unique_ptr<DeviceTransport> connect_by_nccl(Communicator&) {
  throw InputError("NCCL was asked for, but this quern was built without it (QUERN_ENABLE_NCCL)");
}

#endif

}  // namespace quern
