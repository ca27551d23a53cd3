// SPDX-License-Identifier: Apache-2.0
#include "bench/label_filter.hpp"

#include "support/expect_error.hpp"

namespace quern {
namespace {

TEST(LabelFilter, FindsWhatTheExpressionSays) {
  const LabelFilter filter("^fc[12] .*forward|adam$");
  EXPECT_TRUE(filter.finds("fc1 quern::layers::linear_forward"));
  EXPECT_TRUE(filter.finds(" quern::optim::adam"));
  EXPECT_FALSE(filter.finds("fc3 quern::layers::linear_forward"));
  EXPECT_FALSE(filter.finds(" quern::optim::adam_factors"));
}

TEST(LabelFilter, FindsAKernelAsTablesShowIt) {
  const char* label = "quern::layers::linear_forward";
  EXPECT_EQ(shown_label(label), "layers::linear_forward");
  EXPECT_EQ(shown_label("own"), "own");
  for (const char* expression : {"^fc1 layers::linear", "^fc1 quern::layers::linear", "forward$"}) {
    EXPECT_TRUE(LabelFilter(expression).finds_kernel("fc1", label)) << expression;
    EXPECT_FALSE(LabelFilter(expression).finds_kernel("fc2", "quern::optim::adam")) << expression;
  }
}

TEST(LabelFilter, FindsEverythingWhenEmpty) {
  EXPECT_TRUE(LabelFilter("").finds(""));
  EXPECT_TRUE(LabelFilter("").finds("anything"));
}

TEST(LabelFilter, RefusesWhatIsNoExpression) {
  for (const char* expression : {"((", "[a", "a**{"}) {
    test::expect_error([&] { LabelFilter filter(expression); }, ExitCode::bad_input,
                       {"--filter", expression});
  }
}

}  // namespace
}  // namespace quern
