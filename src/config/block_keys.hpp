// SPDX-License-Identifier: Apache-2.0
// The keys of an entry of network.layers that stands for several layers: residual blocks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/key.hpp"
#include "spec/network_spec.hpp"

namespace quern {

enum class BlockType {
  basic_block,  ///< two convolutions of 3 x 3
  bottleneck,   ///< 1 x 1, 3 x 3, and 1 x 1 to four times the channels
};

/// A stage of a residual network as He et al. ("Deep residual learning", 2015) build it and
/// torchvision names it.
struct BlockSpec {
  BlockType type = BlockType::basic_block;
  std::string name;   ///< begins the names of its layers
  std::string input;  ///< name of the layer that it reads; empty: the one before
  int channels = 0;   ///< of the convolutions of 3 x 3
  int stride = 1;     ///< of the first block
  int repeat = 1;     ///< blocks
  int groups = 0;     ///< of its group normalisation; 0: it has batch normalisation
  Statistics statistics = Statistics::global;  ///< of its batch normalisation
  bool trainable = true;                       ///< of all of its layers
  double lr_factor = 1;                        ///< likewise
};

const std::vector<Key<BlockSpec>>& block_keys();

/// Every type with its word in recipes.
std::vector<std::pair<std::string, BlockType>> block_types();

/// "layer1": of the `number`-th block of a recipe, from 1.
std::string default_block_name(int number);

/// The layers of the block. `input`: name of the layer that it reads, which puts out so many
/// channels. Only the first of them may read another layer than the one in front of it.
std::vector<LayerSpec> expand(const BlockSpec& block, const std::string& input, int in_channels);

}  // namespace quern
