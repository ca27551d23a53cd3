// SPDX-License-Identifier: Apache-2.0
#include "strategy/recipe_kernels.hpp"

#include "device/tensor_cores.hpp"

namespace quern {

KernelChoice kernels_of(const Recipe& recipe) {
  KernelChoice choice;
  choice.any_order = recipe.train.determinism == Determinism::fast;
  const bool rounds = kTensorCores || (kHostExecution && choice.on_device);
  const Precision precision = recipe.train.precision;
  if (precision == Precision::bf16 && (rounds || kHostExecution))
    choice.precision = OperandPrecision::bf16;
  else if (precision == Precision::tf32 && rounds)
    choice.precision = OperandPrecision::tf32;
  // Devices have one order, their own.
  if (choice.multiplies_tiles() && recipe.train.bf16_sums == Bf16Sums::pairs)
    choice.precision = OperandPrecision::bf16_pairs;
  choice.winograd = recipe.train.convolution == Convolution::winograd;
  return choice;
}

}  // namespace quern
