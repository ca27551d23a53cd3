// SPDX-License-Identifier: Apache-2.0
#include "strategy/pipeline_order.hpp"

#include <algorithm>

namespace quern {

int pieces_in_flight(PipelineSchedule schedule, const StagePlace& place, int pieces) {
  const bool holds_all = schedule == PipelineSchedule::gpipe && place.stages > 1;
  return holds_all ? pieces : std::min(pieces, place.stages - place.stage);
}

std::vector<PipelineWork> pipeline_order(PipelineSchedule schedule, const StagePlace& place,
                                         int pieces) {
  const int in_flight = pieces_in_flight(schedule, place, pieces);
  std::vector<PipelineWork> order;
  int forward = 0;
  for (int backward = 0; backward < pieces; ++backward) {
    for (; forward < std::min(pieces, backward + in_flight); ++forward)
      order.push_back({forward, false});
    order.push_back({backward, true});
  }
  return order;
}

double pipeline_bubble(int stages, int pieces) {
  return static_cast<double>(stages - 1) / (pieces + stages - 1);
}

}  // namespace quern
