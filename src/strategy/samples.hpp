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

class SampleStream;

/// Either images or values; labels, targets or neither. Of a streamed set the arrays hold the
/// buffers of the stream instead of `count` samples.
struct Samples {
  std::int64_t count = 0;
  Shape shape;                             ///< of one sample
  int classes = 0;                         ///< 0 without labels
  std::vector<std::string> class_names;    ///< where the classes have names
  std::vector<std::string> feature_names;  ///< where the numbers of a sample have names
  std::string data_hash;                   ///< names the content; equal on all ranks

  View<const std::uint8_t> images;  ///< [count, units], pixels
  View<const std::int32_t> labels;  ///< [count]
  ConstFloatView values;            ///< [count, units]
  ConstFloatView targets;           ///< [count, target units]

  std::shared_ptr<SampleStream> stream;  ///< null: the samples are in memory

  std::shared_ptr<NodeShared> storage;  ///< what the views look into, unless they own their memory

  /// Samples that the arrays have room for.
  std::int64_t held() const {
    const std::size_t units = images.size() + values.size();
    return static_cast<std::int64_t>(units) / (shape.units() > 0 ? shape.units() : 1);
  }

  bool has_images() const { return images.extent(0) > 0; }
  bool has_values() const { return values.extent(0) > 0; }
  bool has_labels() const { return labels.extent(0) > 0; }
  bool has_targets() const { return targets.extent(0) > 0; }
  /// Target values of one sample.
  std::int64_t target_units() const {
    return held() > 0 ? static_cast<std::int64_t>(targets.size()) / held() : 0;
  }
  /// As ShardContent::input_name().
  const char* input_name() const { return has_images() ? "images" : "values"; }

  /// All that the arrays take.
  std::int64_t num_bytes() const {
    return static_cast<std::int64_t>(images.size() + sizeof(std::int32_t) * labels.size() +
                                     sizeof(float) * (values.size() + targets.size()));
  }
  std::int64_t sample_bytes() const { return held() > 0 ? num_bytes() / held() : 0; }
};

}  // namespace quern
