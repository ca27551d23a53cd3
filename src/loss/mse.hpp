// SPDX-License-Identifier: Apache-2.0
// Mean squared error, the mean over all elements as torch.nn.MSELoss: with U units per sample,
//   loss = sum_u (x_u - t_u)^2 / U      d_x_u = 2 (x_u - t_u) inverse_count / U
#pragma once

#include "loss/loss.hpp"

namespace quern {

class MseReader;

/// Works in either layout. Reads target.pixels, or where there are none target.values (same shape,
/// layout and rows as the prediction).
class Mse final : public Loss {
 public:
  explicit Mse(const Shape& prediction);
  ~Mse() override;
  bool applies_input_relu() const override { return true; }
  void apply_input_relu() override { after_relu_ = true; }
  /// All by the kernels of a CPU.
  bool compares_pixels() const override { return flat_layout() == Layout::cn16c; }
  bool writes_gradient_tiles() const override { return flat_layout() == Layout::cn16c; }
  bool overwrites_prediction() const override { return flat_layout() == Layout::cn16c; }
  bool reads_tiles() const override { return reader_ != nullptr; }

 protected:
  void evaluate_rows(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                     const LossTarget& target, const Activation& d_prediction,
                     const FloatView& values) const override;
  const OutputReader& begin_tiles(const LossContext& step, const LossTarget& target,
                                  const Activation& d_prediction,
                                  const FloatView& values) const override;

 private:
  bool after_relu_ = false;
  std::unique_ptr<MseReader> reader_;  // null where there is none
};

}  // namespace quern
