// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "comm/session.hpp"

namespace quern {

/// One rank, alone.
std::unique_ptr<CommSession> start_serial();

}  // namespace quern
