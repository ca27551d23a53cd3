// SPDX-License-Identifier: Apache-2.0
// LARS and LAMB.
#include "optim/trusted_optimizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "optim/reference/trusted_optimizer.hpp"
#include "support/random_values.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

OptimizerSpec lars(double momentum, bool nesterov, double weight_decay) {
  OptimizerSpec spec;
  spec.type = OptimizerType::lars;
  spec.lr = 0.1;
  spec.momentum = momentum;
  spec.nesterov = nesterov;
  spec.weight_decay = weight_decay;
  spec.trust_coefficient = 0.02;
  return spec;
}

OptimizerSpec lamb(double beta1, double beta2, double eps, double weight_decay) {
  OptimizerSpec spec;
  spec.type = OptimizerType::lamb;
  spec.lr = 0.1;
  spec.beta1 = beta1;
  spec.beta2 = beta2;
  spec.eps = eps;
  spec.weight_decay = weight_decay;
  return spec;
}

struct Golden {
  const char* name;
  OptimizerSpec spec;
  std::vector<float> weight;
  std::vector<float> bias;
};

// The formulas of optim/lars.hpp and optim/lamb.hpp, written in PyTorch in double: a weight that
// begins as [1, -2, 0.5, 0] and a bias [0.5, -1], four steps of
//   weight.grad = torch.tensor([0.1, -0.3, 2, 0]) * (t + 1) + torch.tensor([0, 0.5, -1, 0.25])
//   bias.grad = torch.tensor([0.2 * (t + 1), -0.4])
const Golden kGolden[] = {
    {"lars",
     lars(0, false, 0),
     {0.998729273f, -1.99989872f, 0.482007265f, -0.00185544972f},
     {0.299999996f, -0.839999998f}},
    {"lars with decay",
     lars(0, false, 0.1),
     {0.998201072f, -1.99848938f, 0.483128041f, -0.00161923445f},
     {0.282288015f, -0.802980065f}},
    {"momentum",
     lars(0.9, false, 0.01),
     {0.9967356f, -2.00095404f, 0.459894272f, -0.00526825648f},
     {0.124694849f, -0.62955775f}},
    {"nesterov",
     lars(0.9, true, 0.01),
     {0.995733423f, -2.00059908f, 0.446063719f, -0.00656804481f},
     {-0.039081015f, -0.503497541f}},
    {"lamb",
     lamb(0.9, 0.999, 1e-6, 0),
     {0.506042431f, -2.00517334f, 0.0215638348f, -0.509248037f},
     {0.11164185f, -0.600001f}},
    {"lamb with decay",
     lamb(0.8, 0.95, 1e-3, 0.1),
     {0.496223906f, -1.89919075f, 0.0285423197f, -0.464360361f},
     {0.0925274927f, -0.567538753f}},
};

/// Tensors of odd sizes, over more than one chunk, with gaps.
ParameterTable odd_table() {
  ParameterTable table;
  table.add("a.bias", {5}, 1, ParameterKind::bias);
  table.add_transposed("b.weight", 19, 70, kLanes);
  table.add("c.weight", {3, 3001}, 1, ParameterKind::weight);
  table.add("d.weight", {33}, 1, ParameterKind::scale);
  table.add("d.bias", {33}, 1, ParameterKind::shift);
  table.add("e.weight", {7}, 1, ParameterKind::weight);
  return table;
}

std::vector<float> random_block(const ParameterTable& table, std::uint64_t seed) {
  std::vector<float> block(static_cast<std::size_t>(table.block_size()));
  for (const ParameterEntry& entry : table.entries())
    write_tensor(entry, test::random_values(static_cast<std::size_t>(entry.count), ++seed), block);
  return block;
}

/// An optimizer with its parameters, stepped by hand.
struct Stepper {
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

  std::vector<std::vector<float>> all() const {
    std::vector<std::vector<float>> arrays = {test::to_vector(parameters)};
    for (const OptimizerState& array : optimizer->state())
      arrays.push_back(test::to_vector(array.values));
    return arrays;
  }

