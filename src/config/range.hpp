// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>

namespace quern {

/// The numbers a key accepts; `words` continues "integer" or "number" in messages.
struct Range {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool low_is_open = false;
  bool high_is_open = false;
  std::string words;

  /// Open ends are judged by the float32 that the value becomes: a beta that rounds to 1 is caught.
  bool contains(double value) const;
};

Range any_number();
Range at_least(int low);
Range above_zero();
Range from_to(int low, int high);  ///< both ends belong to it
Range from_zero_below_one();       ///< [0, 1)
Range above_zero_to_one();         ///< (0, 1]

}  // namespace quern
