// SPDX-License-Identifier: Apache-2.0
#include "device/queue.hpp"

#include <cstring>

#include "device/driver.hpp"

namespace quern {

#if defined(QUERN_DRIVER)

namespace {

using Event = QUERN_DRIVER(Event_t);

}  // namespace

ExecSpace make_instance() {
  return Kokkos::Experimental::partition_space(ExecSpace(), 1).front();
}

void* stream_handle(const ExecSpace& exec) {
  return driver::stream_of(exec);
}

void check_launches() {
  driver::check(QUERN_DRIVER(GetLastError)(), "a kernel could not be started on the device");
}

bool is_idle(const ExecSpace& exec) {
  check_launches();
  const auto code = QUERN_DRIVER(StreamQuery)(driver::stream_of(exec));
  if (code == QUERN_DRIVER(ErrorNotReady)) {
    // Or "not ready" would be found after the next launch, as if that had failed.
    (void)QUERN_DRIVER(GetLastError)();
    return false;
  }
  driver::check(code, "a step failed on the device");
  return true;
}

void copy_floats(float* to, const float* from, std::size_t count, void* stream) {
  const auto queue = static_cast<QUERN_DRIVER(Stream_t)>(stream);
  constexpr const char* kFailed = "a copy between host and device failed";
  driver::check(QUERN_DRIVER(MemcpyAsync)(to, from, count * sizeof(float),
                                          QUERN_DRIVER(MemcpyDefault), queue),
                kFailed);
  driver::check(QUERN_DRIVER(StreamSynchronize)(queue), kFailed);
}

namespace {

constexpr const char* kCopyFailed = "a copy of samples to the device failed";

}  // namespace

CopyQueue::CopyQueue() {
  QUERN_DRIVER(Stream_t) stream{};
  driver::check(QUERN_DRIVER(GetDevice)(&device_), kCopyFailed);
  driver::check(QUERN_DRIVER(StreamCreateWithFlags)(&stream, QUERN_DRIVER(StreamNonBlocking)),
                kCopyFailed);
  stream_ = stream;
}

CopyQueue::~CopyQueue() {
  (void)QUERN_DRIVER(StreamSynchronize)(static_cast<QUERN_DRIVER(Stream_t)>(stream_));
  (void)QUERN_DRIVER(StreamDestroy)(static_cast<QUERN_DRIVER(Stream_t)>(stream_));
}

void CopyQueue::copy(void* to, const void* from, std::size_t num_bytes) {
  // Another thread than the one that made the queue begins with the first device.
  driver::check(QUERN_DRIVER(SetDevice)(device_), kCopyFailed);
  driver::check(QUERN_DRIVER(MemcpyAsync)(to, from, num_bytes, QUERN_DRIVER(MemcpyDefault),
                                          static_cast<QUERN_DRIVER(Stream_t)>(stream_)),
                kCopyFailed);
}

void CopyQueue::wait() {
  driver::check(QUERN_DRIVER(StreamSynchronize)(static_cast<QUERN_DRIVER(Stream_t)>(stream_)),
                kCopyFailed);
}

StreamMark::StreamMark() {
  Event event{};
  driver::check(QUERN_DRIVER(EventCreateWithFlags)(&event, QUERN_DRIVER(EventDisableTiming)),
                "making an event failed on the device");
  event_ = event;
}

StreamMark::~StreamMark() {
  (void)QUERN_DRIVER(EventDestroy)(static_cast<Event>(event_));
}

void StreamMark::order(const ExecSpace& earlier, const ExecSpace& later) {
  const auto event = static_cast<Event>(event_);
  driver::check(QUERN_DRIVER(EventRecord)(event, driver::stream_of(earlier)),
                "recording an event failed on the device");
  driver::check(QUERN_DRIVER(StreamWaitEvent)(driver::stream_of(later), event, 0),
                "waiting for an event failed on the device");
}

#else  // kernels have run when the call that starts them returns, or on the one queue there is

ExecSpace make_instance() {
  return ExecSpace();
}

void* stream_handle(const ExecSpace& exec) {
  exec.fence("quern::device: the host reads kernel memory");
  return nullptr;
}

void check_launches() {}

bool is_idle(const ExecSpace& exec) {
  exec.fence("quern::device: the host reads kernel memory");
  return true;
}

void copy_floats(float*, const float*, std::size_t, void*) {
  throw Error("kernel memory is host memory here, expected no copies");
}

CopyQueue::CopyQueue() = default;
CopyQueue::~CopyQueue() = default;

void CopyQueue::copy(void* to, const void* from, std::size_t num_bytes) {
  std::memcpy(to, from, num_bytes);
}

void CopyQueue::wait() {}

StreamMark::StreamMark() = default;
StreamMark::~StreamMark() = default;
void StreamMark::order(const ExecSpace&, const ExecSpace&) {}

#endif

}  // namespace quern
