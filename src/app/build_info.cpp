// SPDX-License-Identifier: Apache-2.0
#include "app/build_info.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "app/kernel_level.hpp"
#include "app/share_folder.hpp"
#include "base/version.hpp"
#include "bench/machine_info.hpp"
#include "comm/nccl_support.hpp"
#include "comm/session.hpp"
#include "io/h5_file.hpp"

namespace quern {

namespace {

std::vector<std::pair<std::string, std::string>> all_info(const BuildInfo& info) {
  auto all = info.rest;
  all.insert(all.begin() + 2, {{"kokkos", info.kokkos_version}, {"backend", info.kokkos_backend}});
  return all;
}

}  // namespace

BuildInfo build_info() {
  BuildInfo info;
  info.rest = {{"version", version()},
               {"commit", git_commit()},
               {"mpi", built_with_mpi() ? mpi_library_version() : "not built in"},
               {"nccl", built_with_nccl() ? nccl_version() : "not built in"},
               {"hdf5", hdf5_version()},
               {"compiler", QUERN_COMPILER},
               {"build", QUERN_BUILD_TYPE},
               {"flags", QUERN_FLAGS},
               {"target", *QUERN_TARGET ? QUERN_TARGET : "unknown"},
               {"vectors", vector_instructions()},
               {"kernels", kernel_level_text()},
               {"tiles", tiles_text()},
               {"pairs", pairs_text()},
               {"processor", processor_name()},
               {"processors", std::to_string(sysconf(_SC_NPROCESSORS_ONLN))}};
  std::erase_if(info.rest, [](const auto& entry) { return entry.second.empty(); });
  const std::string share = share_folder().string();
  if (!share.empty()) info.rest.emplace_back("share", share);
  return info;
}

std::string info_text(const BuildInfo& info) {
  std::string text;
  for (const auto& [name, value] : all_info(info)) text += fmt::format("{:<12}{}\n", name, value);
  text.pop_back();
  return text;
}

std::string info_json(const BuildInfo& info) {
  nlohmann::ordered_json json;
  for (const auto& [name, value] : all_info(info)) json[name] = value;
  return json.dump(2);
}

}  // namespace quern
