// SPDX-License-Identifier: Apache-2.0
// What a linear layer asks of its products, with some that do what DenseProducts says.
#include "linalg/dense_products.hpp"

#include <gtest/gtest.h>

#include "layers/linear.hpp"
#include "layers/reference/linear.hpp"
#include "support/layer_run.hpp"
#include "support/random_values.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {
namespace {

using test::random_values;
using test::relative_difference;

/// Products on the host, in double, counted.
class HostProducts final : public DenseProducts {
 public:
  void multiply(const ExecSpace&, const char*, const Matrix& c, const ConstMatrix& a,
                const ConstMatrix& b, const Epilogue& epilogue) override {
    ++products;
    store(c, epilogue, [&](int i, int j) {
      double sum = 0;
      for (int k = 0; k < a.columns; ++k) sum += product(a, i, k, b, k, j);
      return sum;
    });
  }
  void multiply_transposed(const ExecSpace&, const char*, const Matrix& c, const ConstMatrix& a,
                           const ConstMatrix& b, const Epilogue& epilogue, const Copy&) override {
    ++products;
    store(c, epilogue, [&](int i, int j) {
      double sum = 0;
      for (int k = 0; k < a.columns; ++k) sum += product(a, i, k, b, j, k);
      return sum;
    });
  }
  void multiply_blocks(const ExecSpace&, const char*, const BlockSchedule& schedule,
                       const GradientSums& partial_sums, const GradientPlace& place,
                       const ConstMatrix& a, const ConstMatrix& b, const ColumnSums& sums,
                       const FloatView&) override {
    ++products;
    EXPECT_EQ(schedule.num_partial_sums, 1);
    for (int j = 0; sums.offset >= 0 && j < b.columns; ++j) {
      double sum = 0;
      for (int s = 0; s < b.rows; ++s) sum += double{b.data[b.place(s, j)]};
      partial_sums.data(sums.offset + j) = static_cast<float>(sum);
    }
    store(
        {partial_sums.data.data() + place.offset, a.columns, b.columns, place.stride, place.panel},
        {}, [&](int i, int j) {
          double sum = 0;
          for (int k = 0; k < a.rows; ++k) sum += product(a, k, i, b, k, j);
          return sum;
        });
  }

  int products = 0;

 private:
  static double product(const ConstMatrix& a, int ar, int ac, const ConstMatrix& b, int br,
                        int bc) {
    return double{a.data[a.place(ar, ac)]} * b.data[b.place(br, bc)];
  }
  template <class F>
  static void store(const Matrix& c, const Epilogue& epilogue, const F& element) {
    for (int i = 0; i < c.rows; ++i) {
      for (int j = 0; j < c.columns; ++j) {
        double value = element(i, j);
        if (epilogue.bias) value += epilogue.bias[j];
        if (epilogue.relu && value <= 0) value = 0;
        if (epilogue.relu_mask && epilogue.relu_mask[c.place(i, j)] <= 0) value = 0;
        c.data[c.place(i, j)] = static_cast<float>(value);
      }
    }
  }
};

TEST(DenseProducts, DoAllProductsOfALinearLayer) {
  if (!kHostExecution) GTEST_SKIP() << "HostProducts reads what kernels write";
  const int samples = 19;
  const int in = 33;
  const int out = 18;
  const auto x = random_values(samples * in, 1);
  const auto dy = random_values(samples * out, 2);
  const auto weight = random_values(in * out, 3);
  const auto bias = random_values(out, 4);
  LayerSpec spec;
  spec.name = "fc";
  spec.features = out;
  Linear layer(spec, Shape{in});
  const auto products = std::make_shared<HostProducts>();
  LayerSetup setup;
  setup.products = products;

  const auto run =
      test::run_layer(layer, samples, 4, x, dy, {{"fc.weight", weight}, {"fc.bias", bias}}, setup);

  EXPECT_EQ(products->products, 3);
  const auto expected = reference::linear_backward(samples, in, out, x, weight, dy);
  EXPECT_LT(
      relative_difference(reference::linear_forward(samples, in, out, x, weight, bias), run.y),
      2e-6);
  EXPECT_LT(relative_difference(expected.dx, run.dx), 2e-6);
  EXPECT_LT(relative_difference(expected.weight, run.gradients.at("fc.weight")), 2e-6);
  EXPECT_LT(relative_difference(expected.bias, run.gradients.at("fc.bias")), 2e-6);
}

TEST(ProductsChoice, ArePlainUnlessAskedForOthers) {
  const auto plain = choose_products();
  EXPECT_EQ(choose_products({.precision = OperandPrecision::fp32}), plain);
  EXPECT_EQ(choose_products({.any_order = true}) != plain, has_vendor_products());
  for (const auto precision : {OperandPrecision::tf32, OperandPrecision::bf16}) {
    EXPECT_NE(choose_products({.precision = precision, .on_device = true}), plain);
    EXPECT_EQ(choose_products({.precision = precision, .any_order = true}) == plain,
              !runs_device_kernels());
  }
}

}  // namespace
}  // namespace quern
