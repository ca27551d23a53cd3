// SPDX-License-Identifier: Apache-2.0
// Several queues of a device: making one, looking at it, and ordering one after another.
#pragma once

#include <cstddef>

#include "tensor/types.hpp"

namespace quern {

/// A queue of its own beside the caller's, with the same device. Where kernels run on the host
/// there is one queue only, and this is it.
ExecSpace make_instance();

/// The cudaStream_t or hipStream_t after an instance, for libraries. Where kernels run on the host
/// it is null, and everything on `exec` is done on return: libraries read the memory at once.
void* stream_handle(const ExecSpace& exec);

/// Throws Error when the device has refused to start a kernel since the last call: Kokkos does not
/// look, and waiting does not tell.
void check_launches();

/// Is everything that was put on `exec` done? Does not wait; always true where kernels run on the
/// host. Throws Error when a kernel has failed, or was not started.
bool is_idle(const ExecSpace& exec);

/// Copies between host and device on the stream of this handle, and waits for it. Error where the
/// device refuses, and where kernel memory is host memory.
void copy_floats(float* to, const float* from, std::size_t count, void* stream);

/// Copies from the host into kernel memory on a queue of their own, beside all kernels: for a
/// thread that launches none. Where kernels run on the host each is done on return.
class CopyQueue {
 public:
  /// With the device of the thread that makes it.
  CopyQueue();
  ~CopyQueue();  // NOLINT(performance-trivially-destructible): on devices it is not
  CopyQueue(const CopyQueue&) = delete;
  CopyQueue& operator=(const CopyQueue&) = delete;

  /// Does not wait where `from` is pinned; it must stay as it is until wait(). Error where the
  /// device refuses.
  void copy(void* to, const void* from, std::size_t num_bytes);

  /// Until all copies are done. Error where one has failed.
  void wait();

 private:
  [[maybe_unused]] int device_ = 0;
  [[maybe_unused]] void* stream_ = nullptr;  // cudaStream_t or hipStream_t; none on the host
};

/// A mark in one queue that another can wait for, made once and used again and again. Graphs can
/// capture it: then the waiting queue belongs to the graph from there on.
class StreamMark {
 public:
  StreamMark();
  ~StreamMark();  // NOLINT(performance-trivially-destructible): on devices it is not
  StreamMark(const StreamMark&) = delete;
  StreamMark& operator=(const StreamMark&) = delete;

  /// What is put on `later` from now on starts when everything now on `earlier` is done. The host
  /// does not wait.
  void order(const ExecSpace& earlier, const ExecSpace& later);

 private:
  [[maybe_unused]] void* event_ = nullptr;  // cudaEvent_t or hipEvent_t; none on the host
};

}  // namespace quern
