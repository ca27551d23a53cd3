// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/seal.hpp"

#include <gtest/gtest.h>

#include "base/sha256.hpp"
#include "checkpoint_fixture.hpp"

namespace quern {
namespace {

using test::bytes_of;
using test::expect_error;
using test::put_bytes;
using test::TempDir;

class SealTest : public ::testing::Test {
 protected:
  SealTest() {
    put_bytes(path_, std::string(200000, 'a') + "TENSORone" + std::string(50, 'b') + "TENSORtwo");
    append_seal(path_, {{200059, 9}, {200000, 9}});
    sealed_ = bytes_of(path_);
  }

  TempDir folder_;
  std::filesystem::path path_ = folder_ / "file";
  std::string sealed_;
};

TEST_F(SealTest, IntactFilePasses) {
  EXPECT_TRUE(has_seal(path_));
  EXPECT_NO_THROW(check_seal(path_));
}

TEST_F(SealTest, EveryByteButThoseOfTheTensorsCounts) {
  for (std::size_t i = 0; i < sealed_.size(); i += i < 199990 ? 9973 : 1) {
    std::string changed = sealed_;
    changed[i] ^= 0x20;
    put_bytes(path_, changed);
    const bool in_tensor = (i >= 200000 && i < 200009) || (i >= 200059 && i < 200068);
    if (in_tensor) {
      EXPECT_NO_THROW(check_seal(path_)) << i;
    } else {
      EXPECT_THROW(check_seal(path_), Error) << i;
    }
  }
}

TEST_F(SealTest, EveryOtherLengthIsRefused) {
  for (std::size_t length = 0; length < sealed_.size(); length += length < 200000 ? 9973 : 1) {
    put_bytes(path_, sealed_.substr(0, length));
    EXPECT_THROW(check_seal(path_), Error) << length;
  }
  put_bytes(path_, sealed_ + "x");
  EXPECT_THROW(check_seal(path_), Error);
  put_bytes(path_, "x" + sealed_);
  EXPECT_THROW(check_seal(path_), Error);
}

/// A seal with a right digest of its own, whatever it says.
void forge(const std::filesystem::path& path, const std::string& json) {
  std::string length = std::to_string(json.size());
  length.insert(0, 16 - length.size(), '0');
  put_bytes(path, "content" + json + sha256(json) + length + "quern-seal-0001\n");
}

TEST_F(SealTest, ForgedSealsAreRefusedCleanly) {
  const std::string digest = sha256(std::string("content"));
  const auto json = [&](const std::string& bytes, const std::string& tensors) {
    return R"({"file_bytes":)" + bytes + R"(,"sha256":")" + digest + R"(","tensors":)" + tensors +
           "}";
  };
  forge(path_, json("7", "[]"));
  EXPECT_NO_THROW(check_seal(path_));
  for (const std::string& bad :
       {json("7", "[[0,99]]"), json("7", "[[-1,2]]"), json("7", "[[0,-5]]"), json("8", "[]"),
        json("7", "[[9223372036854775807,9223372036854775807]]"), json("7", "[[3,2],[0,1]]"),
        json("1e300", "[]"), json("7", "[[1]]"), json("7", "3"), json("\"7\"", "[]"),
        json("18446744073709551615", "[]"), std::string("{}"), std::string("["), std::string(),
        std::string(5000, '[')}) {
    forge(path_, bad);
    EXPECT_THROW(check_seal(path_), Error) << bad;
  }
}

}  // namespace
}  // namespace quern
