// SPDX-License-Identifier: Apache-2.0
// What every loss does: per-sample values, their fixed-order sums, and the gradient that starts
// the backward pass.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "linalg/block_schedule.hpp"
#include "spec/training_spec.hpp"
#include "tensor/activation.hpp"
#include "tensor/output_reader.hpp"
#include "tensor/step_scalars.hpp"

namespace quern {

/// What the prediction is compared with; each loss reads its own member.
struct LossTarget {
  View<const std::int32_t> labels = {};  ///< cross entropy: class of every sample in memory
  Activation values = {};                ///< others: wanted prediction of every row, its layout
  /// Or, in place of values, where Loss::compares_pixels(): bytes [N, units]; of row r those of
  /// sample_of_row(r), divided by 255.
  View<const std::uint8_t> pixels = {};
};

/// Where a batch stands: the rows of this rank and the numbers of the step.
struct LossContext {
  BlockSchedule schedule;
  StepScalarsView scalars;
  View<const std::int64_t> sample_of_row;  ///< place of its label or pixels; -1 for an empty row
};

class Loss {
 public:
  /// Columns of row_values() and of the sums.
  static constexpr int kLoss = 0;
  static constexpr int kCorrect = 1;
  static constexpr int kColumns = 2;

  /// Of predictions of this shape.
  explicit Loss(const Shape& prediction) : shape_(prediction) {}
  virtual ~Loss() = default;
  Loss(const Loss&) = delete;
  Loss& operator=(const Loss&) = delete;

  const Shape& shape() const { return shape_; }

  /// Layout the prediction must have, given the layout the network ends with.
  virtual Layout input_layout(Layout incoming) const { return incoming; }

  /// Where the prediction comes out of a ReLU: can compute() apply the ReLU's derivative, so that
  /// d_prediction is the gradient in front of it?
  virtual bool applies_input_relu() const { return false; }
  /// From now on it does. Only where it can.
  virtual void apply_input_relu() {}

  /// Can compute() compare a prediction in a flat layout with pixels? They are a quarter of
  /// the bytes of floats.
  virtual bool compares_pixels() const { return false; }

  /// Can compute() write d_prediction in Layout::tiles, rounded for the products that read it,
  /// where the prediction itself is in a flat layout?
  virtual bool writes_gradient_tiles() const { return false; }

  /// Can compute() write d_prediction where the prediction lies?
  virtual bool overwrites_prediction() const { return false; }

  /// Can it read the prediction where a layer computes it, tile by tile (begin_reading())? Then no
  /// array holds it.
  virtual bool reads_tiles() const { return false; }

  /// How many answers of each sample are right or wrong, the most that kCorrect can count; 0: none,
  /// and there is no accuracy. More than 2^24 right ones of a batch are a rounded number.
  virtual std::int64_t answers_per_sample() const { return 0; }

  /// Puts what a network puts out into the units of the targets, in place: for losses that take it
  /// for something else.
  virtual void put_predictions(const ExecSpace& /*exec*/, const Activation& /*output*/) const {}

  /// How much samples of each class count from now on; before allocate(). InputError where there
  /// are not as many as classes. Only of cross entropy.
  virtual void set_class_weights(const std::vector<double>& weights);

  /// Allocates the per-row values. Called once, before the first step.
  void allocate(int max_rows);

  /// Loss, correct answers and gradient of one batch. Overwrites
  ///   d_prediction   gradient of the mean over the global batch (scalars().inverse_count), zero in
  ///                  empty rows and in the padding of rows; skipped when empty (evaluation); laid
  ///                  out as the prediction, or in tiles; may lie where the prediction
  ///                  does if overwrites_prediction();
  ///   row_values()   see there;
  ///   sums           for every partial sum p, floats p * stride + offset + {kLoss, kCorrect}:
  ///                  the sums over the samples, added in the order of the fixed tree.
  void compute(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
               const LossTarget& target, const Activation& d_prediction, const GradientSums& sums,
               std::int64_t offset) const;

  /// Where reads_tiles(), and d_prediction is in tiles, in place of compute(): before the layer
  /// runs that computes the prediction, what it is to call. That overwrites d_prediction and
  /// row_values(), with the bits of compute(). Valid until the next call.
  const OutputReader& begin_reading(const LossContext& step, const LossTarget& target,
                                    const Activation& d_prediction) const;
  /// And then the sums, as compute() says.
  void add_rows(const ExecSpace& exec, const LossContext& step, const GradientSums& sums,
                std::int64_t offset) const;

  /// Per row of the last batch, [rows, kColumns]: the sample's own loss, not divided by the
  /// batch, and how many of its answers are right. Zero in empty rows.
  ConstFloatView row_values() const { return row_values_; }

 protected:
  /// Allocates what else a loss reads.
  virtual void allocate_own() {}
  /// Does evaluate_rows() set the padding of d_prediction's rows, too? Else it is set to zero
  /// before.
  virtual bool sets_padding() const { return false; }
  /// Overwrites `values` (row_values()) and, unless empty, d_prediction.
  virtual void evaluate_rows(const ExecSpace& exec, const LossContext& step,
                             const Activation& prediction, const LossTarget& target,
                             const Activation& d_prediction, const FloatView& values) const = 0;
  /// What begin_reading() says; `values`: row_values(). Of a loss that reads_tiles().
  virtual const OutputReader& begin_tiles(const LossContext& step, const LossTarget& target,
                                          const Activation& d_prediction,
                                          const FloatView& values) const;

 private:
  /// Is there a sample and a value for every row of the batch, and is `array` of such rows?
  void check_rows(const LossContext& step, const Activation& array) const;

  Shape shape_;
  FloatView row_values_;
};

/// `prediction`: shape of what the network puts out.
std::unique_ptr<Loss> make_loss(const LossSpec& spec, const Shape& prediction);

}  // namespace quern
