// SPDX-License-Identifier: Apache-2.0
// Numerical checks of derivatives by central differences.
//
//   Linear layer(spec, input);
//   test::check_layer_gradients(layer);                 // all layouts, dx and every parameter
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "layers/layer.hpp"
#include "support/test_step.hpp"

namespace quern::test {

struct GradientCheck {
  TestBatch batch;
  double step = 1e-2;       ///< half the distance of the two values compared
  double tolerance = 2e-3;  ///< allowed error, relative to 1 + |derivative|
  int max_elements = 80;    ///< at most so many elements of each tensor are varied
};

/// Compares dx, and the sum of the partial gradients of every parameter, with central differences
/// of sum(r y), r random, through `layer.forward` in float. Runs once in each layout that the layer
/// accepts, with empty rows, over garbage in everything that backward must overwrite. Input values
/// of a sample lie 0.05 apart and away from 0, so that kinks and maxima stay where they are.
void check_layer_gradients(Layer& layer, const GradientCheck& check = {});

/// Derivative of `f` at `x` by central differences in double.
std::vector<double> central_differences(const std::function<double(const std::vector<double>&)>& f,
                                        std::vector<double> x, double step = 1e-5);

}  // namespace quern::test
