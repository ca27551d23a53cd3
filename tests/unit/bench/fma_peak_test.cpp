// SPDX-License-Identifier: Apache-2.0
#include "bench/fma_peak.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/stopwatch.hpp"
#include "bench/host/fma_chains.hpp"
#include "linalg/gemm.hpp"
#include "support/fused_products.hpp"

namespace quern {
namespace {

// The same with std::fma, one float at a time; `fused` or a product that is rounded first.
float chains_of_floats(std::int64_t rounds, float seed, bool fused) {
  constexpr float factor = host::kFmaFactor;
  float sum = 0;
  for (int c = 0; c < host::kFmaChains; ++c) {
    float value = seed + static_cast<float>(c);
    for (std::int64_t round = 0; round < rounds; ++round) {
      const volatile float product = value * factor;
      value = fused ? std::fma(value, factor, factor) : product + factor;
    }
    sum += kLanes * value;  // the tree over 16 equal lanes is exact
  }
  return sum;
}

TEST(FmaChains, AreFused) {
  int apart = 0;
  for (const std::int64_t rounds : {1, 7, 1000}) {
    for (const float seed : {0.0f, 1.0f, 3.7f}) {
      const float sum = host::run_fma_chains(rounds, seed);
      EXPECT_EQ(sum, chains_of_floats(rounds, seed, test::kFusedProducts))
          << rounds << " rounds from " << seed;
      apart += sum != chains_of_floats(rounds, seed, !test::kFusedProducts);
    }
  }
  EXPECT_GT(apart, 0) << "these numbers do not tell fused from not fused";
}

#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)  // other speeds say nothing
// Products of matrices do the same arithmetic and more: a peak below them is none. A chain that is
// not fused shows half the peak, which products of this size exceed by far.
TEST(FmaPeak, IsNotExceededByAProduct) {
  constexpr int kSize = 512;
  const ExecSpace exec;
  const auto matrix = [](const FloatView& view) { return in_panels(view.data(), kSize, kSize); };
  const FloatView a("test::a", kSize * kSize), b("test::b", kSize * kSize + kLanes),
      c("test::c", kSize * kSize);
  const Matrix left = matrix(a), right = matrix(b);
  double best = 0;
  double peak = 0;
  for (int attempt = 0; attempt < 10; ++attempt) {
    peak = std::max(peak, measure_fma_peak(exec));
    const Stopwatch watch;
    multiply(exec, "quern::bench::test_product", matrix(c),
             {left.data, kSize, kSize, left.stride, left.panel},
             {right.data, kSize, kSize, right.stride, right.panel}, {});
    exec.fence("test: product is complete");
    best = std::max(best, 2.0 * kSize * kSize * kSize * 1e-9 / watch.seconds());
  }
  EXPECT_TRUE(std::isfinite(peak));
  EXPECT_GT(peak, 0);
  EXPECT_LT(best, 1.05 * peak);
  RecordProperty("fma_peak_gflops", static_cast<int>(peak));
  RecordProperty("product_gflops", static_cast<int>(best));
}
#endif

}  // namespace
}  // namespace quern
