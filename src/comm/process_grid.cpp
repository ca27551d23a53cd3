// SPDX-License-Identifier: Apache-2.0
#include "comm/process_grid.hpp"

#include <cstdint>

#include "base/assert.hpp"
#include "base/count_text.hpp"
#include "base/error.hpp"
#include "comm/serial/communicator.hpp"

namespace quern {

GridShape grid_shape(int ranks, int pipeline, int tensor) {
  expect(ranks >= 1 && pipeline >= 1 && tensor >= 1, "at least one rank along each axis");
  const std::int64_t each = std::int64_t{pipeline} * tensor;
  if (ranks % each != 0) {
    throw InputError(count_text(ranks, "rank") + " cannot be cut into groups of " +
                     std::to_string(pipeline) + " (pipeline) x " + std::to_string(tensor) +
                     " (tensor): start a multiple of " + std::to_string(each) + " ranks");
  }
  return {static_cast<int>(ranks / each), pipeline, tensor};
}

GridPlace grid_place(const GridShape& shape, int rank) {
  expect(rank >= 0 && rank < shape.size(), "a rank of the grid");
  const int plane = shape.data * shape.tensor;
  return {rank % plane / shape.tensor, rank / plane, rank % shape.tensor};
}

std::string describe(const GridPlace& place, const GridShape& shape) {
  std::string text;
  const auto say = [&](const char* axis, int at, int size) {
    if (size == 1) return;
    text += (text.empty() ? "" : ", ") + std::string(axis) + " " + std::to_string(at) + " of " +
            std::to_string(size);
  };
  say("data", place.data, shape.data);
  say("stage", place.pipeline, shape.pipeline);
  say("tensor", place.tensor, shape.tensor);
  return text;
}

namespace {

/// Null: the world itself.
std::unique_ptr<Communicator> make_group(Communicator& world, int size, int colour) {
  if (size == world.size()) return nullptr;
  if (size == 1) return std::make_unique<SerialCommunicator>();
  return world.split(colour);
}

}  // namespace

ProcessGrid::Group::Group(Communicator& world, int size, int colour)
    : own(make_group(world, size, colour)), use(own ? own.get() : &world) {}

ProcessGrid::ProcessGrid(Communicator& world, const GridShape& shape)
    : world_(&world),
      shape_(shape),
      place_(grid_place(shape, world.rank())),
      data_(world, shape.data, place_.pipeline * shape.tensor + place_.tensor),
      pipeline_(world, shape.pipeline, place_.data * shape.tensor + place_.tensor),
      tensor_(world, shape.tensor, place_.pipeline * shape.data + place_.data) {
  expect(shape.size() == world.size(), "a grid of all ranks");
}

ProcessGrid::ProcessGrid(Communicator& world, const GridShape& shape,
                         std::shared_ptr<Communicator> pipeline,
                         std::shared_ptr<Communicator> tensor)
    : world_(&world),
      shape_(shape),
      place_(grid_place(shape, world.rank())),
      data_(std::make_shared<SerialCommunicator>()),
      pipeline_(std::move(pipeline)),
      tensor_(std::move(tensor)) {
  expect(shape.size() == world.size() && shape.data == 1 &&
             pipeline_.use->size() == shape.pipeline && tensor_.use->size() == shape.tensor,
         "a grid of all ranks, and groups that fit it");
}

}  // namespace quern
