// SPDX-License-Identifier: Apache-2.0
#include "optim/optimizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "optim/reference/optimizer.hpp"
#include "optim/trusted_optimizer.hpp"
#include "spec/words.hpp"
#include "support/random_values.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

OptimizerSpec sgd(double momentum, bool nesterov, double weight_decay) {
  OptimizerSpec spec;
  spec.lr = 0.1;
  spec.momentum = momentum;
  spec.nesterov = nesterov;
  spec.weight_decay = weight_decay;
  return spec;
}

OptimizerSpec adam(OptimizerType type, double beta1, double beta2, double eps, double decay) {
  OptimizerSpec spec;
  spec.type = type;
  spec.lr = 0.1;
  spec.beta1 = beta1;
  spec.beta2 = beta2;
  spec.eps = eps;
  spec.weight_decay = decay;
  return spec;
}

/// Of one weight.
ParameterTable table_of(std::size_t count) {
  ParameterTable table;
  table.add("w", {static_cast<std::int64_t>(count)}, 1, ParameterKind::weight);
  return table;
}

/// An optimizer with its parameters, stepped by hand.
struct Stepper {
  Stepper(const OptimizerSpec& spec, const std::vector<float>& start)
      : Stepper(spec, start, table_of(start.size())) {}
  Stepper(const OptimizerSpec& spec, const std::vector<float>& start, const ParameterTable& table)
      : optimizer(make_optimizer(spec, table)),
        parameters(test::to_view(start)),
        scalars("test::scalars") {
    values.learning_rate = static_cast<float>(spec.lr);
  }

  void step(const std::vector<float>& gradient) {
    Kokkos::deep_copy(scalars, values);
    const ExecSpace exec;
    optimizer->update(exec, scalars, parameters, test::to_view(gradient));
    exec.fence("test: next step");
    ++values.step;
  }

  std::unique_ptr<Optimizer> optimizer;
  FloatView parameters;
  StepScalarsView scalars;
  StepScalars values;
};

struct Golden {
  const char* name;
  OptimizerSpec spec;
  std::vector<float> expected;
};

// PyTorch 2.13:
//   p = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5, 0.0]))
//   o = torch.optim.SGD([p], lr=0.1, ...)      # or Adam, AdamW, with the settings below
//   for t in range(4):
//       p.grad = torch.tensor([0.1, -0.3, 2, 0]) * (t + 1) + torch.tensor([0, 0.5, -1, 0.25])
//       o.step()
const Golden kGolden[] = {
    {"sgd", sgd(0, false, 0), {0.899999976f, -1.89999998f, -1.10000002f, -0.100000001f}},
    {"decay", sgd(0, false, 0.01), {0.896105945f, -1.89201188f, -1.10059762f, -0.0998501033f}},
    {"momentum", sgd(0.9, false, 0.01), {0.805571079f, -1.87750709f, -2.30887532f, -0.225879416f}},
    {"nesterov", sgd(0.9, true, 0.01), {0.721377134f, -1.78173196f, -3.62533426f, -0.302745372f}},
    {"adam",
     adam(OptimizerType::adam, 0.9, 0.999, 1e-8, 0),
     {0.611640632f, -2.01176095f, 0.123344406f, -0.399999976f}},
    {"adam decay",
     adam(OptimizerType::adam, 0.8, 0.95, 1e-3, 0.01),
     {0.606202245f, -1.96909499f, 0.114892937f, -0.398253322f}},
    {"adamw",
     adam(OptimizerType::adamw, 0.9, 0.999, 1e-8, 0.1),
     {0.578085482f, -1.92991042f, 0.109357953f, -0.394039869f}},
};

// Those of whole tensors are in trusted_optimizer_test.cpp.
TEST(Optimizer, TestsHaveEveryType) {
  for (const auto& [word, type] : words_of<OptimizerType>()) {
    if (std::ranges::any_of(kGolden, [&](const Golden& g) { return g.spec.type == type; }))
      continue;
    const OptimizerSpec spec{.type = type, .lr = 0.1};
    const auto optimizer = make_optimizer(spec, table_of(16));
    EXPECT_NE(dynamic_cast<TrustedOptimizer*>(optimizer.get()), nullptr) << word;
    reference::Parameter parameter;
    EXPECT_THROW(reference::update(spec, 1, 0.1, 1, parameter), Error) << word;
  }
}

