// SPDX-License-Identifier: Apache-2.0
#include "parallel/state_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace quern {

FloatView floats_of(const NodeShared& memory) {
  const std::span<std::byte> bytes = memory.bytes();
  return FloatView(reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float));
}

StateMemory::StateMemory(Communicator& comm, const GradientReducer& reducer)
    : node_(reducer.shares_state() ? &comm : nullptr),
      least_(node_ ? 0 : reducer.num_published()) {}

StateBlock StateMemory::allocate(const std::string& label, std::int64_t count) const {
  const auto floats = static_cast<std::size_t>(std::max(count, least_));
  if (!node_) return {FloatView(label, floats), nullptr};
  std::shared_ptr<NodeShared> memory = node_->allocate_node_shared(floats * sizeof(float));
  return {floats_of(*memory), memory};
}

}  // namespace quern
