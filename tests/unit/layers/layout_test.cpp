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
    for (const int rows : {16, 48})
      for (const int units : {1, 3, 16, 17, 33, 257}) {
        const auto values = test::random_values(static_cast<std::size_t>(rows * units), 1);
        const Activation from = test::make_activation({units}, flat, rows, values, 5);
        const Activation nchw16n = test::filled_activation({units}, Layout::nchw16n, rows, 777);
        const Activation back = test::filled_activation({units}, flat, rows, 777);
        convert(from, nchw16n);
        convert(nchw16n, back);
        EXPECT_EQ(test::values_of(nchw16n), values);
        EXPECT_EQ(test::values_of(back), values);
        EXPECT_EQ(test::padding_of(back), 0);
        EXPECT_EQ(test::to_vector(nchw16n.data)[static_cast<std::size_t>(nchw16n.size())], 777.0f);
      }
}

TEST(Layout, NcBecomesCn16cAndBackOnAnyNumberOfRows) {
  if (runs_device_kernels()) GTEST_SKIP() << "panels are for CPUs";
  for (const int rows : {1, 3, 17, 128})
    for (const int units : {1, 3, 16, 17, 257}) {
      const auto values = test::random_values(static_cast<std::size_t>(rows * units), 1);
      const Activation nc = test::make_activation({units}, Layout::nc, rows, values, 5);
      const Activation cn16c = test::filled_activation({units}, Layout::cn16c, rows, 777);
      const Activation back = test::filled_activation({units}, Layout::nc, rows, 777);
      convert(nc, cn16c);
      convert(cn16c, back);
      EXPECT_EQ(test::values_of(cn16c), values);
      EXPECT_EQ(test::padding_of(cn16c), 0);
      EXPECT_EQ(test::values_of(back), values);
      EXPECT_EQ(test::padding_of(back), 0);
    }
}

TEST(Layout, FlattensToAnotherShapeAndCopiesWithinALayout) {
  const auto values = test::random_values(16 * 30, 1);
  const Activation image = test::make_activation({2, 3, 5}, Layout::nchw16n, 16, values);
  const Activation flat = test::filled_activation({30}, Layout::nchw16n, 16, 777);
  convert(image, flat);
  EXPECT_EQ(test::values_of(flat), values);
}

TEST(Layout, OtherSizesAndBrokenGroupsAreRefused) {
  const auto make = [](Layout layout, int rows, int units) {
    return test::filled_activation({units}, layout, rows, 0);
  };
  const ExecSpace exec;
  EXPECT_THROW(convert_layout(exec, make(Layout::nc, 16, 3), make(Layout::nchw16n, 16, 4)),
               std::exception);
  EXPECT_THROW(convert_layout(exec, make(Layout::nc, 16, 3), make(Layout::nchw16n, 32, 3)),
               std::exception);
  EXPECT_THROW(convert_layout(exec, make(Layout::nc, 3, 3), make(Layout::nchw16n, 3, 3)),
               std::exception);
}

}  // namespace
}  // namespace quern
