// SPDX-License-Identifier: Apache-2.0
#include "state/load_checkpoint.hpp"

#include <utility>

#include "base/error.hpp"
#include "checkpoint/weights_file.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "config/read_recipe.hpp"

namespace quern {

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
