// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quern {

enum class SumOrder {
  tree,   ///< the fixed tree over micro-blocks: the same bits for any number of ranks
  ranks,  ///< rank after rank, one partial sum each
};

}  // namespace quern
