// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/info.hpp"

#include <nlohmann/json.hpp>

namespace quern {

using Json = nlohmann::ordered_json;

std::string to_text(const RankInfo& info) {
  return Json{info.rank,
              info.host,
              info.node_rank,
              info.cpus,
              info.machine_cpus,
              info.threads,
              info.device,
              info.device_id,
              info.visible_devices,
              info.clock_offset_s,
              info.recipe_hash,
              info.data_problem,
              info.mpi,
              info.hdf5,
              info.memory_problem}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

RankInfo rank_info_of(const std::string& text) {
  const Json json = Json::parse(text);
  RankInfo info;
  info.rank = json.at(0);
  info.host = json.at(1);
  info.node_rank = json.at(2);
  info.cpus = json.at(3).get<std::vector<int>>();
  info.machine_cpus = json.at(4);
  info.threads = json.at(5);
  info.device = json.at(6);
  info.device_id = json.at(7);
  info.visible_devices = json.at(8);
  info.clock_offset_s = json.at(9);
  info.recipe_hash = json.at(10);
  info.data_problem = json.at(11);
  info.mpi = json.at(12);
  info.hdf5 = json.at(13);
  info.memory_problem = json.at(14);
  return info;
}

}  // namespace quern
