// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

namespace quern {

/// First and last of each run of neighbours: {0, 1, 2, 5} -> {0, 2}, {5, 5}.
template <class T>
std::vector<std::pair<T, T>> number_runs(const std::vector<T>& numbers) {
  std::vector<std::pair<T, T>> runs;
  for (const T number : numbers) {
    if (!runs.empty() && runs.back().second + 1 == number)
      runs.back().second = number;
    else
      runs.emplace_back(number, number);
  }
  return runs;
}

}  // namespace quern
