// SPDX-License-Identifier: Apache-2.0
#include "network/op_fusion.hpp"

#include <optional>

namespace quern {

void fuse_relus(Ops& ops) {
  std::vector<Op>& all = ops.all;
  for (std::size_t i = 1; i < all.size(); ++i) {
    Op& relu = all[i];
    if (!relu.is_relu || !relu.in_place) continue;
    if (Layer* before = all[i - 1].layer.get()) relu.forward_fused = before->fuse_relu();
    if (i + 1 == all.size()) continue;
    if (Layer* next = all[i + 1].layer.get()) relu.backward_fused = next->fuse_input_relu();
  }
}

void fuse_first_pool(Ops& ops) {
  if (ops.all.size() < 3) return;
  Op& convolution = ops.all[0];
  Op& relu = ops.all[1];
  Op& pool = ops.all[2];
  if (!relu.forward_fused || !relu.backward_fused || !pool.layer) return;
  const std::optional<Pool> window = pool.layer->as_pool();
  if (!window || !convolution.layer->fuse_pool(*window)) return;
  pool.in_place = pool.forward_fused = pool.backward_fused = true;
  convolution.y = relu.x = relu.y = pool.x = pool.y;
}

}  // namespace quern
