// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/info.hpp"

#include <nlohmann/json.hpp>

namespace quern {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankInfo, rank, host, node_rank, cpus, machine_cpus, threads,
                                   device, device_id, visible_devices, clock_offset_s, mpi, hdf5,
                                   recipe_hash, data_problem, memory_problem)

std::string to_text(const RankInfo& info) {
  const nlohmann::json json = info;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

RankInfo rank_info_of(const std::string& text) {
  return nlohmann::json::parse(text).get<RankInfo>();
}

}  // namespace quern
