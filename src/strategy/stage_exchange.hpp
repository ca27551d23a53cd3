// SPDX-License-Identifier: Apache-2.0
// What a stage of a pipeline sends to its neighbours and receives from them.
//
//           x  --->  [ stage s ]  --->  y        x: out of stage s - 1, one message a piece
//          dx  <---  [         ]  <--- dy        dy: the gradient of y, likewise
//
// Each of the four has two buffers in host memory. A receive is under way for each free buffer, so
// that what arrives meets a buffer at once; a send is waited for when its buffer is needed again,
// two pieces later. Both go on while the stage computes.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "comm/device_transport.hpp"
#include "comm/process_grid.hpp"
#include "tensor/activation.hpp"

namespace quern {

/// Floats of a piece in each direction; 0: nothing crosses.
struct CrossingFloats {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t dx = 0;
  std::int64_t dy = 0;

  /// Of the buffers.
  std::int64_t bytes() const { return 2 * (x + y + dx + dy) * std::int64_t{sizeof(float)}; }
};

class StageExchange {
 public:
  /// Collective over grid.pipeline(); begins to receive. The neighbours there have the same floats
  /// on their sides, and call in the same order.
  /// `transports`: which kernels on `exec` may be waiting for others by.
  StageExchange(const ProcessGrid& grid, const CrossingFloats& floats,
                const GridTransports& transports = {});

  // The host waits for what has to arrive, and on a device for `exec`. Messages have the size of
  // whole arrays, whatever rows are in use.

  void receive_x(const ExecSpace& exec, const Activation& to);
  void send_y(const ExecSpace& exec, const Activation& from);
  void receive_dy(const ExecSpace& exec, const Activation& to);
  void send_dx(const ExecSpace& exec, const Activation& from);

 private:
  using Buffer = Kokkos::View<float*, Kokkos::SharedHostPinnedSpace>;
  struct End {
    Buffer buffer;
    std::unique_ptr<Message> message;  // ends before its buffer
    bool under_way = false;
  };
  /// Two messages in turn.
  struct Ends {
    std::array<End, 2> both;
    std::size_t next = 0;
    End& take_turn() { return both[std::exchange(next, 1 - next)]; }
  };
  Ends receives(std::int64_t floats, int from, int tag);
  Ends sends(std::int64_t floats, int to, int tag);
  void receive(const ExecSpace& exec, Ends& ends, const Activation& to) const;
  void send(const ExecSpace& exec, Ends& ends, const Activation& from) const;

  ProcessGrid grid_;
  GridTransports transports_;
  std::unique_ptr<Communicator>
      stages_;  // apart from all others that send; ends after the messages
  Ends x_;
  Ends y_;
  Ends dx_;
  Ends dy_;
};

}  // namespace quern
