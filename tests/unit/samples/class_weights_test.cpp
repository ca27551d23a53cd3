// SPDX-License-Identifier: Apache-2.0
#include "samples/class_weights.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quern {
namespace {

// Test data may have what the training data lack.
TEST(BalancedWeights, OfAClassWithoutSamplesIsOne) {
  const ClassWeightsSpec weights = balanced_weights({4, 0, 12});
  EXPECT_EQ(weights.type, ClassWeightsType::given);
  EXPECT_EQ(weights.values, (std::vector<double>{2, 1, 16.0 / 24}));
}

}  // namespace
}  // namespace quern
