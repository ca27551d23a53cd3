// SPDX-License-Identifier: Apache-2.0
// docs/recipe-keys.md holds a reference that is made from the keys' declarations. When it is out of
// date, run this test with QUERN_UPDATE_DOCS=1.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "config/block_keys.hpp"
#include "config/layer_keys.hpp"
#include "config/recipe_keys.hpp"
#include "config/toml_text.hpp"
#include "support/source_folder.hpp"

namespace quern {
namespace {

const std::filesystem::path kDocument = test::source_folder() / "docs/recipe-keys.md";
const std::string kBegin = "<!-- begin of the key reference, made by key_reference_test -->\n";
const std::string kEnd = "<!-- end of the key reference -->\n";

template <class Target>
std::string describe_default(const Key<Target>& key) {
  if (key.is_required) return "required";
  if (!key.default_words.empty()) return key.default_words;
  const std::string value = key.write(Target{});
  return value.empty() ? "" : "`" + value + "`";
}

template <class Target>
std::string describe_row(const Key<Target>& key) {
  std::string meaning = key.meaning;
  if (!key.selector.empty()) {
    meaning += ". Only with `" + key.selector + " = " + list_choices(key.selecting_values) + "`";
  }
  return "| `" + key.path + "` | " + key.expected + " | " + describe_default(key) + " | " +
         meaning + " |\n";
}

template <class Target>
std::string describe_table(const std::vector<Key<Target>>& keys) {
  std::string text = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const Key<Target>& key : keys) text += describe_row(key);
  return text;
}

std::string make_reference() {
  return kBegin + "\n" + describe_table(recipe_keys()) +
         "\nKeys of an entry of `network.layers`:\n\n" + describe_table(layer_keys()) +
         "\nKeys of an entry that stands for several layers, a stage of residual blocks:\n\n" +
         describe_table(block_keys()) + "\n" + kEnd;
}

std::string read_document() {
  std::ifstream file(kDocument);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The part of the document between (and with) the marks.
std::string stated_reference(const std::string& document) {
  const std::size_t begin = document.find(kBegin);
  const std::size_t end = document.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos) return "";
  return document.substr(begin, end + kEnd.size() - begin);
}

TEST(KeyReference, DocumentAndCodeKnowTheSameKeys) {
  std::string document = read_document();
  const std::string stated = stated_reference(document);
  ASSERT_NE(stated, "") << kDocument << " lacks the marks of the reference";
  if (std::getenv("QUERN_UPDATE_DOCS") != nullptr) {
    document.replace(document.find(kBegin), stated.size(), make_reference());
    std::ofstream(kDocument) << document;
  }
  EXPECT_EQ(stated_reference(document), make_reference())
      << "run this test with QUERN_UPDATE_DOCS=1 and commit docs/recipe-keys.md";
}

TEST(KeyReference, EveryKeyIsExplained) {
  for (const auto& key : recipe_keys()) {
    EXPECT_FALSE(key.meaning.empty() || key.expected.empty()) << key.path;
    EXPECT_TRUE(key.read && key.write) << key.path;
  }
  for (const auto& key : layer_keys()) EXPECT_FALSE(key.meaning.empty()) << key.path;
}

}  // namespace
}  // namespace quern
