// SPDX-License-Identifier: Apache-2.0
// Event files against published values and a reader of their format.
#include "app/monitor/event_file.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "support/temp_dir.hpp"
#include "unit/app/monitor_files.hpp"

namespace quern::test {

namespace {

template <class T>
T number_at(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

/// The contents of the records; an error ends the list.
std::vector<std::string> records_of(std::string_view file) {
  std::vector<std::string> records;
  while (file.size() >= 16) {
    const auto length = number_at<std::uint64_t>(file);
    records.emplace_back(file.substr(12, length));
    EXPECT_EQ(file.substr(0, 16 + length), tf_record(records.back()));
    file.remove_prefix(16 + length);
  }
  EXPECT_TRUE(file.empty());
  return records;
}

}  // namespace

// RFC 3720, appendix B.4, and the check value of the catalogue of CRC algorithms.
TEST(EventFile, Crc32c) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

// By the wire format of protobuf.
TEST(EventFile, RecordsAndScalars) {
  // The checksums are those of TensorBoard 2.21's own masked_crc32c().
  EXPECT_EQ(tf_record("abc"), std::string("\x03\0\0\0\0\0\0\0"  // length
                                          "\xb0\x99\x49\x0e"
                                          "abc"
                                          "\x6e\x57\xf1\x21",
                                          8 + 4 + 3 + 4));
  const std::string event = records_of(scalar_event(1.0, 300, {{"a", 0.5f}})).at(0);
  EXPECT_EQ(event, std::string("\x09\0\0\0\0\0\0\xf0\x3f"  // wall_time = 1.0
                               "\x10\xac\x02"              // step = 300
                               "\x2a\x0a"                  // summary
                               "\x0a\x08\x0a\x01"          // value, tag
                               "a\x15\0\0\0\x3f",          // simple_value = 0.5
                               9 + 3 + 2 + 4 + 6));
}

TEST(EventFile, SaysWhatMetricsSay) {
  const TempDir dir;
  write_run(dir / "run", std::string(kMetrics) + kManyRanks);
  const auto records = records_of(event_file(read_run_log(dir / "run")));
  ASSERT_EQ(records.size(), 6u);
  EXPECT_NE(records[0].find("brain.Event:2"), std::string::npos);
  EXPECT_EQ(number_at<double>(std::string_view(records[1]).substr(1)), 1001.0);
  for (const char* tag : {"loss/batch", "accuracy/batch", "learning_rate", "samples_per_s"})
    EXPECT_NE(records[1].find(tag), std::string::npos) << tag;
  EXPECT_NE(records[3].find("seconds_of_an_epoch/waiting"), std::string::npos);
  EXPECT_NE(records[4].find("loss/test"), std::string::npos);
  EXPECT_EQ(records[4].find("learning_rate"), std::string::npos);
  EXPECT_NE(records[5].find("seconds_of_an_epoch/waiting"), std::string::npos);
  EXPECT_EQ(records[5].find("seconds_of_an_epoch/work"), std::string::npos);
}

}  // namespace quern::test
