// SPDX-License-Identifier: Apache-2.0
// Updates piece by piece have the bits of updates of the whole block.
#include "tensor/parameter_update.hpp"

#include <gtest/gtest.h>

#include "optim/optimizer.hpp"
#include "support/random_values.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

OptimizerSpec sgd(double momentum, bool nesterov) {
  OptimizerSpec spec;
  spec.momentum = momentum;
  spec.nesterov = nesterov;
  spec.weight_decay = 0.01;
  return spec;
}

OptimizerSpec adam(OptimizerType type, double weight_decay) {
  OptimizerSpec spec;
  spec.type = type;
  spec.weight_decay = weight_decay;
  return spec;
}

struct Case {
  const char* name;
  OptimizerSpec spec;
};
const Case kCases[] = {
    {"sgd", sgd(0, false)},
    {"momentum", sgd(0.9, false)},
    {"nesterov", sgd(0.9, true)},
    {"adam", adam(OptimizerType::adam, 0)},
    {"adam with decay", adam(OptimizerType::adam, 0.1)},
    {"adamw with decay", adam(OptimizerType::adamw, 0.1)},
};

/// Weights, that decay, and biases, that do not where decay is of weights.
ParameterTable weights_and_biases() {
  ParameterTable table;
  table.add("a", {3001}, 1, ParameterKind::weight);
  table.add("b", {40}, 1, ParameterKind::bias);
  table.add("c", {2000}, 1, ParameterKind::weight);
  return table;
}

class Side {
 public:
  explicit Side(const OptimizerSpec& spec)
      : optimizer_(make_optimizer(spec, table_)),
        parameters_(test::to_view(test::random_values(size(), 1))),
        scalars_("test::scalars") {
    values_.gradient_scale = 0.25f;
    values_.learning_rate = 0.1f;
  }

  std::size_t size() const { return static_cast<std::size_t>(table_.trained_size()); }
  StepScalars& values() { return values_; }

  void step(const std::vector<float>& gradient) {
    Kokkos::deep_copy(scalars_, values_);
    optimizer_->update(exec_, scalars_, parameters_, test::to_view(gradient));
    end_step();
  }

  /// From the end to the beginning, in pieces of one tensor each, some by update_piece().
  void step_in_pieces(const std::vector<float>& gradient) {
    Kokkos::deep_copy(scalars_, values_);
    const ParameterUpdate update = optimizer_->begin_update(exec_, scalars_, parameters_);
    ASSERT_TRUE(update);
    exec_.fence("test: begin_update");
    const auto& entries = table_.entries();
    auto end = table_.trained_size();
    for (std::size_t e = entries.size(); e-- > 0;) {
      const std::int64_t begin = entries[e].offset;
      if (e == 2) {
        update_piece(exec_, update, begin, end, test::to_view(gradient));
        exec_.fence("test: update_piece");
      } else {
        for (std::int64_t at = begin; at < end; at += 48) {
          const std::int64_t last = std::min(at + 48, end);
          update.run(update.optimizer, at, last, gradient.data() + at);
        }
      }
      end = begin;
    }
    end_step();
  }

  std::vector<std::vector<float>> all() const {
    std::vector<std::vector<float>> arrays = {test::to_vector(parameters_)};
    for (const OptimizerState& state : optimizer_->state())
      arrays.push_back(test::to_vector(state.values));
    return arrays;
  }

 private:
  void end_step() {
    exec_.fence("test: next step");
    ++values_.step;
  }

  ExecSpace exec_;
  ParameterTable table_ = weights_and_biases();
  std::unique_ptr<Optimizer> optimizer_;
  FloatView parameters_;
  StepScalarsView scalars_;
  StepScalars values_;
};

void expect_same(const OptimizerSpec& spec) {
  Side whole(spec);
  Side pieces(spec);
  for (int t = 0; t < 3; ++t) {
    const auto gradient = test::random_values(whole.size(), static_cast<std::uint64_t>(t + 2));
    whole.step(gradient);
    pieces.step_in_pieces(gradient);
    ASSERT_EQ(whole.all(), pieces.all()) << "step " << t;
  }
  EXPECT_NE(whole.all().at(0), Side(spec).all().at(0));
}

TEST(ParameterUpdate, HasTheBitsOfAnUpdateOfTheWholeBlock) {
  for (const Case& c : kCases) {
    for (const bool weights_only : {false, true}) {
      SCOPED_TRACE(std::string(c.name) + (weights_only ? ", decay of weights" : ""));
      OptimizerSpec spec = c.spec;
      if (weights_only) spec.decay = DecayScope::weights;
      expect_same(spec);
    }
  }
}

TEST(ParameterUpdate, ChangesNothingOnceALossWasNotFinite) {
  for (const Case& c : kCases) {
    Side side(c.spec);
    side.values().apply_updates = false;
    side.step_in_pieces(std::vector<float>(side.size(), 1));
    EXPECT_EQ(side.all(), Side(c.spec).all()) << c.name;
  }
}

TEST(ParameterUpdate, IsNoneForAnOptimizerOfAPart) {
  for (const Case& c : kCases) {
    const ParameterTable table = weights_and_biases();
    const auto optimizer = make_optimizer(c.spec, table, {0, 1600, {}});
    const FloatView parameters("test::parameters", static_cast<std::size_t>(table.trained_size()));
    EXPECT_FALSE(optimizer->begin_update(ExecSpace(), StepScalarsView("test::scalars"), parameters))
        << c.name;
  }
}

}  // namespace
}  // namespace quern