  std::unique_ptr<Optimizer> optimizer;
  FloatView parameters;
  StepScalarsView scalars;
  StepScalars values;
};

TEST(TrustedOptimizer, FollowsTheFormulas) {
  ParameterTable table;
  table.add("weight", {4}, 1, ParameterKind::weight);
  table.add("bias", {2}, 1, ParameterKind::bias);
  const ParameterEntry& weight = table.entries()[0];
  const ParameterEntry& bias = table.entries()[1];
  for (const Golden& golden : kGolden) {
    std::vector<float> block(32);
    write_tensor(weight, std::vector<float>{1, -2, 0.5f, 0}, block);
    write_tensor(bias, std::vector<float>{0.5f, -1}, block);
    Stepper run(golden.spec, block, table);
    for (int t = 0; t < 4; ++t) {
      const float k = static_cast<float>(t + 1);
      std::vector<float> gradient(32);
      write_tensor(weight, std::vector<float>{0.1f * k, -0.3f * k + 0.5f, 2 * k - 1, 0.25f},
                   gradient);
      write_tensor(bias, std::vector<float>{0.2f * k, -0.4f}, gradient);
      run.step(gradient);
    }
    const std::vector<float> after = test::to_vector(run.parameters);
    for (const auto& [entry, expected] :
         {std::pair(weight, golden.weight), std::pair(bias, golden.bias)}) {
      const std::vector<float> values = read_tensor(entry, after);
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_NEAR(values[i], expected[i], 1e-6) << golden.name << " " << entry.name << " " << i;
    }
  }
}

TEST(TrustedOptimizer, MatchesTheReferenceTensorByTensor) {
  const ParameterTable table = odd_table();
  const auto start = random_block(table, 1);
  for (const Golden& golden : kGolden) {
    for (const DecayScope scope : {DecayScope::all, DecayScope::weights}) {
      OptimizerSpec spec = golden.spec;
      spec.decay = scope;
      Stepper run(spec, start, table);
      std::vector<std::vector<reference::Parameter>> expected;
      for (const ParameterEntry& entry : table.entries()) {
        expected.emplace_back();
        for (const float value : read_tensor(entry, start))
          expected.back().push_back({value, 0, 0, 0});
      }
      for (int t = 1; t <= 3; ++t) {
        const auto gradient = random_block(table, static_cast<std::uint64_t>(10 * t));
        run.step(gradient);
        for (std::size_t e = 0; e < expected.size(); ++e) {
          const ParameterEntry& entry = table.entries()[e];
          const bool is_weight = entry.kind == ParameterKind::weight;
          const reference::TensorStep how{t, spec.lr, is_weight,
                                          is_weight || scope == DecayScope::all};
          const auto values = read_tensor(entry, gradient);
          if (spec.type == OptimizerType::lars)
            reference::lars(spec, how, values, expected[e]);
          else
            reference::lamb(spec, how, values, expected[e]);
        }
      }
      const auto after = test::to_vector(run.parameters);
      for (std::size_t e = 0; e < expected.size(); ++e) {
        const auto values = read_tensor(table.entries()[e], after);
        for (std::size_t i = 0; i < values.size(); ++i)
          ASSERT_NEAR(values[i], expected[e][i].value, 1e-5)
              << golden.name << " " << table.entries()[e].name << " " << i;
      }
      EXPECT_EQ(after[static_cast<std::size_t>(table.entries()[0].count)], 0) << "gaps stay zero";
    }
  }
}

TEST(TrustedOptimizer, TensorsLearnAtTheirOwnRates) {
  const ParameterTable table = odd_table();
  ParameterTable slow = table;
  slow.set_lr_factor(4, 0.25f);  // a power of two: its products are not rounded
  const auto start = random_block(table, 1);
  const auto gradient = random_block(table, 2);
  for (const Golden& golden : kGolden) {
    const auto after = [&](double lr_factor, const ParameterTable& named) {
      OptimizerSpec spec = golden.spec;
      spec.lr *= lr_factor;
      Stepper run(spec, start, named);
      for (int t = 0; t < 2; ++t) run.step(gradient);
      return test::to_vector(run.parameters);
    };
    const auto whole_rate = after(1, table);
    const auto quarter = after(0.25, table);
    const auto both = after(1, slow);
    for (std::size_t e = 0; e < slow.entries().size(); ++e) {
      const ParameterEntry& entry = slow.entries()[e];
      EXPECT_NE(read_tensor(entry, quarter), read_tensor(entry, whole_rate));
      EXPECT_EQ(read_tensor(entry, both), read_tensor(entry, e < 4 ? whole_rate : quarter))
          << golden.name << " " << entry.name;
    }
  }
}

