// SPDX-License-Identifier: Apache-2.0
// The loss of a regression with the gradient in Layout::tiles, of predictions in the order in which
// products on tiles put them out: 16 rows of a unit after those of the one before. The bits are
// those of the flat kernels (loss/host/regression.cpp): lane l of a row sums the units l, l + 16,
// ..., then the lanes are added as a tree. Reference: loss/reference/regression.hpp.
#pragma once

#include "loss/regression_kernels.hpp"

namespace quern::host {

/// What RegressionLoss::evaluate_rows says, of a prediction that a layer has written, flat, with
/// d_prediction in tiles. make_regression_reader() is for one that no array holds.
EvaluateRegression regression_in_tiles;

}  // namespace quern::host