TEST(Optimizer, AgreesWithPyTorch) {
  for (const Golden& golden : kGolden) {
    std::vector<float> start(kLanes);
    std::copy_n(std::vector<float>{1, -2, 0.5f, 0}.begin(), 4, start.begin());
    Stepper run(golden.spec, start);
    for (int t = 0; t < 4; ++t) {
      const float k = static_cast<float>(t + 1);
      std::vector<float> gradient(kLanes);
      std::copy_n(std::vector<float>{0.1f * k, -0.3f * k + 0.5f, 2 * k - 1, 0.25f}.begin(), 4,
                  gradient.begin());
      run.step(gradient);
    }
    const std::vector<float> values = test::to_vector(run.parameters);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(values[i], golden.expected[i], 1e-6) << golden.name << " " << i;
    for (std::size_t i = 4; i < values.size(); ++i)
      EXPECT_EQ(values[i], 0) << golden.name << ": gaps stay zero";
  }
}

TEST(Optimizer, MatchesTheReferenceOverManyElements) {
  for (const Golden& golden : kGolden) {
    constexpr std::size_t count = 5008;  // several chunks, the last one short
    const std::vector<float> start = test::random_values(count, 1);
    Stepper run(golden.spec, start);
    std::vector<reference::Parameter> expected;
    for (const float value : start) expected.push_back({value, 0, 0, 0});
    for (int t = 1; t <= 3; ++t) {
      const std::vector<float> gradient =
          test::random_values(count + 2, static_cast<std::uint64_t>(t + 1));
      run.step(gradient);
      for (std::size_t i = 0; i < count; ++i)
        reference::update(golden.spec, t, golden.spec.lr, gradient[i], expected[i]);
    }
    const std::vector<float> values = test::to_vector(run.parameters);
    // Near zero, m / sqrt(v) magnifies the rounding of the gradient.
    const double tolerance = golden.spec.type == OptimizerType::sgd ? 1e-6 : 1e-5;
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_NEAR(values[i], expected[i].value, tolerance) << golden.name << " " << i;
  }
}

TEST(Optimizer, EveryElementHasTheSameBitsWhereverItStands) {
  for (const Golden& golden : kGolden) {
    Stepper run(golden.spec, std::vector<float>(5008, 0.3f));
    for (int t = 0; t < 3; ++t) run.step(std::vector<float>(5008, 0.7f));
    const std::vector<float> values = test::to_vector(run.parameters);
    EXPECT_EQ(values, std::vector<float>(values.size(), values[0])) << golden.name;
  }
}

TEST(Optimizer, GradientScaleIsAFactorOnTheGradient) {
  for (const Golden& golden : kGolden) {
    const std::vector<float> start = test::random_values(32, 1);
    std::vector<float> gradient = test::random_values(32, 2);
    Stepper scaled(golden.spec, start);
    scaled.values.gradient_scale = 0.25f;
    scaled.step(gradient);
    Stepper plain(golden.spec, start);
    for (float& value : gradient) value *= 0.25f;
    plain.step(gradient);
    EXPECT_EQ(test::to_vector(scaled.parameters), test::to_vector(plain.parameters)) << golden.name;
  }
}

TEST(Optimizer, CopiedStateContinuesWithTheSameBits) {
  for (const Golden& golden : kGolden) {
    Stepper first(golden.spec, test::random_values(48, 1));
    first.step(test::random_values(48, 2));
    Stepper second(golden.spec, test::to_vector(first.parameters));
    second.values = first.values;
    ASSERT_EQ(first.optimizer->state().size(), second.optimizer->state().size());
    for (std::size_t i = 0; i < first.optimizer->state().size(); ++i)
      Kokkos::deep_copy(second.optimizer->state()[i].values, first.optimizer->state()[i].values);
    first.step(test::random_values(48, 3));
    second.step(test::random_values(48, 3));
    EXPECT_EQ(test::to_vector(first.parameters), test::to_vector(second.parameters)) << golden.name;
  }
}

