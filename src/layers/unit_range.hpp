// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor/activation.hpp"

namespace quern {

/// Overwrites the units [to_unit, to_unit + units) of `to` with the units from `from_unit` on of
/// `from`. Both are in nchw16n, or both in nc with units that kLanes divides (`units` only if
/// others follow in one of them); they have the same rows.
void copy_units(const ExecSpace& exec, const Activation& from, int from_unit, const Activation& to,
                int to_unit, int units);

}  // namespace quern
