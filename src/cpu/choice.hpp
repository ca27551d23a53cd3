// SPDX-License-Identifier: Apache-2.0
// Which of several programs, each compiled for another level, a processor is given, and why.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/amx.hpp"
#include "cpu/level.hpp"

namespace quern::cpu {

/// The environment variable with which a user chooses: QUERN_CPU=avx2.
inline constexpr const char* kWishVariable = "QUERN_CPU";
/// The wish for the avx512 program with AMX. A level's name is a wish for it without AMX.
inline constexpr const char* kAmx = "amx";

/// The level that `wish` (null or "": none; kAmx: avx512) names, if it is one of `built` that
/// `machine` runs. Otherwise the best such level, and the program that is started reports the bad
/// wish (check_wish()): it knows its rank. Nothing of `built` runs on `machine`: the first of
/// `built`.
Level choose(const std::vector<Level>& built, Level machine, const char* wish);

/// InputError unless `wish` is null, "", the name of `taken`, or kAmx where that is granted. Calls
/// `ask` for a wish that is kAmx or wrong, and for no other.
void check_wish(Level taken, const std::vector<Level>& built, Level machine,
                const std::function<Amx()>& ask, const char* wish);

/// Does the wish leave AMX to a program that has it?
bool wishes_amx(const char* wish);

/// "avx2: the best of x86-64, avx2, avx512 that this processor runs".
std::string reason(Level taken, const std::vector<Level>& built, const char* wish);

/// What multiplies tiles of bfloat16, and why: "vector registers (QUERN_CPU=avx512)".
std::string tiles_reason(Amx amx, const char* wish);

/// Ends the process with exit status 2 and a message unless this processor runs programs compiled
/// for `compiled`: the processor would end it with an illegal instruction soon. Uses no instruction
/// that is not on every processor; call it before all else.
void require(Level compiled);

}  // namespace quern::cpu
