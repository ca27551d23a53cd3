// SPDX-License-Identifier: Apache-2.0
// A message between two ranks that is sent again and again.
#pragma once

namespace quern {

/// One end of a message of a fixed size from a fixed buffer, which outlives it. start() and wait()
/// in turn; between them a sender does not write the buffer, and a receiver does not touch it.
/// Neither allocates. Errors of the transport throw Error. An end that is destroyed between the two
/// gives the transfer up: a receiver's buffer is not written afterwards.
class Message {
 public:
  Message() = default;
  virtual ~Message() = default;
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  /// Begins the transfer and returns at once. The n-th start() of a sender meets the n-th of the
  /// receiver, whichever comes first.
  virtual void start() = 0;
  /// Until the sender's buffer may be written again, or the receiver's is filled.
  virtual void wait() = 0;
};

}  // namespace quern
