// SPDX-License-Identifier: Apache-2.0
#include "layers/add.hpp"

#include "base/assert.hpp"
#include "tensor/chunks.hpp"

namespace quern {

namespace {

template <bool WithRelu>
struct AddChunk {
  const float* a;
  const float* b;
  float* y;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t begin, std::int64_t end) const {
    QUERN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) {
      const float sum = a[i] + b[i];
      y[i] = WithRelu && sum <= 0 ? 0 : sum;
    }
  }
};

struct ReluGradientChunk {
  const float* a;
  const float* b;
  const float* y;
  float* to;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t begin, std::int64_t end) const {
    QUERN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) {
      const float sum = a[i] + b[i];
      to[i] = y[i] <= 0 ? 0 : sum;
    }
  }
};

}  // namespace

void add(const ExecSpace& exec, const Activation& a, const Activation& b, bool with_relu,
         const Activation& y) {
  expect(
      a.size() == y.size() && b.size() == y.size() && a.layout == y.layout && b.layout == y.layout,
      "a sum shaped like both of its parts");
  const char* const label = "quern::layers::add";
  const float* const left = a.data.data();
  const float* const right = b.data.data();
  if (with_relu)
    for_each_chunk(exec, label, y.size(), AddChunk<true>{left, right, y.data.data()});
  else
    for_each_chunk(exec, label, y.size(), AddChunk<false>{left, right, y.data.data()});
}

void add_relu_gradients(const ExecSpace& exec, const Activation& a, const Activation& b,
                        const Activation& y, const Activation& to) {
  expect(a.size() == to.size() && b.size() == to.size() && y.size() == to.size() &&
             a.layout == to.layout && b.layout == to.layout && y.layout == to.layout,
         "a sum shaped like both of its parts");
  for_each_chunk(exec, "quern::layers::add_relu_backward", to.size(),
                 ReluGradientChunk{a.data.data(), b.data.data(), y.data.data(), to.data.data()});
}

}  // namespace quern
