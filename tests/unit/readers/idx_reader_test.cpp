// SPDX-License-Identifier: Apache-2.0
#include "readers/idx_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "base/sha256.hpp"
#include "support/expect_error.hpp"
#include "support/idx_files.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

using test::Bytes;
using test::counting;
using test::gzip;
using test::idx;

class IdxReaderTest : public testing::Test {
 protected:
  std::filesystem::path path() const { return folder_ / "file.idx"; }

  void expect_bad_images(const Bytes& file, std::initializer_list<std::string> parts) {
    test::write_file(path(), file);
    test::expect_error([&] { read_idx_images(path()); }, ExitCode::bad_input, parts);
  }

  test::TempDir folder_;
};

TEST_F(IdxReaderTest, ImagesOfOneChannel) {
  const Bytes pixels = counting(2 * 3 * 5);
  test::write_file(path(), idx({2, 3, 5}, pixels));
  const IdxImages images = read_idx_images(path());
  EXPECT_EQ(images.count, 2);
  EXPECT_EQ(images.shape, (Shape{1, 3, 5}));
  EXPECT_EQ(images.pixels, pixels);
  EXPECT_EQ(images.sha256, Sha256Match::not_asked);
}

TEST_F(IdxReaderTest, PackedImagesOfSeveralChannels) {
  const Bytes pixels = counting(2 * 3 * 4 * 5);
  test::write_file(path(), gzip(idx({2, 3, 4, 5}, pixels)));
  const IdxImages images = read_idx_images(path());
  EXPECT_EQ(images.count, 2);
  EXPECT_EQ(images.shape, (Shape{3, 4, 5}));
  EXPECT_EQ(images.pixels, pixels);
}

// Larger than any buffer of the reader, and packed in two parts.
TEST_F(IdxReaderTest, LargeFilesInSeveralGzipMembers) {
  const Bytes pixels = counting(30 * 1000 * 1000, 253);
  const Bytes whole = idx({30, 1000, 1000}, pixels);
  Bytes packed = gzip(Bytes(whole.begin(), whole.begin() + 20000001));
  const Bytes rest = gzip(Bytes(whole.begin() + 20000001, whole.end()));
  packed.insert(packed.end(), rest.begin(), rest.end());
  test::write_file(path(), packed);
  EXPECT_TRUE(read_idx_images(path()).pixels == pixels);
  test::write_file(path(), whole);
  EXPECT_TRUE(read_idx_images(path()).pixels == pixels);
}

TEST_F(IdxReaderTest, Labels) {
  test::write_file(path(), idx({4}, {3, 1, 255, 0}));
  EXPECT_EQ(read_idx_labels(path()).labels, (Bytes{3, 1, 255, 0}));
}

TEST_F(IdxReaderTest, Sha256OfFileOrContent) {
  const Bytes content = idx({1, 1, 1}, {7});
  const Bytes packed = gzip(content);
  std::string of_content = sha256(std::as_bytes(std::span(content)));
  test::write_file(path(), packed);
  EXPECT_EQ(read_idx_images(path(), sha256_of_file(path())).sha256, Sha256Match::file);
  EXPECT_EQ(read_idx_images(path(), of_content).sha256, Sha256Match::content);
  std::transform(of_content.begin(), of_content.end(), of_content.begin(), ::toupper);
  EXPECT_EQ(read_idx_images(path(), of_content).sha256, Sha256Match::content);
  test::expect_error([&] { read_idx_images(path(), std::string(64, '0')); }, ExitCode::bad_input,
                     {"file.idx", "SHA-256", sha256_of_file(path()), "expected 0000"});
  test::expect_error([&] { read_idx_images(path(), "abc"); }, ExitCode::bad_input,
                     {"'abc' is not a SHA-256", "64"});
}

TEST_F(IdxReaderTest, MissingOrUnreadable) {
  test::expect_error([&] { read_idx_images(path()); }, ExitCode::bad_input,
                     {"no file", "file.idx"});
  test::expect_error([&] { read_idx_images(folder_.path()); }, ExitCode::bad_input,
                     {"is not a file"});
}

TEST_F(IdxReaderTest, WrongMagic) {
  expect_bad_images({}, {"file.idx", "too short"});
  expect_bad_images({0, 0, 8}, {"too short"});
  expect_bad_images(idx({4}, {0, 1, 2, 3}), {"00000801", "expected 00000803"});
  Bytes floats = idx({1, 1, 1}, {0, 0, 0, 0});
  floats[2] = 0x0d;
  expect_bad_images(floats, {"00000d03", "expected 00000803"});
  expect_bad_images({'P', 'N', 'G', 3, 0, 0}, {"504e4703"});
  test::write_file(path(), idx({1, 1, 1}, {7}));
  test::expect_error([&] { read_idx_labels(path()); }, ExitCode::bad_input,
                     {"00000803", "expected 00000801"});
}

TEST_F(IdxReaderTest, TruncatedOrTooLong) {
  Bytes file = idx({2, 2, 2}, counting(8));
  file.pop_back();
  expect_bad_images(file, {"truncated", "[2, 2, 2]"});
  expect_bad_images(gzip(file), {"truncated", "within its 8 bytes of values"});
  expect_bad_images(Bytes(file.begin(), file.begin() + 9), {"truncated in the IDX header"});
  file = idx({2, 2, 2}, counting(9));
  expect_bad_images(file, {"trailing bytes after its 8 bytes of values"});
  expect_bad_images(gzip(file), {"trailing bytes after its 8 bytes of values"});
}

TEST_F(IdxReaderTest, HostileExtents) {
  expect_bad_images(idx({0xffffffff, 0xffffffff, 0xffffffff}, {1}), {"4294967295", "truncated"});
  expect_bad_images(idx({0xffffffff, 0xffffffff, 0xffffffff, 2}, {1}), {"truncated"});
  // 2^32 * 2^32 is 0 in 64 bits.
  expect_bad_images(idx({0x80000000, 0x80000000, 4}, {1}), {"truncated"});
  expect_bad_images(gzip(idx({60000, 60000, 60000}, {1})), {"truncated"});
  expect_bad_images(idx({0, 28, 28}, {}), {"empty", "[0, 28, 28]"});
  expect_bad_images(idx({3, 28, 0}, {}), {"empty"});
}

TEST_F(IdxReaderTest, DamagedGzip) {
  const Bytes packed = gzip(idx({10, 10, 10}, counting(1000)));
  expect_bad_images(Bytes(packed.begin(), packed.end() - 5), {"truncated", "gzip"});
  expect_bad_images(Bytes(packed.begin(), packed.begin() + 2), {"truncated", "gzip"});
  Bytes damaged = packed;
  damaged[damaged.size() - 6] ^= 1;  // in the CRC
  expect_bad_images(damaged, {"damaged", "incorrect data check"});
  damaged = packed;
  damaged.push_back('x');
  expect_bad_images(damaged, {"trailing bytes after its gzip data"});
}

}  // namespace
}  // namespace quern
