// SPDX-License-Identifier: Apache-2.0
#include "layers/concat.hpp"

#include <gtest/gtest.h>

#include "layers/reference/concat.hpp"
#include "support/activation_io.hpp"
#include "support/random_values.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

using Parts = std::vector<reference::ConcatPart<float>>;

void expect_joined(const std::vector<Shape>& shapes, Layout layout, int rows) {
  SCOPED_TRACE(to_string(shapes[0]) + " and others, layout " +
               std::to_string(static_cast<int>(layout)));
  constexpr float kGarbage = 777;
  Shape whole = shapes[0];
  whole.channels = 0;
  std::vector<std::vector<float>> inputs;
  for (const Shape& shape : shapes) {
    whole.channels += shape.channels;
    inputs.push_back(test::random_values(static_cast<std::size_t>(rows * shape.units()),
                                         static_cast<std::uint64_t>(whole.channels)));
  }
  const auto gradients = test::random_values(static_cast<std::size_t>(rows * whole.units()), 99);
  const Activation y = test::filled_activation(whole, layout, rows, kGarbage);
  const Activation dy = test::make_activation(whole, layout, rows, gradients);
  const ExecSpace exec;
  std::vector<Activation> dx;
  int first = 0;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    concat(exec, test::make_activation(shapes[k], layout, rows, inputs[k]), y, first);
    dx.push_back(test::filled_activation(shapes[k], layout, rows, kGarbage));
    concat_backward(exec, dy, first, dx.back());
    first += shapes[k].units();
  }
  exec.fence("test: read results");
  const std::vector<float> joined = test::values_of(y);
  std::vector<std::vector<float>> parted;
  for (const Activation& part : dx) parted.push_back(test::values_of(part));
  for (int s = 0; s < rows; ++s) {
    Parts parts;
    for (std::size_t k = 0; k < shapes.size(); ++k)
      parts.push_back({shapes[k], test::sample_of(inputs[k], shapes[k].units(), s)});
    EXPECT_EQ(test::sample_of(joined, whole.units(), s), reference::concat(parts));
    const auto gradient = test::sample_of(gradients, whole.units(), s);
    for (std::size_t k = 0; k < shapes.size(); ++k)
      EXPECT_EQ(test::sample_of(parted[k], shapes[k].units(), s),
                reference::concat_backward(parts, k, gradient));
  }
}

TEST(Concat, ImagesMatchTheReference) {
  for (const int rows : {16, 48}) {
    expect_joined({{1, 3, 5}, {2, 3, 5}}, Layout::nchw16n, rows);
    expect_joined({{3, 7, 7}, {1, 7, 7}, {17, 7, 7}, {3, 7, 7}}, Layout::nchw16n, rows);
    expect_joined({{70, 13, 11}, {5, 13, 11}}, Layout::nchw16n, rows);
    expect_joined({{5, 1, 1}, {16, 1, 1}}, Layout::nchw16n, rows);
  }
}

TEST(Concat, FeaturesMatchTheReferenceInEveryLayout) {
  for (const Layout layout : {Layout::nc, Layout::cn16c}) {
    for (const int rows : {1, 7, 48}) {
      expect_joined({{1}, {1}}, layout, rows);
      expect_joined({{16}, {32}, {16}}, layout, rows);
      expect_joined({{5}, {30}, {17}, {12}, {100}}, layout, rows);
      expect_joined({{2, 3, 3}, {3, 3, 3}}, layout, rows);
    }
  }
}

// What products read beside the units of a row has to be zero.
TEST(Concat, PaddingOfFeaturesBecomesZero) {
  for (const Layout layout : {Layout::nc, Layout::cn16c}) {
    constexpr int kRows = 3;
    const Activation y = test::filled_activation(Shape{21}, layout, kRows, 777);
    const Activation dx = test::filled_activation(Shape{18}, layout, kRows, 777);
    const ExecSpace exec;
    for (const int first : {0, 18}) {
      const Shape shape{first == 0 ? 18 : 3};
      concat(exec, test::filled_activation(shape, layout, kRows, 5), y, first);
    }
    concat_backward(exec, y, 0, dx);
    exec.fence("test: read results");
    for (const Activation& a : {y, dx}) {
      const ActivationIndex at(a);
      const std::vector<float> all = test::to_vector(a.data);
      for (int row = 0; row < kRows; ++row)
        for (int unit = 0; unit < 2 * kLanes; ++unit)
          EXPECT_EQ(all[static_cast<std::size_t>(at(row, unit))],
                    unit < a.shape.units() ? 5.0f : 0.0f);
    }
  }
}

}  // namespace
}  // namespace quern
