// SPDX-License-Identifier: Apache-2.0
#include "train/load_checkpoint.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/weights_file.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "config/read_recipe.hpp"

namespace quern {

std::optional<LoadedCheckpoint> load_newest(const std::filesystem::path& folder) {
  return load_newest_good(folder, [](const std::filesystem::path&, const std::string& problem) {
    log::warn(problem + "; this checkpoint is passed over");
  });
}

LoadedCheckpoint load_from(const std::filesystem::path& path) {
  const auto folder = checkpoint_folder_of(path);
  if (!folder) {
    refuse_other_formats(path);
    return read_checkpoint(path);
  }
  std::optional<LoadedCheckpoint> newest = load_newest(*folder);
  if (newest) return std::move(*newest);
  throw InputError("'" + path.string() +
                   "' holds no checkpoint (expected a run folder or a file ckpt-<step>.h5)");
}

SharedCheckpoint load_checkpoint(Communicator& comm, const std::filesystem::path& path) {
  SharedCheckpoint checkpoint;
  run_on_root(comm, [&] {
    checkpoint.loaded.emplace(load_from(path));
    const std::int64_t batch = checkpoint.state()->origin.global_batch;
    if (batch < 1 || batch > kMaxGlobalBatch) {
      throw UnusableError("'" + checkpoint.loaded->path().string() + "' has a global batch of " +
                          std::to_string(batch) + ", expected 1 to " +
                          std::to_string(kMaxGlobalBatch));
    }
  });
  const RunOrigin origin = checkpoint.loaded ? checkpoint.state()->origin : RunOrigin{};
  checkpoint.global_batch = static_cast<int>(broadcast_value(comm, origin.global_batch));
  const std::string text = broadcast_string(comm, origin.recipe);
  checkpoint.recipe =
      agree(comm, [&] { return parse_recipe(text, "the recipe inside '" + path.string() + "'"); });
  return checkpoint;
}

}  // namespace quern
