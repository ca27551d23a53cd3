// SPDX-License-Identifier: Apache-2.0
// All parameters of a network in one flat block with a name table, so that the optimizer, the
// gradient reduction and the checkpoint each see one array.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/types.hpp"

namespace quern {

/// One named tensor inside the flat block.
struct ParameterEntry {
  std::string name;                 ///< PyTorch's name: "fc1.weight"
  std::vector<std::int64_t> shape;  ///< PyTorch's axis order: [out, in], [out, in, kh, kw], [out]
  std::int64_t offset = 0;          ///< first float in the block, a multiple of kLanes
  std::int64_t count = 0;           ///< product of shape
  std::int64_t fan_in = 0;          ///< inputs of one output unit, for the initialisation
  bool is_bias = false;
};

/// The name table. Gaps between tensors (offsets are aligned to kLanes) stay zero for ever.
class ParameterTable {
 public:
  /// Appends a tensor and returns its offset.
  std::int64_t add(const std::string& name, std::vector<std::int64_t> shape, std::int64_t fan_in,
                   bool is_bias);

  const std::vector<ParameterEntry>& entries() const { return entries_; }
  /// Floats of the flat block, gaps included; a multiple of kLanes.
  std::int64_t block_size() const { return block_size_; }
  /// Number of trainable parameters, gaps not counted.
  std::int64_t num_parameters() const;

 private:
  std::vector<ParameterEntry> entries_;
  std::int64_t block_size_ = 0;
};

}  // namespace quern
