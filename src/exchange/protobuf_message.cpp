// SPDX-License-Identifier: Apache-2.0
#include "exchange/protobuf_message.hpp"

#include <bit>

namespace quern {

namespace {

constexpr int kVarint = 0;
constexpr int kFixed64 = 1;
constexpr int kLengthDelimited = 2;
constexpr int kFixed32 = 5;

}  // namespace

// Seven bits a byte, the lowest first; the highest bit says that more follow.
void ProtobufMessage::add_varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(0x80 | (value & 0x7f));
  bytes_ += static_cast<char>(value);
}

void ProtobufMessage::add_key(int field, int wire_type) {
  add_varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
}

// A negative number is its two's complement in 64 bits.
void ProtobufMessage::add_int(int field, std::int64_t value) {
  add_key(field, kVarint);
  add_varint(static_cast<std::uint64_t>(value));
}

// The lowest byte first, on any machine.
template <class Bits>
void ProtobufMessage::add_fixed(Bits bits) {
  for (std::size_t i = 0; i < sizeof(Bits); ++i)
    bytes_ += static_cast<char>(bits >> (8 * i) & 0xff);
}

void ProtobufMessage::add_float(int field, float value) {
  add_key(field, kFixed32);
  add_fixed(std::bit_cast<std::uint32_t>(value));
}

void ProtobufMessage::add_double(int field, double value) {
  add_key(field, kFixed64);
  add_fixed(std::bit_cast<std::uint64_t>(value));
}

void ProtobufMessage::add_bytes(int field, std::string_view bytes) {
  add_key(field, kLengthDelimited);
  add_varint(bytes.size());
  bytes_ += bytes;
}

}  // namespace quern
