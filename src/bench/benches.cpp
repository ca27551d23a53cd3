// SPDX-License-Identifier: Apache-2.0
#include "bench/benches.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "io/output_file.hpp"

namespace quern {

void check_json_file(Communicator& comm, const std::string& file) {
  if (file.empty()) return;
  run_on_root(comm, [&] {
    const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
    if (!std::filesystem::is_directory(folder)) {
      throw InputError("--json: there is no folder '" + folder.string() + "'");
    }
    if (std::filesystem::is_directory(file)) {
      throw InputError("--json: '" + file + "' is a folder (expected a file)");
    }
  });
}

void write_json_file(Communicator& comm, const std::string& file, const std::string& document) {
  if (file.empty()) return;
  run_on_root(comm, [&] { write_whole_file(file, document + "\n"); });
}

std::vector<std::string> default_recipes() {
  return {"recipes/mlp-mnist.toml", "recipes/lenet-fashion.toml", "recipes/autoencoder-mnist.toml"};
}

std::vector<std::string> recipes_or_default(Communicator& comm,
                                            const std::vector<std::string>& named) {
  if (!named.empty()) return named;
  run_on_root(comm, [&] {
    for (const std::string& file : default_recipes()) {
      if (std::filesystem::exists(file)) continue;
      throw InputError(
          "there is no '" + file +
          "' here: name the recipes to measure, or start where the folder recipes/ is");
    }
  });
  return default_recipes();
}

}  // namespace quern
