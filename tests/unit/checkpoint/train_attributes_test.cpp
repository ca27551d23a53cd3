// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/train_attributes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "checkpoint_fixture.hpp"

namespace quern {
namespace {

TEST(TrainAttributes, GoBackIntoTheState) {
  test::SampleRun run;
  CheckpointState copy;
  set_train_attributes(train_attributes(run.state()), copy);
  EXPECT_EQ(copy.progress, run.state().progress);
  EXPECT_EQ(copy.origin, run.state().origin);
}

TEST(TrainAttributes, NamesAreUnique) {
  std::set<std::string> names;
  const auto attributes = train_attributes({});
  for (const TrainAttribute& attribute : attributes) names.insert(attribute.name);
  EXPECT_EQ(names.size(), attributes.size());
}

TEST(TrainAttributes, DigestSeesEveryAttribute) {
  test::SampleRun run;
  const auto attributes = train_attributes(run.state());
  std::set<std::string> digests = {train_attributes_sha256(attributes)};
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    auto changed = attributes;
    std::visit([](auto& value) { value = std::decay_t<decltype(value)>(); }, changed[i].value);
    digests.insert(train_attributes_sha256(changed));
  }
  EXPECT_EQ(digests.size(), attributes.size() + 1);
}

TEST(TrainAttributes, ValuesAreComparedByTheirBits) {
  EXPECT_TRUE(same_value(std::nan(""), std::nan("")));
  EXPECT_FALSE(same_value(0.0, -0.0));
  EXPECT_FALSE(same_value(std::int64_t{1}, std::uint64_t{1}));
  EXPECT_TRUE(same_value(std::string("a"), std::string("a")));
}

TEST(TrainAttributes, TextShowsAllDigits) {
  EXPECT_EQ(value_text(0.1), "0.1");
  EXPECT_EQ(value_text(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(value_text(std::uint64_t{0xffffffffffffffffu}), "18446744073709551615");
}

TEST(TrainAttributes, ExportedTextsTellTheClassesAndTheInputWhereTheyAreKnown) {
  CheckpointState state;
  state.progress.step = 7;
  auto texts = exported_texts(state);
  EXPECT_EQ(texts.size(), train_attributes(state).size());
  EXPECT_EQ(texts.front(), std::pair(std::string("step"), std::string("7")));
  state.class_names = {"bird", "cat"};
  state.input = "images";
  texts = exported_texts(state);
  ASSERT_EQ(texts.size(), train_attributes(state).size() + 2);
  EXPECT_EQ(texts.rbegin()[1], std::pair(std::string("class_names"), std::string("bird\ncat")));
  EXPECT_EQ(texts.rbegin()[0], std::pair(std::string("input"), std::string("images")));
}

}  // namespace
}  // namespace quern
