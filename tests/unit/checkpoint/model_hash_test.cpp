// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/model_hash.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint_fixture.hpp"

namespace quern {
namespace {

// python3 -c 'import hashlib,struct; h=hashlib.sha256(); q=struct.pack;
// h.update(b"fc1.bias\0"+q("<qq",1,2)+q("<2f",0.5,-0.0));
// h.update(b"fc1.weight\0"+q("<qqq",2,2,1)+q("<2f",1,2)); print(h.hexdigest())'
TEST(ModelHash, KnownAnswer) {
  const std::vector<float> weight = {1, 2};
  const std::vector<float> bias = {0.5f, -0.0f};
  const std::vector<NamedTensor> model = {{"fc1.weight", {2, 1}, weight}, {"fc1.bias", {2}, bias}};
  EXPECT_EQ(model_hash(model), "63aa24e03f9294d7227520d5ed0bfc397aebd1b72132cc1dcd0cfe93440b862b");
}

TEST(ModelHash, OrderDoesNotCountButNamesShapesAndBitsDo) {
  test::SampleRun run;
  std::vector<NamedTensor>& model = run.state().model;
  const std::string hash = model_hash(model);

  std::reverse(model.begin(), model.end());
  EXPECT_EQ(model_hash(model), hash);
  std::reverse(model.begin(), model.end());
  model[0].shape = {6, 4};
  EXPECT_NE(model_hash(model), hash);
  model[0].shape = {4, 6};
  model[0].name = "fc2.weight";
  EXPECT_NE(model_hash(model), hash);
  model[0].name = "fc1.weight";
  EXPECT_EQ(model_hash(model), hash);
  run.weight()[1] = 0.0f;  // was -0
  EXPECT_NE(model_hash(model), hash);
}

}  // namespace
}  // namespace quern
