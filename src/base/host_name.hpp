// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quern {

/// What the kernel calls this machine; "localhost" when it does not tell.
std::string host_name();

}  // namespace quern
