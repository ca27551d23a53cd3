// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/system_failure.hpp"

namespace quern {
namespace {

// Both ways of compressing a block; the second only where the processor has the instructions.
class Sha256Test : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "instructions") blocks_ = sha256_blocks_of_processor();
    if (!blocks_) GTEST_SKIP() << "this processor has no SHA-256 instructions";
  }
  std::string hash_of(const std::string& text) const {
    return Sha256(blocks_).update(text).hex_digest();
  }

  Sha256Blocks blocks_ = sha256_blocks_portable;
};

INSTANTIATE_TEST_SUITE_P(Blocks, Sha256Test, testing::Values("portable", "instructions"),
                         [](const auto& way) { return std::string(way.param); });

// Vectors of FIPS 180-4 (NIST's examples).
TEST_P(Sha256Test, KnownAnswers) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                    "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hash_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Every length around the ends of blocks. Expected, by Python's hashlib:
//   data = bytes(i * i // 7 % 256 for i in range(1100))
//   sha(''.join(sha(data[n % 7:n % 7 + n]).hexdigest() for n in range(261)).encode()).hexdigest()
TEST_P(Sha256Test, OddLengthsAndPlacesInMemory) {
  std::string data;
  for (int i = 0; i < 1100; ++i) data += static_cast<char>(i * i / 7 % 256);
  std::string digests;
  for (std::size_t n = 0; n <= 260; ++n) {
    const auto part = std::as_bytes(std::span(data)).subspan(n % 7, n);
    digests += Sha256(blocks_).update(part).hex_digest();
  }
  EXPECT_EQ(hash_of(digests), "6281966aed839737259e5d89c01ec3bb1fa785bf0cc6b0ad7c484fd4ea25d1de");
}

TEST_P(Sha256Test, PiecesGiveTheSameDigestAsTheWhole) {
  std::string text(1000, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i);
  const std::string whole = hash_of(text);
  for (const std::size_t piece : {1u, 3u, 55u, 56u, 63u, 64u, 65u, 127u, 128u, 129u, 999u}) {
    Sha256 hash(blocks_);
    for (std::size_t at = 0; at < text.size(); at += piece) {
      hash.update(text.substr(at, piece)).update(std::string());
    }
    EXPECT_EQ(hash.hex_digest(), whole) << piece;
  }
}

TEST(Sha256, FilesThatCannotBeRead) {
  EXPECT_THROW(sha256_of_file("/nowhere"), InputError);
  EXPECT_THROW(sha256_of_file("/"), InputError) << "a folder has no bytes";
  EXPECT_THROW(sha256_of_file("/proc/self/mem"), SystemFailure);  // EIO
}

TEST(Sha256, TheProcessorsInstructionsAreTakenWhereThereAreAny) {
  const Sha256Blocks instructions = sha256_blocks_of_processor();
  EXPECT_EQ(fastest_sha256_blocks(), instructions ? instructions : sha256_blocks_portable);
  // Linux knows the processor by another way.
  std::ifstream info("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(info), {}};
#if defined(__x86_64__)
  EXPECT_EQ(instructions != nullptr, text.find(" sha_ni") != std::string::npos);
#endif
}

}  // namespace
}  // namespace quern
