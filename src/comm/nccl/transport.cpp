// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/transport.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "comm/nccl/library.hpp"
#include "comm/segments.hpp"

namespace quern {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Starting an exchange takes microseconds; joining takes seconds, during which others may compute.
constexpr milliseconds kPollBusily{2};
constexpr milliseconds kPollInterval{1};

class NcclTransport final : public DeviceTransport {
 public:
  NcclTransport(Communicator& comm, milliseconds deadline)
      : comm_of_hosts_(comm),
        caller_{comm.rank(), comm.host(comm.rank())},
        size_(comm.size()),
        deadline_(deadline),
        name_(nccl_library_version()) {}

  ~NcclTransport() override {
    leave();
    if (aborting_.joinable()) aborting_.join();
  }

  void join(const ncclUniqueId& id) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    caller_.check(ncclCommInitRankConfig(&comm_, size_, id, caller_.rank, &config),
                  "ncclCommInitRankConfig");
    wait_until_ready("ncclCommInitRankConfig");
  }

  int rank() const override { return caller_.rank; }
  int size() const override { return size_; }
  const char* name() const override { return name_.c_str(); }
  bool is_capturable() const override { return true; }

  void all_reduce_sum(std::span<float> values, DeviceStream stream) override {
    await_first(reduces_);
    finish(ncclAllReduce(values.data(), values.data(), values.size(), ncclFloat, ncclSum, comm_,
                         native(stream)),
           "ncclAllReduce");
  }

  void all_gather(std::span<float> all, DeviceStream stream) override {
    const std::size_t each = all.size() / static_cast<std::size_t>(size_);
    expect(each * static_cast<std::size_t>(size_) == all.size(), "as many floats for each rank");
    await_first(gathers_);
    const float* mine = all.data() + static_cast<std::size_t>(caller_.rank) * each;
    finish(ncclAllGather(mine, all.data(), each, ncclFloat, comm_, native(stream)),
           "ncclAllGather");
  }

  // NCCL itself gathers equal parts only.
  void all_gather_v(std::span<float> all, std::span<const std::int64_t> counts,
                    DeviceStream stream) override {
    expect(counts.size() == static_cast<std::size_t>(size_), "a count for each rank");
    parts_.clear();
    std::int64_t begin = 0;
    for (const std::int64_t count : counts) {
      parts_.push_back({begin, count});
      begin += count;
    }
    expect(begin == static_cast<std::int64_t>(all.size()), "parts without gaps");
    const std::int64_t own = counts[static_cast<std::size_t>(caller_.rank)];
    if (std::ranges::all_of(counts, [&](std::int64_t count) { return count == own; }))
      return all_gather(all, stream);
    const auto part = [&](int rank) {
      return std::pair(all.data(), parts_[static_cast<std::size_t>(rank)]);
    };
    exchange([&](int) { return part(caller_.rank); }, part, stream);
  }

  void all_to_all_v(std::span<const float> send, std::span<const Segment> send_to,
                    std::span<float> receive, std::span<const Segment> receive_from,
                    DeviceStream stream) override {
    check_segments(send_to, send.size(), size_);
    check_segments(receive_from, receive.size(), size_);
    exchange(
        [&](int peer) { return std::pair(send.data(), send_to[static_cast<std::size_t>(peer)]); },
        [&](int peer) {
          return std::pair(receive.data(), receive_from[static_cast<std::size_t>(peer)]);
        },
        stream);
  }

  void send_and_receive(std::span<const float> send_from, std::span<const RankSegment> to,
                        std::span<float> receive_to, std::span<const RankSegment> from,
                        DeviceStream stream) override {
    check_segments(to, send_from.size(), caller_.rank, size_);
    check_segments(from, receive_to.size(), caller_.rank, size_);
    if (to.empty() && from.empty()) return;
    in_group([&] {
      for (const RankSegment& part : to)
        send(send_from.data() + part.offset, part.count, part.rank, stream);
      for (const RankSegment& part : from)
        receive(receive_to.data() + part.offset, part.count, part.rank, stream);
    });
  }

  double deadline_s() const override { return std::chrono::duration<double>(deadline_).count(); }

  void check() override { caller_.check(state(), "an exchange by NCCL", comm_); }

  // ncclCommAbort tells the kernels to stop, at once, and then waits until the recorded steps that
  // hold the communicator are gone. They belong to whoever calls this: a thread has to wait.
  void abort() noexcept override {
    if (!comm_) return;
    const auto end = [comm = std::exchange(comm_, nullptr)] { (void)ncclCommAbort(comm); };
    try {
      aborting_ = std::thread(end);
    } catch (const std::exception&) {
      end();
    }
  }

