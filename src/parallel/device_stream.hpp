// SPDX-License-Identifier: Apache-2.0
// Several queues of a device: handing one to a transport, and ordering one behind another.
#pragma once

#include "comm/device_transport.hpp"
#include "tensor/types.hpp"

namespace quern {

/// The stream behind an instance, for a transport. Where kernels run on the host a transport reads
/// their memory at once: then everything on `exec` is done on return.
DeviceStream stream_of(const ExecSpace& exec);

/// A queue of its own beside the caller's, with the same device. Where kernels run on the host
/// there is one queue only, and this is it.
ExecSpace make_instance();

/// Is everything that was put on `exec` done? Does not wait; always true where kernels run on the
/// host. Throws Error when a kernel has failed.
bool is_idle(const ExecSpace& exec);

/// Waits until everything on `exec` is done, with an eye on the exchanges: Error when one has
/// failed, OtherRankError when the transport's deadline has passed.
void wait_for(const ExecSpace& exec, DeviceTransport& transport);

/// A mark in one queue that another can wait for, made once and used again and again. Graphs can
/// capture it: then the waiting queue belongs to the graph from there on.
class StreamMark {
 public:
  StreamMark();
  ~StreamMark();
  StreamMark(const StreamMark&) = delete;
  StreamMark& operator=(const StreamMark&) = delete;

  /// What is put on `later` from now on starts when everything now on `earlier` is done. The host
  /// does not wait.
  void order(const ExecSpace& earlier, const ExecSpace& later);

 private:
  void* event_ = nullptr;
};

}  // namespace quern
