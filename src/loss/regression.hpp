// SPDX-License-Identifier: Apache-2.0
// What predicted numbers are compared with wanted ones by: the mean over all elements of what an
// error function (loss/error_function.hpp) makes of their difference. With U units per sample,
//   loss = sum_u cost(x_u - t_u) / U      d_x_u = cost'(x_u - t_u) inverse_count / U
#pragma once

#include "loss/loss.hpp"

namespace quern {

class RegressionReader;

/// Works in either layout. Reads target.pixels, or where there are none target.values (same shape,
/// layout and rows as the prediction).
class RegressionLoss final : public Loss {
 public:
  /// `spec`: of a type that has an error function.
  RegressionLoss(const LossSpec& spec, const Shape& prediction);
  ~RegressionLoss() override;
  bool applies_input_relu() const override { return true; }
  void apply_input_relu() override { after_relu_ = true; }
  /// All by the kernels of a CPU.
  bool compares_pixels() const override { return flat_layout() == Layout::cn16c; }
  bool writes_gradient_tiles() const override { return flat_layout() == Layout::cn16c; }
  bool overwrites_prediction() const override { return flat_layout() == Layout::cn16c; }
  bool reads_tiles() const override { return reader_ != nullptr; }

 protected:
  bool sets_padding() const override { return true; }
  void evaluate_rows(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                     const LossTarget& target, const Activation& d_prediction,
                     const FloatView& values) const override;
  const OutputReader& begin_tiles(const LossContext& step, const LossTarget& target,
                                  const Activation& d_prediction,
                                  const FloatView& values) const override;

 private:
  LossSpec spec_;
  bool after_relu_ = false;
  std::unique_ptr<RegressionReader> reader_;  // null where there is none
};

}  // namespace quern
