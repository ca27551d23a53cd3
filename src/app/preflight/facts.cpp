// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/facts.hpp"

#include <nlohmann/json.hpp>

namespace quern {

using Json = nlohmann::json;

std::string to_text(const RankFacts& facts) {
  return Json{facts.rank,           facts.host,         facts.node_rank,
              facts.cpus,           facts.machine_cpus, facts.threads,
              facts.device,         facts.device_id,    facts.visible_devices,
              facts.clock_offset_s, facts.recipe_hash,  facts.data_problem}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

RankFacts rank_facts_of(const std::string& text) {
  const Json json = Json::parse(text);
  RankFacts facts;
  facts.rank = json.at(0);
  facts.host = json.at(1);
  facts.node_rank = json.at(2);
  facts.cpus = json.at(3).get<std::vector<int>>();
  facts.machine_cpus = json.at(4);
  facts.threads = json.at(5);
  facts.device = json.at(6);
  facts.device_id = json.at(7);
  facts.visible_devices = json.at(8);
  facts.clock_offset_s = json.at(9);
  facts.recipe_hash = json.at(10);
  facts.data_problem = json.at(11);
  return facts;
}

}  // namespace quern
