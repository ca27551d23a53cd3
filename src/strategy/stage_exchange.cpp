// SPDX-License-Identifier: Apache-2.0
#include "strategy/stage_exchange.hpp"

#include "base/assert.hpp"
#include "parallel/device_stream.hpp"

namespace quern {

namespace {

constexpr int kForward = 0;  // tags
constexpr int kBackward = 1;

FloatView used(const Activation& activation, std::size_t floats) {
  expect(activation.data.extent(0) >= floats, "an array as large as the neighbour's");
  return Kokkos::subview(activation.data, std::pair(std::size_t{0}, floats));
}

}  // namespace

StageExchange::StageExchange(const ProcessGrid& grid, const CrossingFloats& floats,
                             const GridTransports& transports)
    : grid_(grid),
      transports_(transports),
      stages_(grid.pipeline().split(0)),
      x_(receives(floats.x, grid.place().pipeline - 1, kForward)),
      y_(sends(floats.y, grid.place().pipeline + 1, kForward)),
      dx_(sends(floats.dx, grid.place().pipeline - 1, kBackward)),
      dy_(receives(floats.dy, grid.place().pipeline + 1, kBackward)) {}

StageExchange::Ends StageExchange::receives(std::int64_t floats, int from, int tag) {
  Ends ends;
  if (floats == 0) return ends;
  for (End& end : ends.both) {
    end.buffer = Buffer("quern::strategy::received", static_cast<std::size_t>(floats));
    end.message = stages_->make_receive({end.buffer.data(), end.buffer.extent(0)}, from, tag);
    end.message->start();
  }
  return ends;
}

StageExchange::Ends StageExchange::sends(std::int64_t floats, int to, int tag) {
  Ends ends;
  if (floats == 0) return ends;
  for (End& end : ends.both) {
    end.buffer = Buffer("quern::strategy::sent", static_cast<std::size_t>(floats));
    end.message = stages_->make_send({end.buffer.data(), end.buffer.extent(0)}, to, tag);
  }
  return ends;
}

void StageExchange::receive(const ExecSpace& exec, Ends& ends, const Activation& to) const {
  End& end = ends.take_turn();
  end.message->wait();
  Kokkos::deep_copy(exec, used(to, end.buffer.extent(0)), end.buffer);
  wait_for(exec, transports_);
  end.message->start();
}

void StageExchange::send(const ExecSpace& exec, Ends& ends, const Activation& from) const {
  End& end = ends.take_turn();
  if (end.under_way) end.message->wait();
  Kokkos::deep_copy(exec, end.buffer, used(from, end.buffer.extent(0)));
  wait_for(exec, transports_);
  end.message->start();
  end.under_way = true;
}

void StageExchange::receive_x(const ExecSpace& exec, const Activation& to) {
  receive(exec, x_, to);
}

void StageExchange::send_y(const ExecSpace& exec, const Activation& from) {
  send(exec, y_, from);
}

void StageExchange::receive_dy(const ExecSpace& exec, const Activation& to) {
  receive(exec, dy_, to);
}

void StageExchange::send_dx(const ExecSpace& exec, const Activation& from) {
  send(exec, dx_, from);
}

}  // namespace quern
