// SPDX-License-Identifier: Apache-2.0
#include "samples/normalization.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "comm/serial/communicator.hpp"
#include "tensor/host_values.hpp"

namespace quern {
namespace {

/// Images whose first channel has one value alone.
Samples images_of(std::int64_t count, std::uint8_t value) {
  Samples samples;
  samples.count = count;
  samples.shape = {2, 1, 3};
  std::vector<std::uint8_t> pixels;
  for (std::int64_t i = 0; i < count; ++i)
    pixels.insert(pixels.end(), {value, value, value, 0, 255, 51});
  samples.images = copy_to_kernels<std::uint8_t>("test::images", pixels);
  return samples;
}

// Sums of such values are rounded, and what is left of the deviation is none.
TEST(Normalization, EqualValuesAreDividedByOne) {
  SerialCommunicator comm;
  for (int value = 1; value < 256; value += 7) {
    for (const std::int64_t count : {1, 3, 1000}) {
      const auto byte = static_cast<std::uint8_t>(value);
      const NormalizeSpec spec = statistics_of(comm, images_of(count, byte));
      EXPECT_NEAR(spec.mean.at(0), value / 255.0, 1e-12);
      EXPECT_EQ(spec.std.at(0), 1) << value << " " << count;
      EXPECT_NEAR(spec.mean.at(1), 0.4, 1e-12);
      EXPECT_NEAR(spec.std.at(1), 0.43204937989385733, 1e-12);  // numpy.std([0, 1, 0.2])
    }
  }
}

}  // namespace
}  // namespace quern
