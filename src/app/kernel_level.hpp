// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quern {

/// InputError where QUERN_CPU asks for other kernels than this program's.
void check_kernel_wish();

/// Which kernels these are, and why: "avx2: the best of x86-64, avx2, avx512 that this processor
/// runs (-march=x86-64-v3)".
std::string kernel_level_text();

}  // namespace quern
