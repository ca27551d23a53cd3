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

/// The model of the processors, "unknown" when the system does not tell.
std::string processor_name();
/// The vector instructions that the kernels were compiled for: "AVX-512".
const char* vector_instructions();

/// All but Kokkos, which needs another compiler.
BuildFacts build_facts();

std::string info_text(const BuildFacts& facts);
std::string info_json(const BuildFacts& facts);

}  // namespace quern
