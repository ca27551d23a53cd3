// SPDX-License-Identifier: Apache-2.0
#include "loss/custom_loss.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/expect_error.hpp"
#include "support/random_values.hpp"
#include "unit/loss/loss_bench.hpp"

namespace quern {
namespace {

// Half the squared error, added up, as a program might write it: padding it does not know of.
class HalfSquares final : public Loss {
 public:
  explicit HalfSquares(const Shape& prediction) : Loss(prediction) {}

 protected:
  void evaluate_rows(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                     const LossTarget& target, const Activation& d_prediction,
                     const FloatView& values) const override {
    const FloatView x = prediction.data;
    const FloatView t = target.values.data;
    const FloatView dx = d_prediction.data;
    const auto sample_of_row = step.sample_of_row;
    const auto scalars = step.scalars;
    const ActivationIndex at(prediction);
    const int units = prediction.shape.units();
    Kokkos::parallel_for(
        "test::half_squares", Kokkos::RangePolicy<ExecSpace>(exec, 0, prediction.rows),
        KOKKOS_LAMBDA(int row) {
          const bool is_empty = sample_of_row(row) < 0;
          float sum = 0;
          for (int u = 0; u < units; ++u) {
            const float error = x(at(row, u)) - t(at(row, u));
            sum += error * error / 2;
            if (dx.extent(0) > 0) dx(at(row, u)) = is_empty ? 0 : error * scalars().inverse_count;
          }
          values(row * kColumns + kLoss) = is_empty ? 0 : sum;
          values(row * kColumns + kCorrect) = 0;
        });
  }
};

LossSpec custom(const std::string& kind) {
  return {.type = LossType::custom, .kind = kind};
}

TEST(CustomLoss, ComputesWhatItsProgramSays) {
  register_loss("half_squares",
                [](const Shape& prediction) { return std::make_unique<HalfSquares>(prediction); });
  for (const int units : {1, 5, 16, 21}) {
    const test::TestBatch batch{17, 3, 16};
    const auto size = static_cast<std::size_t>(batch.rows() * units);
    const std::vector<float> x = test::random_values(size, 1, -2, 2);
    const std::vector<float> t = test::random_values(size, 2, -2, 2);
    const auto loss = make_loss(custom("half_squares"), {units});
    LossTarget target;
    target.values = test::make_activation({units}, flat_layout(), batch.rows(), t);
    const test::LossResult result = test::run_loss(
        *loss, batch, test::make_activation({units}, flat_layout(), batch.rows(), x, 900), target);
    const std::vector<std::int64_t> samples = test::sample_of_row(batch);
    for (int row = 0; row < batch.rows(); ++row) {
      const std::vector<float> dx = test::sample_of(result.d_prediction, units, row);
      const bool is_empty = samples[static_cast<std::size_t>(row)] < 0;
      float sum = 0;
      for (int u = 0; u < units; ++u) {
        const auto i = static_cast<std::size_t>(row * units + u);
        const float error = is_empty ? 0 : x[i] - t[i];
        sum += error * error / 2;
        EXPECT_NEAR(dx[static_cast<std::size_t>(u)] * 17, error, 1e-6f);
      }
      EXPECT_NEAR(result.row_values[static_cast<std::size_t>(2 * row)], sum, 1e-5f);
    }
    EXPECT_EQ(result.d_padding, 0);
    EXPECT_EQ(result.sums, test::expected_sums(batch, result.row_values));
  }
}

TEST(CustomLoss, MustBeRegisteredOnceAndFitItsNetwork) {
  register_loss("twice", [](const Shape& shape) { return std::make_unique<HalfSquares>(shape); });
  register_loss("twice", [](const Shape& shape) { return std::make_unique<HalfSquares>(shape); });
  register_loss("other", [](const Shape&) { return std::make_unique<HalfSquares>(Shape{3}); });
  register_loss("none", [](const Shape&) { return std::unique_ptr<Loss>(); });
  test::expect_error(
      [] { make_loss(custom("pinbal"), {4}); }, ExitCode::bad_input,
      {"the loss is of kind 'pinbal', which this program does not know (known: ", "'twice'"});
  test::expect_error([] { make_loss(custom("twice"), {4}); }, ExitCode::failure,
                     {"is of kind 'twice', which this program registers more than once"});
  for (const char* kind : {"other", "none"}) {
    test::expect_error([&] { make_loss(custom(kind), {4}); }, ExitCode::failure,
                       {kind, "was asked for a loss of [4], and made another"});
  }
}

}  // namespace
}  // namespace quern
