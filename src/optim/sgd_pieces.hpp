// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one piece of the block that is treated alike, of SGD and of LARS. The members
// are values, so that what p and b point to cannot change them, and nothing is loaded for each
// vector.
#pragma once

#include "optim/flush_denormal.hpp"
#include "optim/parameter_groups.hpp"
#include "tensor/chunks.hpp"

namespace quern {

struct PlainSgd {
  float* p;
  const float* g;
  float scale;
  float lr;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t begin, std::int64_t end,
                                         const ParameterGroup& group) const {
    const PlainSgd s = *this;
    const float decay = group.decay;
    const float rate = lr * group.lr_factor;
    QUERN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) s.p[i] -= rate * (s.g[i] * s.scale + decay * s.p[i]);
  }
};

struct SgdWithMomentum {
  float* p;
  float* b;
  const float* g;
  float scale;
  float lr;
  float momentum;
  bool nesterov;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t begin, std::int64_t end,
                                         const ParameterGroup& group) const {
    const SgdWithMomentum s = *this;
    const float decay = group.decay;
    const float rate = lr * group.lr_factor;
    QUERN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) {
      const float grad = s.g[i] * s.scale + decay * s.p[i];
      const float speed = flush_denormal(s.momentum * s.b[i] + grad);
      s.b[i] = speed;
      s.p[i] -= rate * (s.nesterov ? grad + s.momentum * speed : speed);
    }
  }
};

}  // namespace quern
