// SPDX-License-Identifier: Apache-2.0
#include "readers/npy_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "readers/checked_source.hpp"
#include "readers/npy_header.hpp"
#include "support/expect_error.hpp"
#include "support/npy_files.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

using test::Bytes;
using test::bytes_of;
using test::npy;
using testing::ElementsAre;

class NpyReaderTest : public testing::Test {
 protected:
  Array read(const Bytes& file) const {
    test::write_file(folder_ / "a.npy", file);
    ByteSource source(folder_ / "a.npy");
    return read_npy(stream_of(source));
  }
  void expect_bad(const Bytes& file, std::initializer_list<std::string> parts) const {
    test::expect_error([&] { read(file); }, ExitCode::bad_input, parts);
  }

  test::TempDir folder_;
};

std::vector<std::int64_t> integers(const Array& array) {
  return std::get<std::vector<std::int64_t>>(array.values);
}
std::vector<float> floats(const Array& array) {
  return std::get<std::vector<float>>(array.values);
}

template <class T>
Bytes swapped(const std::vector<T>& values) {
  Bytes bytes = bytes_of(values);
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + sizeof(T)));
  }
  return bytes;
}

TEST_F(NpyReaderTest, ReadsWhatBeginsAsItsHeaderSays) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{2}, {2, 1}, {1, 1, 1, 2}}) {
    const std::string start = start_of_npy({"<f4", false, shape});
    EXPECT_EQ(start.size() % 64, 0u);
    EXPECT_EQ(start.back(), '\n');
    Bytes file(start.begin(), start.end());
    const Bytes values = bytes_of<float>({1.5f, -2});
    file.insert(file.end(), values.begin(), values.end());
    const Array array = read(file);
    EXPECT_EQ(array.shape, shape);
    EXPECT_EQ(floats(array), (std::vector<float>{1.5f, -2}));
  }
}

TEST_F(NpyReaderTest, EveryTypeInBothByteOrders) {
  EXPECT_EQ(floats(read(npy("<f4", "(2,)", bytes_of<float>({1.5f, -2})))),
            (std::vector<float>{1.5f, -2}));
  EXPECT_EQ(floats(read(npy(">f4", "(2,)", swapped<float>({1.5f, -2})))),
            (std::vector<float>{1.5f, -2}));
  EXPECT_EQ(floats(read(npy("<f8", "(2,)", bytes_of<double>({0.1, -2})))),
            (std::vector<float>{0.1f, -2}));
  EXPECT_EQ(floats(read(npy(">f8", "(1,)", swapped<double>({0.1})))), (std::vector<float>{0.1f}));
  EXPECT_EQ(floats(read(npy("<f2", "(2,)", bytes_of<std::uint16_t>({0x3c00, 0xc100})))),
            (std::vector<float>{1, -2.5f}));
  EXPECT_THAT(integers(read(npy("<i2", "(2,)", bytes_of<std::int16_t>({-3, 300})))),
              ElementsAre(-3, 300));
  EXPECT_THAT(integers(read(npy(">u2", "(1,)", swapped<std::uint16_t>({65535})))),
              ElementsAre(65535));
  EXPECT_THAT(integers(read(npy("|i1", "(1,)", {0xff}))), ElementsAre(-1));
  EXPECT_THAT(integers(read(npy("<i4", "(1,)", bytes_of<std::int32_t>({-70000})))),
              ElementsAre(-70000));
  EXPECT_THAT(integers(read(npy("<u4", "(1,)", bytes_of<std::uint32_t>({4000000000u})))),
              ElementsAre(4000000000));
  EXPECT_THAT(integers(read(npy("<i8", "(1,)", bytes_of<std::int64_t>({-5})))), ElementsAre(-5));
  const Array bools = read(npy("|b1", "(3,)", {1, 0, 1}));
  EXPECT_EQ(bools.type, NumberType::integer) << "no pixels";
  EXPECT_THAT(integers(bools), ElementsAre(1, 0, 1));
  EXPECT_EQ(read(npy("<f2", "(1,)", {0, 0})).type, NumberType::float16);
}

TEST_F(NpyReaderTest, FortranOrderIsTurned) {
  const Array array = read(npy("|u1", "(2, 3, 2)", test::counting(12), true));
  EXPECT_THAT(array.shape, ElementsAre(2, 3, 2));
  // numpy.arange(12, dtype="u1").reshape((2, 3, 2), order="F").ravel()
  EXPECT_EQ(std::get<Bytes>(array.values), (Bytes{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}));
}

TEST_F(NpyReaderTest, VersionsAndPackedFiles) {
  const Bytes values = test::counting(6);
  for (const int major : {1, 2, 3}) {
    EXPECT_THAT(read(npy("|u1", "(2, 3)", values, false, major)).shape, ElementsAre(2, 3));
  }
  EXPECT_EQ(std::get<Bytes>(read(test::gzip(npy("|u1", "(2, 3)", values))).values), values);
  expect_bad(npy("|u1", "(2, 3)", values, false, 4), {"version 4.0", "1.0, 2.0 or 3.0"});
}