/// What of the first average the gradient has to be, so that a tenth of it is left.
double factor_for_a_tenth(const OptimizerSpec& spec) {
  switch (spec.type) {
    case OptimizerType::sgd:
      return 0.1 - spec.momentum;
    case OptimizerType::adam:
    case OptimizerType::adamw:
      return 1 - 0.9 / (1 - spec.beta1);
    case OptimizerType::lars:
    case OptimizerType::lamb:
      break;
  }
  throw Error("expected an optimizer of kGolden");
}

TEST(Optimizer, AveragesTooSmallForANormalFloatAreZeroWithoutASign) {
  for (const Golden& golden : kGolden) {
    const OptimizerSpec& spec = golden.spec;
    for (const float start : {3 * FLT_MIN, -3 * FLT_MIN}) {
      Stepper run(spec, std::vector<float>(48));
      for (const OptimizerState& array : run.optimizer->state())
        Kokkos::deep_copy(array.values, array.name == "exp_avg_sq" ? FLT_MIN : start);
      run.step(std::vector<float>(48, static_cast<float>(factor_for_a_tenth(spec) * start)));
      for (const OptimizerState& array : run.optimizer->state())
        EXPECT_EQ(test::bits_of(test::to_vector(array.values)), std::vector<std::uint32_t>(48))
            << golden.name << " " << array.name << " " << start;
    }
  }
}

TEST(Optimizer, PartsTogetherGiveTheBitsOfTheWhole) {
  const auto start = test::random_values(80, 1);
  const auto gradient = test::random_values(80, 2);
  for (const Golden& golden : kGolden) {
    Stepper whole(golden.spec, start);
    whole.step(gradient);
    std::vector<float> joined;
    for (const auto& [begin, end] : {std::pair(0, 16), std::pair(16, 64), std::pair(64, 128)}) {
      Stepper part(golden.spec, start);
      int allocations = 0;
      part.optimizer =
          make_optimizer(golden.spec, table_of(80),
                         {begin, end, [&](const std::string& label, std::int64_t count) {
                            ++allocations;
                            return FloatView(label, static_cast<std::size_t>(count));
                          }});
      part.step(gradient);
      EXPECT_EQ(allocations, num_state_arrays(golden.spec));
      const auto after = test::to_vector(part.parameters);
      for (int i = 0; i < 80; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (i >= begin && i < end) {
          joined.push_back(after[at]);
        } else {
          EXPECT_EQ(after[at], start[at]);
        }
      }
    }
    EXPECT_EQ(joined, test::to_vector(whole.parameters)) << golden.name;
  }
}

TEST(Optimizer, DecaysWeightsAloneWhereTheRecipeSaysSo) {
  ParameterTable table;
  table.add("a.bias", {5}, 1, ParameterKind::bias);
  table.add_transposed("b.weight", 19, 70, kLanes);  // with gaps, over more than one chunk
  table.add("c.weight", {33}, 1, ParameterKind::scale);
  table.add("c.bias", {16}, 1, ParameterKind::shift);
  table.add("d.weight", {33}, 1, ParameterKind::weight);
  const auto size = static_cast<std::size_t>(table.block_size());
  ASSERT_GT(size, 2048u);
  const auto start = test::random_values(size, 1);
  const auto gradient = test::random_values(size, 2);
  const auto after = [&](OptimizerSpec spec, DecayScope scope, double strength,
                         const OptimizerPart& part) {
    spec.decay = scope;
    spec.weight_decay = strength;
    Stepper run(spec, start, table);
    run.optimizer = make_optimizer(spec, table, part);
    for (int t = 0; t < 2; ++t) run.step(gradient);
    return test::to_vector(run.parameters);
  };
  for (const Golden& golden : kGolden) {
    const auto plain = after(golden.spec, DecayScope::all, 0, {});
    const auto everywhere = after(golden.spec, DecayScope::all, 0.1, {});
    const auto weights = after(golden.spec, DecayScope::weights, 0.1, {});
    const OptimizerPart middle{32, 1600, {}};
    const auto part = after(golden.spec, DecayScope::weights, 0.1, middle);
    EXPECT_EQ(after(golden.spec, DecayScope::weights, 0, {}), plain) << golden.name;
    for (const ParameterEntry& entry : table.entries()) {
      const auto& expected = entry.kind == ParameterKind::weight ? everywhere : plain;
      for (std::int64_t i = 0; i < entry.count; ++i) {
        const auto at = static_cast<std::size_t>(entry.position(i));
        ASSERT_NE(everywhere[at], plain[at]);
        ASSERT_EQ(weights[at], expected[at]) << golden.name << " " << entry.name << " " << i;
        const bool inside = entry.position(i) >= middle.begin && entry.position(i) < middle.end;
        ASSERT_EQ(part[at], inside ? expected[at] : start[at]) << golden.name << " " << entry.name;
      }
    }
  }
}

