// SPDX-License-Identifier: Apache-2.0
#include "layers/layout.hpp"

#include <gtest/gtest.h>

#include "support/random_values.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

void convert(const Activation& from, const Activation& to) {
  const ExecSpace exec;
  convert_layout(exec, from, to);
  exec.fence("test: read result");
}

TEST(Layout, ConvertsBothWaysOnOddSizes) {
  for (const Layout flat : test::flat_layouts())
    for (const int slots : {16, 48})
      for (const int units : {1, 3, 16, 17, 33, 257}) {
        const auto values = test::random_values(static_cast<std::size_t>(slots * units), 1);
        const Activation from = test::make_activation({units}, flat, slots, values, 5);
        const Activation lanes = test::filled_activation({units}, Layout::lanes, slots, 777);
        const Activation back = test::filled_activation({units}, flat, slots, 777);
        convert(from, lanes);
        convert(lanes, back);
        EXPECT_EQ(test::values_of(lanes), values);
        EXPECT_EQ(test::values_of(back), values);
        EXPECT_EQ(test::padding_of(back), 0);
        EXPECT_EQ(test::to_vector(lanes.data)[static_cast<std::size_t>(lanes.size())], 777.0f);
      }
}

TEST(Layout, RowsBecomePanelsAndBackOnAnyNumberOfSlots) {
  if (runs_device_kernels()) GTEST_SKIP() << "panels are for CPUs";
  for (const int slots : {1, 3, 17, 128})
    for (const int units : {1, 3, 16, 17, 257}) {
      const auto values = test::random_values(static_cast<std::size_t>(slots * units), 1);
      const Activation rows = test::make_activation({units}, Layout::rows, slots, values, 5);
      const Activation panels = test::filled_activation({units}, Layout::panels, slots, 777);
      const Activation back = test::filled_activation({units}, Layout::rows, slots, 777);
      convert(rows, panels);
      convert(panels, back);
      EXPECT_EQ(test::values_of(panels), values);
      EXPECT_EQ(test::padding_of(panels), 0);
      EXPECT_EQ(test::values_of(back), values);
      EXPECT_EQ(test::padding_of(back), 0);
    }
}

TEST(Layout, FlattensToAnotherShapeAndCopiesWithinALayout) {
  const auto values = test::random_values(16 * 30, 1);
  const Activation image = test::make_activation({2, 3, 5}, Layout::lanes, 16, values);
  const Activation flat = test::filled_activation({30}, Layout::lanes, 16, 777);
  convert(image, flat);
  EXPECT_EQ(test::values_of(flat), values);
}

TEST(Layout, OtherSizesAndBrokenGroupsAreRefused) {
  const auto make = [](Layout layout, int slots, int units) {
    return test::filled_activation({units}, layout, slots, 0);
  };
  const ExecSpace exec;
  EXPECT_THROW(convert_layout(exec, make(Layout::rows, 16, 3), make(Layout::lanes, 16, 4)),
               std::exception);
  EXPECT_THROW(convert_layout(exec, make(Layout::rows, 16, 3), make(Layout::lanes, 32, 3)),
               std::exception);
  EXPECT_THROW(convert_layout(exec, make(Layout::rows, 3, 3), make(Layout::lanes, 3, 3)),
               std::exception);
}

}  // namespace
}  // namespace quern
