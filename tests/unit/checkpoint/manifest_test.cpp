// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/manifest.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace quern {
namespace {

TEST(Manifest, SurvivesTheRoundTrip) {
  const Manifest manifest{{{"/model/fc1/weight", {128, 784}, "ab"}, {"/model/scale", {}, "cd"}},
                          "ef"};
  EXPECT_EQ(parse_manifest(manifest_json(manifest)), manifest);
}

TEST(Manifest, BadTextIsRefusedWithTheReason) {
  const std::string entry = R"({"path":"/model/w","shape":[2],"type":"float32","sha256":"x"})";
  const auto with = [](const std::string& datasets) {
    return R"({"train_sha256":"t","datasets":)" + datasets + "}";
  };
  EXPECT_EQ(parse_manifest(with("[" + entry + "]")).datasets.size(), 1u);
  const std::pair<std::string, std::string> cases[] = {
      {"", "not JSON"},
      {"[1]", "train_sha256"},
      {R"({"train_sha256":1})", "no text"},
      {R"({"train_sha256":"t"})", "datasets"},
      {with("7"), "no list"},
      {with("[7]"), "path"},
      {with("[" + entry + "," + entry + "]"), "twice"},
      {with(R"([{"path":"/w","shape":[-1],"type":"float32","sha256":"x"}])"), "shape"},
      {with(R"([{"path":"/w","shape":[1.5],"type":"float32","sha256":"x"}])"), "shape"},
      {with(R"([{"path":"/w","shape":[18446744073709551615],"type":"float32","sha256":"x"}])"),
       "shape"},
      {with(R"([{"path":"/w","shape":3,"type":"float32","sha256":"x"}])"), "shape"},
      {with(R"([{"path":"/w","shape":[3],"type":"float64","sha256":"x"}])"), "float64"},
      {std::string(100000, '['), "not JSON"},
  };
  for (const auto& [text, reason] : cases) {
    // C++20 as Clang before 16 has it: a lambda captures no structured binding by name.
    const std::string& given = text;
    test::expect_error([&] { parse_manifest(given); }, ExitCode::failure, {reason});
  }
}

}  // namespace
}  // namespace quern
