// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quern {

/// What the operands of products are rounded to; sums are float.
enum class OperandPrecision { fp32, tf32, bf16 };

}  // namespace quern
