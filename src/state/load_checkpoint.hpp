// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "checkpoint/reader.hpp"
#include "comm/communicator.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// A checkpoint for all ranks: rank 0 holds it, the others know what it was trained with.
struct SharedCheckpoint {
  std::optional<LoadedCheckpoint> loaded;  ///< rank 0 only
  Recipe recipe;
  int global_batch = 0;

  const CheckpointState* state() const { return loaded ? &loaded->state() : nullptr; }
};

/// Collective. `path`: a checkpoint file, or a run folder, whose newest good checkpoint is taken
/// (damaged ones are reported). AgreedError when there is none that can be used.
SharedCheckpoint load_checkpoint(Communicator& comm, const std::filesystem::path& path);

}  // namespace quern
