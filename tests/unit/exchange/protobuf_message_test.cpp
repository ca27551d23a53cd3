// SPDX-License-Identifier: Apache-2.0
// The bytes of the examples in https://protobuf.dev/programming-guides/encoding
#include "exchange/protobuf_message.hpp"

#include <gtest/gtest.h>

namespace quern {
namespace {

using namespace std::string_literals;

TEST(ProtobufMessage, NumbersAreVarints) {
  ProtobufMessage message;
  message.add_int(1, 150);
  EXPECT_EQ(message.bytes(), "\x08\x96\x01");
  message.add_int(16, 0);
  EXPECT_EQ(message.bytes(), "\x08\x96\x01\x80\x01\x00"s);
}

TEST(ProtobufMessage, NegativeNumbersTakeTenBytes) {
  ProtobufMessage message;
  message.add_int(1, -2);
  EXPECT_EQ(message.bytes(), "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(ProtobufMessage, TextAndMessagesHaveTheirLength) {
  ProtobufMessage inner;
  inner.add_int(1, 150);
  ProtobufMessage message;
  message.add_bytes(2, "testing");
  message.add_message(3, inner);
  message.add_bytes(4, "");
  EXPECT_EQ(message.bytes(), "\x12\x07testing\x1a\x03\x08\x96\x01\x22\x00"s);
  ProtobufMessage large;
  large.add_bytes(1, std::string(300, 'x'));
  EXPECT_EQ(large.bytes(), "\x0a\xac\x02" + std::string(300, 'x'));
}

TEST(ProtobufMessage, FloatsAreFourBytes) {
  ProtobufMessage message;
  message.add_float(2, 1.5f);
  EXPECT_EQ(message.bytes(), "\x15\x00\x00\xc0\x3f"s);
}

TEST(ProtobufMessage, DoublesAreEightBytes) {
  ProtobufMessage message;
  message.add_double(1, -1.5);
  EXPECT_EQ(message.bytes(), "\x09\x00\x00\x00\x00\x00\x00\xf8\xbf"s);
}

}  // namespace
}  // namespace quern
