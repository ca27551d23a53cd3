// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quern {

/// Does what QUERN_CPU asks for. InputError where this program cannot.
void take_kernels();

/// Which kernels these are, and why: "avx2: the best of x86-64, avx2, avx512 that this processor
/// runs (-march=x86-64-v3)".
std::string kernel_level_text();

/// What multiplies tiles of bfloat16, and why: "AMX"; "" in a build for devices.
std::string tiles_text();
/// The same where train.bf16_sums is "pairs": "AVX512_BF16".
std::string pairs_text();

}  // namespace quern