TEST(TrustedOptimizer, GradientScaleIsAFactorOnTheGradient) {
  const ParameterTable table = odd_table();
  const auto start = random_block(table, 1);
  auto gradient = random_block(table, 2);
  for (const Golden& golden : kGolden) {
    Stepper scaled(golden.spec, start, table);
    scaled.values.gradient_scale = 0.25f;
    scaled.step(gradient);
    Stepper plain(golden.spec, start, table);
    auto smaller = gradient;
    for (float& value : smaller) value *= 0.25f;
    plain.step(smaller);
    const auto got = scaled.all();
    const auto expected = plain.all();
    for (std::size_t a = 0; a < got.size(); ++a)
      for (std::size_t i = 0; i < got[a].size(); ++i)
        ASSERT_NEAR(got[a][i], expected[a][i], 1e-7) << golden.name << " " << i;
  }
}

TEST(TrustedOptimizer, ChangesNothingOnceALossWasNotFinite) {
  const ParameterTable table = odd_table();
  for (const Golden& golden : kGolden) {
    Stepper run(golden.spec, random_block(table, 1), table);
    run.step(random_block(table, 2));
    const auto before = run.all();
    run.values.apply_updates = false;
    run.step(random_block(table, 3));
    EXPECT_EQ(run.all(), before) << golden.name;
  }
}

TEST(TrustedOptimizer, CopiedStateContinuesWithTheSameBits) {
  const ParameterTable table = odd_table();
  for (const Golden& golden : kGolden) {
    Stepper first(golden.spec, random_block(table, 1), table);
    first.step(random_block(table, 2));
    Stepper second(golden.spec, test::to_vector(first.parameters), table);
    second.values = first.values;
    for (std::size_t i = 0; i < first.optimizer->state().size(); ++i)
      Kokkos::deep_copy(second.optimizer->state()[i].values, first.optimizer->state()[i].values);
    first.step(random_block(table, 3));
    second.step(random_block(table, 3));
    EXPECT_EQ(first.all(), second.all()) << golden.name;
  }
}

// Of weights that are zero, whose ratio is 1, a tenth of the first averages is left.
TEST(TrustedOptimizer, AveragesTooSmallForANormalFloatAreZeroWithoutASign) {
  ParameterTable table;
  table.add("w", {48}, 1, ParameterKind::weight);
  for (const Golden& golden : kGolden) {
    const OptimizerSpec& spec = golden.spec;
    const bool is_lars = spec.type == OptimizerType::lars;
    const double factor = is_lars ? 0.1 - spec.momentum : 1 - 0.9 / (1 - spec.beta1);
    for (const float start : {3 * FLT_MIN, -3 * FLT_MIN}) {
      Stepper run(spec, std::vector<float>(48), table);
      for (const OptimizerState& array : run.optimizer->state())
        Kokkos::deep_copy(array.values, array.name == "exp_avg_sq" ? FLT_MIN : start);
      run.step(std::vector<float>(48, static_cast<float>(factor * start)));
      for (const OptimizerState& array : run.optimizer->state())
        EXPECT_EQ(test::bits_of(test::to_vector(array.values)), std::vector<std::uint32_t>(48))
            << golden.name << " " << array.name << " " << start;
    }
  }
}

