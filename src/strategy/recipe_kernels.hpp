// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/recipe.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

/// The kernels that a recipe asks for. tf32 needs tensor cores, bf16 those or a CPU: elsewhere such
/// a run is evaluated in fp32. Device kernels on a CPU round for tests.
KernelChoice kernels_of(const Recipe& recipe);

}  // namespace quern
