// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/dataset_path.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace quern {
namespace {

TEST(DatasetPath, FollowsPyTorchNames) {
  EXPECT_EQ(model_dataset_path("fc1.weight"), "/model/fc1/weight");
  EXPECT_EQ(model_dataset_path("stage1.conv.bias"), "/model/stage1/conv/bias");
  EXPECT_EQ(optimizer_dataset_path("exp_avg", "fc1.weight"), "/optimizer/exp_avg/fc1/weight");
}

TEST(DatasetPath, GoesBackToTheName) {
  const auto model = owner_of_dataset("/model/stage1/conv/bias");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->state_array, "");
  EXPECT_EQ(model->tensor, "stage1.conv.bias");
  const auto state = owner_of_dataset("/optimizer/exp_avg/fc1/weight");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->state_array, "exp_avg");
  EXPECT_EQ(state->tensor, "fc1.weight");
}

TEST(DatasetPath, OtherPathsBelongToNobody) {
  for (const char* path :
       {"", "/", "/model", "/model/", "/model//weight", "/model/a.b/weight", "/optimizer/exp_avg",
        "/optimizer//fc1/weight", "/train/fc1", "model/fc1/weight", "/optimizer/exp_avg/"}) {
    EXPECT_FALSE(owner_of_dataset(path)) << path;
  }
}

TEST(DatasetPath, ImpossibleNamesAreRefused) {
  for (const char* name : {"", ".", "fc1.", ".weight", "fc1..weight", "fc1/weight"}) {
    test::expect_error([&] { model_dataset_path(name); }, ExitCode::bad_input, {name});
  }
  test::expect_error([] { optimizer_dataset_path("a/b", "w"); }, ExitCode::failure, {"a/b"});
  test::expect_error([] { optimizer_dataset_path("", "w"); }, ExitCode::failure, {});
}

TEST(DatasetPath, NoNameIsTheBeginningOfAnother) {
  EXPECT_NO_THROW(check_tensor_names({}));
  EXPECT_NO_THROW(check_tensor_names({"p.w", "p.w-x", "p.wx", "p.b", "p2.w"}));
  test::expect_error(
      [] {
        check_tensor_names({"p.w", "p.w-x", "p.w.x"});
      },
      ExitCode::bad_input, {"a tensor 'p.w' and one of its parts, 'p.w.x'"});
  test::expect_error(
      [] {
        check_tensor_names({"p.w.x.y", "q", "p"});
      },
      ExitCode::bad_input, {"a tensor 'p' and one of its parts, 'p.w.x.y'"});
  test::expect_error([] { check_tensor_names({"p.w", "p..b"}); }, ExitCode::bad_input, {"'p..b'"});
}

}  // namespace
}  // namespace quern