 private:
  void leave() {
    // Finalising waits for the other ranks, which may never come when this one fails.
    if (std::uncaught_exceptions() > exceptions_at_start_) abort();
    if (!comm_) return;
    try {
      caller_.check(ncclCommFinalize(comm_), "ncclCommFinalize", comm_);
      wait_until_ready("ncclCommFinalize");
      caller_.check(ncclCommDestroy(comm_), "ncclCommDestroy");
    } catch (const std::exception& error) {
      log::error(error.what());
      abort();
    }
  }

  /// With every other rank, at once; `to` and `from` give the floats for it.
  template <class To, class From>
  void exchange(const To& to, const From& from, DeviceStream stream) {
    in_group([&] {
      for (int peer = 0; peer < size_; ++peer) {
        if (peer == caller_.rank) continue;
        const auto [sent, out] = to(peer);
        const auto [received, in] = from(peer);
        send(sent + out.offset, out.count, peer, stream);
        receive(received + in.offset, in.count, peer, stream);
      }
    });
  }

  /// Calls made by `calls` begin together. A group that is left open would keep whatever follows.
  template <class Calls>
  void in_group(const Calls& calls) {
    await_first(sends_);
    caller_.check(ncclGroupStart(), "ncclGroupStart");
    try {
      calls();
    } catch (...) {
      (void)ncclGroupEnd();
      throw;
    }
    finish(ncclGroupEnd(), "ncclGroupEnd");
  }

  void send(const float* floats, std::int64_t count, int peer, DeviceStream stream) {
    if (count == 0) return;
    caller_.check(
        ncclSend(floats, static_cast<std::size_t>(count), ncclFloat, peer, comm_, native(stream)),
        "ncclSend", comm_);
  }

  void receive(float* floats, std::int64_t count, int peer, DeviceStream stream) {
    if (count == 0) return;
    caller_.check(
        ncclRecv(floats, static_cast<std::size_t>(count), ncclFloat, peer, comm_, native(stream)),
        "ncclRecv", comm_);
  }

  // NCCL connects the ranks in the first call of a kind, which ends when all of them have come: in
  // the first step, in which one may need long to load its kernels. For that there is no deadline.
  void await_first(bool& has_begun) {
    if (!std::exchange(has_begun, true)) comm_of_hosts_.barrier();
  }

  static NcclStream native(DeviceStream stream) { return static_cast<NcclStream>(stream.handle); }

  ncclResult_t state() const {
    expect(comm_ != nullptr, "a communicator that was not aborted");
    ncclResult_t state = ncclSuccess;
    caller_.check(ncclCommGetAsyncError(comm_, &state), "ncclCommGetAsyncError", comm_);
    return state;
  }

  // A call on a non-blocking communicator has started when it returns; the next may follow when it
  // is done with its own part (what it put on the stream is another matter).
  void finish(ncclResult_t code, const char* call) {
    caller_.check(code, call, comm_);
    if (code == ncclInProgress) wait_until_ready(call);
  }

  void wait_until_ready(const char* call) {
    const auto begin = steady_clock::now();
    for (;;) {
      const ncclResult_t now = state();
      if (now != ncclInProgress) return caller_.check(now, call, comm_);
      const auto waited = steady_clock::now() - begin;
      if (waited > deadline_) {
        throw OtherRankError(
            std::string(call) + " took longer than " + std::to_string(deadline_.count() / 1000) +
            " s on rank " + std::to_string(caller_.rank) + " (" + caller_.host +
            "): another rank is missing, or the network between the nodes does not work " +
            "(NCCL_DEBUG=INFO prints more; QUERN_NCCL_TIMEOUT sets the seconds)");
      }
      if (waited > kPollBusily) std::this_thread::sleep_for(kPollInterval);
    }
  }

  int exceptions_at_start_ = std::uncaught_exceptions();
  Communicator& comm_of_hosts_;
  NcclCaller caller_;
  int size_;
  milliseconds deadline_;
  std::string name_;
  ncclComm_t comm_ = nullptr;
  bool reduces_ = false;  // so far
  bool gathers_ = false;
  bool sends_ = false;
  std::vector<Segment> parts_;  // of the call under way
  std::thread aborting_;
};

}  // namespace

std::string nccl_library_version() {
  return std::string(kNcclName) + " " + nccl_version_text(nccl_runtime_version());
}

std::unique_ptr<DeviceTransport> start_nccl(Communicator& comm, milliseconds deadline) {
  agree(comm, [] { check_nccl_version(nccl_runtime_version()); });
  ncclUniqueId id{};
  run_on_root(comm, [&] {
    NcclCaller{0, comm.host(0)}.check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  });
  id = broadcast_value(comm, id);
  auto transport = std::make_unique<NcclTransport>(comm, deadline);
  agree_on_exchange(comm, transport.get(), [&] { transport->join(id); });
  return transport;
}

}  // namespace quern
