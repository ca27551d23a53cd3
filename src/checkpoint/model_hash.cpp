// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/model_hash.hpp"

#include <algorithm>
#include <vector>

#include "checkpoint/canonical_bytes.hpp"

namespace quern {

std::string model_hash(std::span<const NamedTensor> model) {
  std::vector<const NamedTensor*> sorted;
  for (const NamedTensor& tensor : model) sorted.push_back(&tensor);
  std::sort(sorted.begin(), sorted.end(),
            [](const NamedTensor* a, const NamedTensor* b) { return a->name < b->name; });
  Sha256 hash;
  for (const NamedTensor* tensor : sorted) {
    hash.update(tensor->name).update(std::string(1, '\0'));
    update_int64(hash, static_cast<std::int64_t>(tensor->shape.size()));
    for (const std::int64_t extent : tensor->shape) update_int64(hash, extent);
    hash.update(std::as_bytes(tensor->values));
  }
  return hash.hex_digest();
}

std::string state_name(const CheckpointState& state) {
  return "step " + std::to_string(state.progress.step) + ", model " + model_hash(state.model);
}

}  // namespace quern
