// SPDX-License-Identifier: Apache-2.0
// How the ranks of a run are arranged when a network is split: data x pipeline x tensor.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "comm/communicator.hpp"

namespace quern {

/// How many ranks there are along each axis; their product is the number of ranks.
struct GridShape {
  int data = 1;      ///< ranks with the same part of the network and other samples
  int pipeline = 1;  ///< stages of the network
  int tensor = 1;    ///< parts of each layer
  int size() const { return data * pipeline * tensor; }
};

/// Where a rank stands on each axis.
struct GridPlace {
  int data = 0;
  int pipeline = 0;
  int tensor = 0;
};

/// The grid of `ranks` ranks with so many stages and parts of a layer. InputError, with the
/// numbers, when they do not divide the ranks.
GridShape grid_shape(int ranks, int pipeline, int tensor);

/// Rank = (pipeline * shape.data + data) * shape.tensor + tensor: the ranks that exchange most,
/// those that share a layer, are neighbours and so on one node; stages, which exchange least, are
/// farthest apart.
GridPlace grid_place(const GridShape& shape, int rank);

/// "data 1 of 2, stage 0 of 2": the axes that have more than one rank; "" when none has.
std::string describe(const GridPlace& place, const GridShape& shape);

/// The communicators of a rank's three groups: each holds the ranks that differ from this one in
/// that coordinate alone, ordered by it. A group of all ranks is the world, and one of a single
/// rank is serial: a run that splits nothing pays for no communicator. Only the world's abort()
/// ends all. Copies share the groups.
class ProcessGrid {
 public:
  /// Collective over `world`, which outlives this and its copies; shape.size() == world.size().
  ProcessGrid(Communicator& world, const GridShape& shape);
  /// With the groups of the other axes as they are given. shape.data == 1.
  ProcessGrid(Communicator& world, const GridShape& shape, std::shared_ptr<Communicator> pipeline,
              std::shared_ptr<Communicator> tensor);
  /// All ranks along the data axis: a network that is not split.
  ProcessGrid(Communicator& world) : ProcessGrid(world, {world.size(), 1, 1}) {}

  Communicator& world() const { return *world_; }
  Communicator& data() const { return *data_.use; }
  Communicator& pipeline() const { return *pipeline_.use; }
  Communicator& tensor() const { return *tensor_.use; }
  const GridShape& shape() const { return shape_; }
  const GridPlace& place() const { return place_; }

 private:
  struct Group {
    Group(Communicator& world, int size, int colour);
    explicit Group(std::shared_ptr<Communicator> given) : own(std::move(given)), use(own.get()) {}
    std::shared_ptr<Communicator> own;  ///< null: it is the world
    Communicator* use;
  };

  Communicator* world_;
  GridShape shape_;
  GridPlace place_;
  Group data_;
  Group pipeline_;
  Group tensor_;
};

}  // namespace quern
