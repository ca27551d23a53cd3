// SPDX-License-Identifier: Apache-2.0
// Which of several programs, each compiled for another level, a processor is given, and why.
#pragma once

#include <string>
#include <vector>

#include "cpu/level.hpp"

namespace quern::cpu {

/// The environment variable with which a user chooses: QUERN_CPU=avx2.
inline constexpr const char* kWishVariable = "QUERN_CPU";

/// The level that `wish` (null or "": none) names, if it is one of `built` that `machine` runs.
/// Otherwise the best such level, and the program that is started reports the bad wish
/// (check_wish()): it knows its rank. Nothing of `built` runs on `machine`: the first of `built`.
Level choose(const std::vector<Level>& built, Level machine, const char* wish);

/// InputError unless `wish` is null, "" or the name of `taken`.
void check_wish(Level taken, const std::vector<Level>& built, Level machine, const char* wish);

/// "avx2: the best of x86-64, avx2, avx512 that this processor runs".
std::string reason(Level taken, const std::vector<Level>& built, const char* wish);

/// Ends the process with exit status 2 and a message unless this processor runs programs compiled
/// for `compiled`: the processor would end it with an illegal instruction soon. Uses no instruction
/// that is not on every processor; call it before all else.
void require(Level compiled);

}  // namespace quern::cpu
