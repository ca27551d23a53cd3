// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "spec/network_spec.hpp"
#include "spec/training_spec.hpp"

namespace quern {

const char* to_string(LayerType type) {
  switch (type) {
    case LayerType::linear:
      return "linear";
    case LayerType::conv2d:
      return "conv2d";
    case LayerType::max_pool2d:
      return "max_pool2d";
    case LayerType::avg_pool2d:
      return "avg_pool2d";
    case LayerType::relu:
      return "relu";
    case LayerType::tanh:
      return "tanh";
    case LayerType::sigmoid:
      return "sigmoid";
    case LayerType::gelu:
      return "gelu";
    case LayerType::dropout:
      return "dropout";
    case LayerType::flatten:
      return "flatten";
  }
  return "?";
}

int micro_block_size(int requested, int global_batch) {
  if (requested > 0) return std::min(requested, global_batch);
  int size = 1;
  while (size < 32 && 2 * size <= global_batch / 8) size *= 2;
  return size;
}

}  // namespace quern
