// SPDX-License-Identifier: Apache-2.0
// How good a model is on a whole data set.
#pragma once

#include <cstdint>

namespace quern {

struct Evaluation {
  std::int64_t samples = 0;
  double loss = 0;           ///< mean over the samples
  std::int64_t correct = 0;  ///< 0 without labels
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(samples); }
};

}  // namespace quern
