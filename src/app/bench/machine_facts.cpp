// SPDX-License-Identifier: Apache-2.0
#include "app/bench/machine_facts.hpp"

namespace quern {

MachineFacts per_rank(MachineFacts facts) {
  const double share = 1.0 / facts.ranks;
  for (Spread* spread : {&facts.fma_flops, &facts.l2.rate, &facts.l3.rate, &facts.memory.rate}) {
    *spread = {spread->median * share, spread->smallest * share, spread->largest * share};
  }
  return facts;
}

}  // namespace quern
