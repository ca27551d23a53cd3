// SPDX-License-Identifier: Apache-2.0
// A data set where kernels can read it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/shape.hpp"
#include "comm/node_shared.hpp"
#include "tensor/types.hpp"

namespace quern {

/// Either images or values; labels, targets or neither.
struct Samples {
  std::int64_t count = 0;
  Shape shape;                           ///< of one sample
  int classes = 0;                       ///< 0 without labels
  std::vector<std::string> class_names;  ///< where the classes have names
  std::string data_hash;                 ///< names the content; equal on all ranks

  View<const std::uint8_t> images;  ///< [count, units], pixels
  View<const std::int32_t> labels;  ///< [count]
  ConstFloatView values;            ///< [count, units]
  ConstFloatView targets;           ///< [count, target units]

  std::shared_ptr<NodeShared> storage;  ///< what the views look into, unless they own their memory

  std::int64_t num_bytes() const {
    return static_cast<std::int64_t>(images.size() + sizeof(std::int32_t) * labels.size() +
                                     sizeof(float) * (values.size() + targets.size()));
  }
};

}  // namespace quern
