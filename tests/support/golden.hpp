// SPDX-License-Identifier: Apache-2.0
// The numbers PyTorch gives (tests/golden/README.md), as vectors.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace quern::test {

/// A tensor, or every stride-th element of it, with facts about all of it.
struct GoldenTensor {
  std::vector<std::int64_t> shape;  ///< of the whole tensor, PyTorch's axis order
  std::vector<float> values;        ///< elements 0, stride, 2 stride, ... of the flat tensor
  std::int64_t stride = 1;
  double sum = 0;
  double norm = 0;  ///< L2

  /// Elements of the whole tensor.
  std::int64_t count() const;
};

using GoldenTensors = std::map<std::string, GoldenTensor>;

struct Golden {
  std::string recipe;  ///< the TOML text that the run followed
  std::int64_t batch = 0;
  std::int64_t steps = 0;

  std::vector<std::int64_t> order;  ///< sample indices, `batch` per step; empty for toy data
  GoldenTensor inputs;              ///< toy data: [batch, ...], the same in every step
  std::vector<std::int64_t> target_labels;  ///< toy data, class targets
  GoldenTensor target_values;               ///< toy data, other targets

  GoldenTensors initial;                     ///< weights and running statistics
  GoldenTensor outputs;                      ///< of step 0, the first samples of the batch
  GoldenTensors gradients;                   ///< of step 0, before clipping and weight decay
  std::vector<float> losses;                 ///< mean loss of each step
  std::vector<float> losses_exact;           ///< the same run in double precision
  std::vector<float> gradient_norms;         ///< before clipping, of each step; empty without
  std::map<int, GoldenTensors> after_steps;  ///< the same as `initial`, by the number of steps done
};

/// Reads tests/golden/<name>.h5. Throws InputError when the file is not a complete golden file.
Golden load_golden(const std::string& name);
Golden load_golden_file(const std::string& path);

/// Compares a whole tensor (PyTorch's order, no padding) with the golden one: every stored element
/// within rtol of the largest stored magnitude, the norm within rtol, and the sum within
/// rtol * norm * sqrt(count), which bounds it when elements are that close.
testing::AssertionResult is_close(const GoldenTensor& golden, std::span<const float> actual,
                                  double rtol);

/// EXPECT_TRUE of is_close.
void expect_close(const GoldenTensor& golden, std::span<const float> actual, double rtol);

}  // namespace quern::test
