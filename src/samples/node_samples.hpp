// SPDX-License-Identifier: Apache-2.0
// Samples that lie in memory once a node, for all its ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "comm/communicator.hpp"
#include "io/shard_content.hpp"
#include "strategy/samples.hpp"

namespace quern {

/// Writes this rank's share of the arrays, which have room for all samples and hold zeros. Which
/// share that is the function decides: together the ranks of a node write everything, each number
/// by one rank. So either rank comm.node_rank() of comm.node_size() takes its part of the samples,
/// or node_rank() 0 writes all. Every node ends up with the same samples.
using FillSamples = std::function<void(const SampleArrays& arrays)>;

/// Collective. `count` samples in one copy for all ranks of a node, filled by `fill`. `content`
/// says which of the arrays there are. `name`: whose they are, for messages. AgreedError on all
/// ranks: exit 2 when a node or a device lacks the memory, where `content` has names of classes or
/// features of another number or that are no line of UTF-8, or for a sample whose values are not
/// finite or whose label is not from 0 to below content.classes; or what `fill` throws.
Samples make_node_samples(Communicator& comm, const std::string& name, std::int64_t count,
                          const ShardContent& content, const FillSamples& fill);

/// The same of what is known already: nobody looks at the samples, and data_hash is left empty.
Samples make_known_node_samples(Communicator& comm, const std::string& name, std::int64_t count,
                                const ShardContent& content, const FillSamples& fill);

}  // namespace quern
