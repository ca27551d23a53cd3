// SPDX-License-Identifier: Apache-2.0
#include <Kokkos_Core.hpp>
#include <memory>
#include <string>
#include <vector>

#include "app/build_info.hpp"
#include "app/commands.hpp"
#include "app/common_options.hpp"
#include "app/network_text.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "config/read_recipe.hpp"
#include "network/network.hpp"
#include "runtime/devices.hpp"

namespace quern {

namespace {

struct InfoOptions {
  std::string recipe;
  std::vector<std::string> overrides;
  bool json = false;
};

// Starts neither Kokkos nor a launcher.
void print_network(const InfoOptions& options) {
  const Recipe recipe = read_recipe(options.recipe, options.overrides);
  NetworkSetup setup;
  setup.recompute = recipe.train.recompute;
  const Network network(recipe.network, setup);
  log::print(network_text(summarize(recipe.network, network)));
}

void print_build(const InfoOptions& options) {
  BuildInfo info = build_info();
  info.kokkos_version = std::to_string(KOKKOS_VERSION / 10000) + "." +
                        std::to_string(KOKKOS_VERSION / 100 % 100) + "." +
                        std::to_string(KOKKOS_VERSION % 100);
  info.kokkos_backend = Kokkos::DefaultExecutionSpace::name();
  const std::string devices = visible_devices_text();
  if (!devices.empty()) info.rest.emplace_back("devices", devices);
  log::print(options.json ? info_json(info) : info_text(info));
}

}  // namespace

Command add_info_command(CommandLine app) {
  const auto options = std::make_shared<InfoOptions>();
  CommandLine command = app.add_command(
      "info", "Version, libraries, compilers and devices of this program; or a recipe's network");
  Option recipe = command
                      .add_option("recipe", options->recipe,
                                  "Recipe file (TOML): print its network layer by layer instead")
                      .not_empty()
                      .type_name("FILE");
  add_set_option(command, options->overrides);
  command.add_flag("--json", options->json, "One JSON object").excludes(recipe);
  return {command, [options] {
            if (options->recipe.empty()) {
              if (!options->overrides.empty()) throw InputError("--set without a recipe");
              print_build(*options);
            } else {
              print_network(*options);
            }
            return ExitCode::done;
          }};
}

}  // namespace quern
