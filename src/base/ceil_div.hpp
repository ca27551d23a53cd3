// SPDX-License-Identifier: Apache-2.0
// Whole numbers that are rounded up: how many pieces of a size a count makes.
#pragma once

#include <type_traits>

#include "base/macros.hpp"

namespace quern {

/// count / size, rounded up, in the wider of the two types. `count` is at least 0, `size` at least
/// 1, and their sum must fit into that type.
template <class Count, class Size>
QUERN_INLINE_FUNCTION constexpr std::common_type_t<Count, Size> ceil_div(Count count, Size size) {
  return (count + size - 1) / size;
}

/// The smallest multiple of `unit` that is not below `count`; otherwise as ceil_div().
template <class Count, class Unit>
QUERN_INLINE_FUNCTION constexpr std::common_type_t<Count, Unit> round_up(Count count, Unit unit) {
  return ceil_div(count, unit) * unit;
}

}  // namespace quern
