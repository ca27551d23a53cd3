// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern {

/// A message in the wire format of Protocol Buffers, field by field: what files of ONNX and of
/// TensorBoard consist of. Fields keep the order in which they were added; repeated ones are added
/// several times. https://protobuf.dev/programming-guides/encoding
class ProtobufMessage {
 public:
  /// int32, int64, bool or an enumeration.
  void add_int(int field, std::int64_t value);
  void add_float(int field, float value);
  void add_double(int field, double value);
  /// A string or bytes.
  void add_bytes(int field, std::string_view bytes);
  void add_message(int field, const ProtobufMessage& message) { add_bytes(field, message.bytes()); }

  const std::string& bytes() const { return bytes_; }

 private:
  void add_varint(std::uint64_t value);
  void add_key(int field, int wire_type);
  template <class Bits>
  void add_fixed(Bits bits);

  std::string bytes_;
};

}  // namespace quern
