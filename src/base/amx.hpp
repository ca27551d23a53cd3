// SPDX-License-Identifier: Apache-2.0
// Intel's tile unit (AMX) for bfloat16: may this process use it?
#pragma once

namespace quern {

enum class Amx {
  none,     ///< the processor has none, or the compiler is for another kind of processor
  refused,  ///< the system does not let this process: it is too old, or keeps it in a sandbox
  granted,
};

/// Linux saves the tiles of processes that have asked for it, for all of their threads. The first
/// call asks. Only who uses tiles should: from then on alternate stacks of signal handlers have to
/// have room for them.
Amx ask_for_amx();

}  // namespace quern
