// SPDX-License-Identifier: Apache-2.0
#include "base/host_name.hpp"

#include <unistd.h>

#include <array>

namespace quern {

std::string host_name() {
  std::array<char, 256> name{};  // HOST_NAME_MAX is 64
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace quern
