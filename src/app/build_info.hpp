// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace quern {

/// What this program was built with and runs on.
struct BuildInfo {
  std::string kokkos_version;
  std::string kokkos_backend;
  std::vector<std::pair<std::string, std::string>> rest;  ///< name, value
};

/// All but Kokkos, which needs another compiler.
BuildInfo build_info();

std::string info_text(const BuildInfo& info);
std::string info_json(const BuildInfo& info);

}  // namespace quern