TEST(Optimizer, TensorsLearnAtTheirOwnRates) {
  ParameterTable table;
  table.add("a.bias", {5}, 1, ParameterKind::bias);
  table.add_transposed("b.weight", 19, 70, kLanes);  // with gaps, over more than one chunk
  table.add("c.weight", {33}, 1, ParameterKind::weight);
  table.add("c.bias", {16}, 1, ParameterKind::bias);
  const auto size = static_cast<std::size_t>(table.block_size());
  const auto start = test::random_values(size, 1);
  const auto gradient = test::random_values(size, 2);
  const auto after = [&](OptimizerSpec spec, double lr_factor, const ParameterTable& named,
                         const OptimizerPart& part) {
    spec.lr *= lr_factor;
    spec.decay = DecayScope::weights;
    spec.weight_decay = 0.1;
    Stepper run(spec, start, named);
    run.optimizer = make_optimizer(spec, named, part);
    for (int t = 0; t < 2; ++t) run.step(gradient);
    return test::to_vector(run.parameters);
  };
  ParameterTable slow = table;
  slow.set_lr_factor(2, 0.25f);  // a power of two: its products are not rounded
  for (const Golden& golden : kGolden) {
    const auto whole_rate = after(golden.spec, 1, table, {});
    const auto quarter = after(golden.spec, 0.25, table, {});
    const OptimizerPart middle{32, 1600, {}};
    const auto both = after(golden.spec, 1, slow, {});
    const auto part = after(golden.spec, 1, slow, middle);
    for (const ParameterEntry& entry : slow.entries()) {
      const auto& expected = entry.name.front() == 'c' ? quarter : whole_rate;
      for (std::int64_t i = 0; i < entry.count; ++i) {
        const auto at = static_cast<std::size_t>(entry.position(i));
        ASSERT_NE(quarter[at], whole_rate[at]);
        ASSERT_EQ(both[at], expected[at]) << golden.name << " " << entry.name << " " << i;
        const bool inside = entry.position(i) >= middle.begin && entry.position(i) < middle.end;
        ASSERT_EQ(part[at], inside ? expected[at] : start[at]) << golden.name << " " << entry.name;
      }
    }
  }
}

TEST(Optimizer, StateHasPyTorchsNames) {
  const auto names = [](const OptimizerSpec& spec) {
    const auto optimizer = make_optimizer(spec, table_of(16));
    std::string joined;
    for (const OptimizerState& state : optimizer->state()) joined += state.name + " ";
    return joined;
  };
  EXPECT_EQ(names(sgd(0, false, 0)), "");
  EXPECT_EQ(names(sgd(0.9, false, 0)), "momentum_buffer ");
  EXPECT_EQ(names(adam(OptimizerType::adam, 0.9, 0.999, 1e-8, 0)), "exp_avg exp_avg_sq ");
}

TEST(Optimizer, AShortGradientIsRefused) {
  Stepper run(sgd(0, false, 0), std::vector<float>(32));
  EXPECT_THROW(run.step(std::vector<float>(16)), std::exception);
}

}  // namespace
}  // namespace quern
