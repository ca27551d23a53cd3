// SPDX-License-Identifier: Apache-2.0
// Exchanges between ranks on memory of the device, in the order of a stream.
#pragma once

#include <functional>
#include <limits>
#include <span>

#include "base/error.hpp"
#include "comm/communicator.hpp"

namespace quern {

/// A queue of the device: a cudaStream_t or hipStream_t; null where kernels run on the host.
struct DeviceStream {
  void* handle = nullptr;
};

/// What a rank throws that has only seen the others fail: it waited in vain, or its library says
/// that another rank is gone.
class OtherRankError : public Error {
 public:
  using Error::Error;
};

/// What gradients and layers need, and no more. Buffers are kernel memory: the spans are never read
/// here except by transports that say so. A call puts the exchange after everything that is on the
/// stream, and may return before it is done; what follows on the stream sees the result. All ranks
/// make the same calls in the same order. Errors that a call itself sees are thrown as Error, those
/// that come later by check(). The host-memory Communicator must not carry device memory meanwhile,
/// which it never does: two libraries that both wait for kernels on one device may wait for each
/// other.
class DeviceTransport {
 public:
  DeviceTransport() = default;
  virtual ~DeviceTransport() = default;
  DeviceTransport(const DeviceTransport&) = delete;
  DeviceTransport& operator=(const DeviceTransport&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// "NCCL 2.28.9", "MPI through host memory"; for people.
  virtual const char* name() const = 0;

  /// May the calls be captured into a graph? Not if the host has to act between them.
  virtual bool is_capturable() const = 0;

  /// In place, elementwise, in the transport's own order; all ranks get the same bits.
  virtual void all_reduce_sum(std::span<float> values, DeviceStream stream) = 0;

  /// all.size() / size() floats of every rank, in rank order. In place: this rank's part stands at
  /// its place in `all`, whose size is a multiple of size().
  virtual void all_gather(std::span<float> all, DeviceStream stream) = 0;

  /// counts[r] floats of every rank r, the same table on all ranks, in rank order without gaps. In
  /// place: this rank's part stands at its place in `all`.
  virtual void all_gather_v(std::span<float> all, std::span<const std::int64_t> counts,
                            DeviceStream stream) = 0;

  /// Rank d gets send[send_to[d]] and puts it to receive[receive_from[r]], r being the sender.
  /// Counts of a pair must agree; 0 sends nothing, a rank sends nothing to itself.
  virtual void all_to_all_v(std::span<const float> send, std::span<const Segment> send_to,
                            std::span<float> receive, std::span<const Segment> receive_from,
                            DeviceStream stream) = 0;

  /// With few ranks: these segments of `send` go out, and those of `receive` come in. Not
  /// collective: those make the call that it concerns. A rank is named once in each. The buffers
  /// may be one, of which no float goes out and comes in.
  virtual void send_and_receive(std::span<const float> send, std::span<const RankSegment> to,
                                std::span<float> receive, std::span<const RankSegment> from,
                                DeviceStream stream) = 0;

  /// Does send_and_receive() move nothing but these segments? Else few exchanges of all at once are
  /// better than many of it.
  virtual bool moves_segments_alone() const { return true; }

  /// How long a rank waits for the others before it gives up.
  virtual double deadline_s() const { return std::numeric_limits<double>::infinity(); }

  /// Throws Error when an exchange has failed since, on this rank or on one it talked to. Does not
  /// wait.
  virtual void check() {}

  /// Gives up exchanges under way, so that nobody waits for them forever. Nothing else may be
  /// called afterwards. The transport must outlive the graphs that hold its exchanges, all the more
  /// after this. Not collective: call it before the ranks agree on an error.
  virtual void abort() noexcept {}
};

/// What the ranks of a grid exchange memory of devices by, along these axes; null: nothing, or
/// memory of the host.
struct GridTransports {
  GridTransports(DeviceTransport* data_ranks = nullptr, DeviceTransport* tensor_ranks = nullptr)
      : data(data_ranks), tensor(tensor_ranks) {}

  DeviceTransport* data;    ///< gradients
  DeviceTransport* tensor;  ///< values inside of layers

  bool are_none() const { return !data && !tensor; }
  /// The first that is there.
  DeviceTransport* first() const { return data ? data : tensor; }
  // Of those that are there.
  double deadline_s() const;  ///< the shorter one
  void check() const;
  void abort() const noexcept;
};

/// Collective over host messages: runs `work`, which may fail on some ranks while others wait for
/// them in exchanges of `transports`. Whoever fails aborts these first, so that the others stop
/// waiting; then all throw the same AgreedError. It names a rank that failed by itself, if there
/// is one, rather than one that throws OtherRankError.
void agree_on_exchange(Communicator& comm, const GridTransports& transports,
                       const std::function<void()>& work);

}  // namespace quern
