// SPDX-License-Identifier: Apache-2.0
// Intel's tile unit (AMX) for bfloat16: may this process use it?
#pragma once

namespace quern {

enum class Amx {
  none,     ///< the processor has none, or the compiler is for another kind of processor
  refused,  ///< the system does not let this process: it is too old, or keeps it in a sandbox
  granted,
};

/// Linux saves the tiles of processes that have asked for it. The first call asks, best before
/// threads start.
Amx ask_for_amx();

}  // namespace quern
