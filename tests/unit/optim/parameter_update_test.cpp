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

/// Weights, that decay, and biases, that do not where decay is of weights. The last learn slowly.
ParameterTable weights_and_biases() {
  ParameterTable table;
  table.add("a", {3001}, 1, ParameterKind::weight);
  table.add("b", {40}, 1, ParameterKind::bias);
  table.add("c", {2000}, 1, ParameterKind::weight);
  table.set_lr_factor(2, 0.3f);
  return table;
}

class Side {
 public:
  explicit Side(const OptimizerSpec& spec, const OptimizerPart& part = {})
      : optimizer_(make_optimizer(spec, table_, part)),
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
          update.updater->update_pieces(at, last, gradient.data() + at);
        }
      }
      end = begin;
    }
    end_step();
  }

  /// Of [begin, end), in pieces that may lie in two tensors.
  void step_in_pieces(const std::vector<float>& gradient, std::int64_t begin, std::int64_t end) {
    Kokkos::deep_copy(scalars_, values_);
    const ParameterUpdate update = optimizer_->begin_update(exec_, scalars_, parameters_);
    ASSERT_TRUE(update);
    ASSERT_EQ(update.parameters, parameters_.data());
    exec_.fence("test: begin_update");
    for (std::int64_t at = begin; at < end; at += 96)
      update.updater->update_pieces(at, std::min(at + 96, end), gradient.data() + at);
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

// A rank that updates a part of the block hands over pieces of that part.
TEST(ParameterUpdate, OfAPartHasTheBitsOfThatPart) {
  constexpr std::int64_t kBegin = 1600;
  constexpr std::int64_t kEnd = 3200;
  for (const Case& c : kCases) {
    for (const bool weights_only : {false, true}) {
      SCOPED_TRACE(std::string(c.name) + (weights_only ? ", decay of weights" : ""));
      OptimizerSpec spec = c.spec;
      if (weights_only) spec.decay = DecayScope::weights;
      Side whole(spec);
      Side part(spec, {kBegin, kEnd, {}});
      const auto gradient = test::random_values(whole.size(), 7);
      const auto before = part.all().at(0);
      for (int t = 0; t < 2; ++t) {
        whole.step(gradient);
        part.step_in_pieces(gradient, kBegin, kEnd);
      }
      const auto expected = whole.all();
      const auto actual = part.all();
      for (std::size_t i = 0; i < before.size(); ++i) {
        const bool is_own = i >= kBegin && i < kEnd;
        ASSERT_EQ(actual.at(0)[i], is_own ? expected.at(0)[i] : before[i]) << i;
      }
      for (std::size_t a = 1; a < actual.size(); ++a) {
        ASSERT_EQ(actual[a],
                  std::vector<float>(expected[a].begin() + kBegin, expected[a].begin() + kEnd));
      }
    }
  }
}

}  // namespace
}  // namespace quern
