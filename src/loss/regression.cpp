// SPDX-License-Identifier: Apache-2.0
#include "loss/regression.hpp"

#include "base/assert.hpp"
#include "loss/regression_kernels.hpp"

namespace quern {

namespace {

void check_target(const LossTarget& target, const Activation& prediction) {
  const Activation& wanted = target.values;
  if (target.pixels.extent(0) > 0) {
    expect(target.pixels.extent(0) % static_cast<std::size_t>(prediction.shape.units()) == 0,
           "whole samples of the prediction's shape");
  } else {
    expect(wanted.shape == prediction.shape && wanted.rows == prediction.rows,
           "a target shaped like the prediction");
  }
}

}  // namespace

RegressionLoss::RegressionLoss(const LossSpec& spec, const Shape& prediction)
    : Loss(prediction), spec_(spec) {
  MakeRegressionReader* const make =
      choose_kernels<MakeRegressionReader>({.host = host_set<host::make_regression_reader>()});
  if (make) reader_ = make(spec);
}

RegressionLoss::~RegressionLoss() = default;

const OutputReader& RegressionLoss::begin_tiles(const LossContext& step, const LossTarget& target,
                                                const Activation& d_prediction,
                                                const FloatView& values) const {
  check_target(target, d_prediction);
  expect(target.pixels.extent(0) > 0 || target.values.layout != Layout::nchw16n, "a flat target");
  reader_->begin(step, target, d_prediction, values, after_relu_);
  return *reader_;
}

void RegressionLoss::evaluate_rows(const ExecSpace& exec, const LossContext& step,
                                   const Activation& prediction, const LossTarget& target,
                                   const Activation& d_prediction, const FloatView& values) const {
  check_target(target, prediction);
  if (target.pixels.extent(0) > 0)
    expect(compares_pixels() && prediction.layout != Layout::nchw16n, "pixels on a CPU, and flat");
  else
    expect(target.values.layout == prediction.layout, "a target laid out like the prediction");
  const auto evaluate = choose_kernels<EvaluateRegression>(
      {.host = host_set<host::regression>(), .device = device::regression});
  evaluate(exec, step, prediction, target, d_prediction, values, {spec_, after_relu_});
}

}  // namespace quern
