// SPDX-License-Identifier: Apache-2.0
// The loss of a regression with the gradient in Layout::tiles, of predictions in the order in which
// products on tiles put them out: 16 rows of a unit after those of the one before. The bits are
// those of the flat kernels (loss/host/regression.cpp): lane l of a row sums the units l, l + 16,
// ..., then the lanes are added as a tree. Reference: loss/reference/regression.hpp.
#pragma once

#include "loss/host/regression_rows.hpp"
#include "loss/regression_kernels.hpp"
#include "tensor/operand_tiles.hpp"

namespace quern::host {

template <class Error>
class RegressionTiles final : public RegressionReader {
 public:
  explicit RegressionTiles(const Error& error) : error_(error) {}
  void begin(const LossContext& step, const LossTarget& target, const Activation& d_prediction,
             const FloatView& values, bool after_relu) override;
  void read(int tile, int unit, const float* rows, float* state) const override;

  /// After begin(): reads a prediction that a layer has written, flat.
  void read_all(const ExecSpace& exec, const char* label, const Activation& prediction) const;

 private:
  struct State;  // of a tile, in the caller's floats

  void open_tile(int tile, float* state) const;
  void close_tile(int tile, float* state) const;
  /// [16 rows of the group] of the units from `unit` on, as many as are fetched at once.
  void fetch_pixels(int row, int unit, float* wanted) const;
  void fetch_values(int row, int unit, float* wanted) const;

  Error error_;
  RegressionRows rows_ = {};
  OperandTiles to_;
  const std::uint8_t* pixels_ = nullptr;  // where there are any, of all samples
  Activation target_;                     // else of all rows
};

extern template class RegressionTiles<SquaredError>;
extern template class RegressionTiles<AbsoluteError>;
extern template class RegressionTiles<HuberError>;

}  // namespace quern::host
