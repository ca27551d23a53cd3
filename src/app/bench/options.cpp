// SPDX-License-Identifier: Apache-2.0
#include "app/bench/options.hpp"

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "comm/agree.hpp"

namespace quern {

void add_bench_options(CLI::App& command, BenchOptions& options) {
  command.add_option("--rounds", options.rounds, "Rounds; the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--json", options.json, "Write the figures to this file, too");
}

void add_overrides(CLI::App& command, std::vector<std::string>& overrides) {
  command.add_option("--set", overrides, "Override a key of the recipe: key.path=value")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

CLI::Option* add_byte_list(CLI::App& command, const std::string& name,
                           std::vector<std::uint64_t>& bytes, const std::string& description) {
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  return command.add_option(name, bytes, description)
      ->type_name("BYTES[K|M|G],...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{4}, kMost));
}

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
  run_on_root(comm, [&] {
    std::ofstream stream(file, std::ios::trunc);
    stream << document << std::endl;
    if (!stream) throw InputError("cannot write '" + file + "'");
  });
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
