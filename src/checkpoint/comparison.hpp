// SPDX-License-Identifier: Apache-2.0
// How two checkpoints differ, element by element and attribute by attribute.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_state.hpp"

namespace quern {

struct TensorDifference {
  std::string path;        ///< as in the file: "/model/fc1/weight"
  std::string shape;       ///< "[128, 784]"; "[128, 784] and [10]"; "only in the first"
  std::int64_t count = 0;  ///< elements whose bits differ; all elements when shapes differ
  double max_abs = 0;      ///< largest |a - b|; NaN when one of two differing elements is NaN
  bool comparable = true;  ///< both have the tensor, in the same shape
};

struct AttributeDifference {
  std::string name;
  std::string first;
  std::string second;
  bool is_progress = false;
};

struct Comparison {
  std::vector<TensorDifference> tensors;        ///< every tensor of either, equal ones included
  std::vector<AttributeDifference> attributes;  ///< of /train, the different ones

  /// Model, optimizer and progress have the same bits. Which run wrote them does not count.
  bool same_training_state() const;
};

Comparison compare_checkpoints(const CheckpointState& first, const CheckpointState& second);

}  // namespace quern
