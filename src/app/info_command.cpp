// SPDX-License-Identifier: Apache-2.0
#include <Kokkos_Core.hpp>
#include <memory>

#include "app/build_info.hpp"
#include "app/commands.hpp"
#include "base/log.hpp"
#include "runtime/devices.hpp"

namespace quern {

Command add_info_command(CommandLine app) {
  const auto json = std::make_shared<bool>(false);
  CommandLine command =
      app.add_command("info", "Version, libraries, compilers and devices of this program");
  command.add_flag("--json", *json, "One JSON object");
  return {command, [json] {
            BuildInfo info = build_info();
            info.kokkos_version = std::to_string(KOKKOS_VERSION / 10000) + "." +
                                  std::to_string(KOKKOS_VERSION / 100 % 100) + "." +
                                  std::to_string(KOKKOS_VERSION % 100);
            info.kokkos_backend = Kokkos::DefaultExecutionSpace::name();
            const std::string devices = visible_devices_text();
            if (!devices.empty()) info.rest.emplace_back("devices", devices);
            log::print(*json ? info_json(info) : info_text(info));
            return ExitCode::done;
          }};
}

}  // namespace quern
