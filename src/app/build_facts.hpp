// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace quern {

/// What this program was built with and runs on.
struct BuildFacts {
  std::string kokkos_version;
  std::string kokkos_backend;
  std::vector<std::pair<std::string, std::string>> rest;  ///< name, value
};

/// All but Kokkos, which needs another compiler.
BuildFacts build_facts();

std::string info_text(const BuildFacts& facts);
std::string info_json(const BuildFacts& facts);

}  // namespace quern
