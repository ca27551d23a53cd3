// SPDX-License-Identifier: Apache-2.0
// Parameters that are updated where their gradient is made, while it is in a cache: it is neither
// written nor read. In a layer, the update waits for memory while products keep the processor busy.
#pragma once

#include <cstdint>

namespace quern {

/// What a kernel calls with the whole gradient of neighbouring parameters, on a CPU: those who call
/// it do not know of optimizers.
class ParameterUpdater {
 public:
  /// Updates the parameters [begin, end) of the block, `begin` a multiple of kLanes, from
  /// gradient[0 .. end - begin). Threads call it for different parameters at once.
  virtual void update_pieces(std::int64_t begin, std::int64_t end, const float* gradient) const = 0;

 protected:
  ~ParameterUpdater() = default;
};

/// The update of one step.
struct ParameterUpdate {
  const ParameterUpdater* updater = nullptr;
  /// The block, for a kernel that asks for the lines it will update.
  const float* parameters = nullptr;

  explicit operator bool() const { return updater != nullptr; }
};

}  // namespace quern