// As ranks that own several ranges, one after the other.
TEST(TrustedOptimizer, PartsTogetherGiveTheBitsOfTheWhole) {
  const ParameterTable table = odd_table();
  const std::int64_t size = table.trained_size();
  const auto start = random_block(table, 1);
  const std::vector<std::vector<BlockRange>> owners = {
      {{0, 4096}, {8192, 8208}}, {{4096, 8192}, {8208, 10240}}, {{10240, size + 64}}};
  std::vector<std::vector<SpreadRange>> ranges(owners.size());
  for (std::size_t rank = 0; rank < owners.size(); ++rank)
    for (const BlockRange& range : owners[rank])
      ranges[rank].push_back({{range.begin, std::min(range.end, size)}, range.begin});
  for (const Golden& golden : kGolden) {
    Stepper whole(golden.spec, start, table);
    std::vector<std::shared_ptr<const TrustRatios>> ratios;
    std::vector<std::vector<std::unique_ptr<Optimizer>>> parts(owners.size());
    for (std::size_t rank = 0; rank < owners.size(); ++rank) {
      ratios.push_back(
          std::make_shared<TrustRatios>(golden.spec, table, ranges, static_cast<int>(rank)));
      for (const BlockRange& range : owners[rank])
        parts[rank].push_back(
            make_optimizer(golden.spec, table, {range.begin, range.end, {}, ratios.back()}));
    }
    const FloatView parameters = test::to_view(start);
    const ExecSpace exec;
    for (int t = 0; t < 3; ++t) {
      const auto gradient = random_block(table, static_cast<std::uint64_t>(10 * t + 2));
      const FloatView own = test::to_view(gradient);
      whole.step(gradient);
      std::vector<float> all_parts;
      for (std::size_t rank = 0; rank < owners.size(); ++rank) {
        for (const auto& part : parts[rank])
          part->prepare_update(exec, whole.scalars, parameters, own);
        ratios[rank]->combine(exec, whole.scalars, [&](const FloatView& all) {
          const std::vector<float> floats = test::to_vector(all);
          const auto count = static_cast<std::ptrdiff_t>(floats.size() / owners.size());
          const auto begin = floats.begin() + static_cast<std::ptrdiff_t>(rank) * count;
          all_parts.insert(all_parts.end(), begin, begin + count);
        });
      }
      for (std::size_t rank = 0; rank < owners.size(); ++rank) {
        ratios[rank]->combine(exec, whole.scalars,
                              [&](const FloatView& all) { test::overwrite(all, all_parts); });
        for (const auto& part : parts[rank]) part->update(exec, whole.scalars, parameters, own);
      }
      exec.fence("test: next step");
      ASSERT_EQ(test::to_vector(parameters), test::to_vector(whole.parameters))
          << golden.name << " " << t;
    }
  }
}

TEST(TrustedOptimizer, APartNeedsRatiosThatAllShare) {
  const ParameterTable table = odd_table();
  EXPECT_THROW(make_optimizer(kGolden[0].spec, table, {0, 4096, {}, {}}), std::exception);
}

// A tensor's norm is not known while its gradient is made.
TEST(TrustedOptimizer, DoesNotUpdatePieceByPiece) {
  const ParameterTable table = odd_table();
  for (const Golden& golden : kGolden) {
    const FloatView parameters("test::parameters", static_cast<std::size_t>(table.block_size()));
    EXPECT_FALSE(make_optimizer(golden.spec, table)
                     ->begin_update(ExecSpace(), StepScalarsView("test::scalars"), parameters));
  }
}

TEST(TrustedOptimizer, StateHasPyTorchsNames) {
  const auto names = [](const OptimizerSpec& spec) {
    const auto optimizer = make_optimizer(spec, odd_table());
    std::string joined;
    for (const OptimizerState& array : optimizer->state()) joined += array.name + " ";
    EXPECT_EQ(optimizer->state().size(), state_names(spec).size());
    return joined;
  };
  EXPECT_EQ(names(lars(0, false, 0)), "");
  EXPECT_EQ(names(lars(0.9, false, 0)), "momentum_buffer ");
  EXPECT_EQ(names(lamb(0.9, 0.999, 1e-6, 0)), "exp_avg exp_avg_sq ");
}

}  // namespace
}  // namespace quern