TEST_F(NpyReaderTest, WhatIsNoArrayOfNumbers) {
  const Bytes eight(8, 0);
  for (const char* descr : {"<c8", "|O", "<U2", "|S8", "|V8", "<f16", "<M8[s]", "<i3", "|i2", ""}) {
    expect_bad(npy(descr, "(1,)", eight), {"'" + std::string(descr) + "'", "expected"});
  }
  expect_bad(npy("<f4", "()", Bytes(4, 0)), {"a single number"});
  expect_bad(npy("<f4", "(0, 3)", {}), {"empty", "[0, 3]"});
  expect_bad(npy("<u8", "(1,)", Bytes(8, 0xff)), {"2^63"});
  Bytes text = {'h', 'e', 'l', 'l', 'o', ' ', 'w', 'o', 'r', 'l', 'd'};
  expect_bad(text, {"no .npy file"});
}

TEST_F(NpyReaderTest, SizesThatAreNotTrue) {
  expect_bad(npy("<f4", "(4, 3)", Bytes(47, 0)), {"truncated"});
  expect_bad(npy("<f4", "(4, 3)", Bytes(20, 0)), {"truncated"});
  expect_bad(npy("<f4", "(4, 3)", Bytes(49, 0)), {"trailing bytes"});
  expect_bad(npy("<f4", "(4000000000, 4000000000, 4000000000)", {}), {"truncated"});
  expect_bad(npy("<f4", "(99999999999999999999,)", {}), {"bad header"});
  expect_bad(npy("<f4", "(-1,)", {}), {"bad header"});
  // A header that a gzip file of this size could just hold, but does not.
  expect_bad(test::gzip(npy("|u1", "(60000,)", Bytes(4, 0))), {"truncated"});
}

TEST_F(NpyReaderTest, HeadersThatAreNoDictionaries) {
  const auto with_header = [](std::string header) {
    Bytes file = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    test::append_number(file, header.size(), 2);
    file.insert(file.end(), header.begin(), header.end());
    file.insert(file.end(), 4, 0);
    return file;
  };
  EXPECT_EQ(read(with_header("{\"shape\":(1),'fortran_order':True,'descr':'<f4'}  \n")).count(), 1);
  for (const char* header :
       {"", "{", "{}", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}"}) {
    expect_bad(with_header(header), {"bad header"});
  }
}

// In a plain file; of others what is left out has to be gone through.
TEST_F(NpyReaderTest, LeavesOutWhatIsNotChosen) {
  std::vector<float> values(600);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Bytes file = npy("<f4", "(200, 3)", bytes_of(values));
  const ChooseRange some = [](std::int64_t total) {
    EXPECT_EQ(total, 200);
    return SampleRange{50, 4};
  };
  for (const bool can_skip : {true, false}) {
    std::size_t at = 0;
    std::size_t num_read = 0;
    ByteStream stream{"'it'", file.size(), [&](std::span<std::uint8_t> bytes) {
                        const std::size_t count = std::min(bytes.size(), file.size() - at);
                        std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(at), count,
                                    bytes.begin());
                        at += count;
                        num_read += count;
                        return count;
                      }};
    if (can_skip) {
      stream.skip = [&](std::uint64_t count) {
        count = std::min<std::uint64_t>(count, file.size() - at);
        at += count;
        return count;
      };
    }
    const Array array = read_npy(stream, some);
    EXPECT_EQ(array.shape, (std::vector<std::int64_t>{4, 3}));
    EXPECT_EQ(floats(array), std::vector<float>(values.begin() + 150, values.begin() + 162));
    EXPECT_EQ(num_read, can_skip ? file.size() - 600 * 4 + 12 * 4 : file.size());
  }
}

// Where the numbers of a sample are apart. None: of a process that has no samples.
TEST_F(NpyReaderTest, LeavesOutWhatIsNotChosenInFortranOrder) {
  std::vector<float> columns;
  for (int column = 0; column < 3; ++column)
    for (int row = 0; row < 200; ++row) columns.push_back(static_cast<float>(3 * row + column));
  const Bytes file = npy("<f4", "(200, 3)", bytes_of(columns), true);
  for (const SampleRange& range : {SampleRange{0, 200}, {50, 4}, {199, 1}, {7, 0}}) {
    std::size_t at = 0;
    const ByteStream stream{"'it'", file.size(), [&](std::span<std::uint8_t> bytes) {
                              const std::size_t count = std::min(bytes.size(), file.size() - at);
                              std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(at), count,
                                          bytes.begin());
                              at += count;
                              return count;
                            }};
    const Array array = read_npy(stream, [&](std::int64_t) { return range; });
    EXPECT_EQ(array.shape, (std::vector<std::int64_t>{range.count, 3}));
    std::vector<float> expected;
    for (std::int64_t i = 3 * range.first; i < 3 * (range.first + range.count); ++i)
      expected.push_back(static_cast<float>(i));
    EXPECT_EQ(floats(array), expected) << range.first;
    EXPECT_EQ(at, file.size()) << range.first;
  }
}

TEST_F(NpyReaderTest, SkipsInAFile) {
  const Bytes content(std::size_t{3} << 20, 7);
  test::write_file(folder_ / "long", content);
  for (const std::uint64_t before : {std::uint64_t{0}, std::uint64_t{10}}) {
    ByteSource source(folder_ / "long");
    std::vector<std::uint8_t> some(before);
    EXPECT_EQ(source.read(some), before);
    const std::uint64_t most = content.size() - before;
    EXPECT_EQ(source.skip(most - 100), most - 100);
    EXPECT_EQ(source.skip(50), 50u);
    EXPECT_EQ(source.skip(1000), 50u) << "all that there is";
    std::vector<std::uint8_t> beyond(1);
    EXPECT_EQ(source.read(beyond), 0u);
  }
}

}  // namespace
}  // namespace quern
