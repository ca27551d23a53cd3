// SPDX-License-Identifier: Apache-2.0
#include "optim/optimizer.hpp"

#include "base/assert.hpp"
#include "base/error.hpp"
#include "optim/adam.hpp"
#include "optim/lamb.hpp"
#include "optim/lars.hpp"
#include "optim/sgd.hpp"
#include "tensor/chunks.hpp"

namespace quern {

FloatView Optimizer::add_state(const std::string& name, std::int64_t block_size) {
  const std::string label = "quern::optim::" + name;
  if (part_.allocate_whole) {
    state_.push_back({name, part_.allocate_whole(label, block_size)});
    return own_part(state_.back().values);
  }
  const std::int64_t size = std::min(part_.end, block_size) - std::min(part_.begin, block_size);
  state_.push_back({name, FloatView(label, static_cast<std::size_t>(size))});
  return state_.back().values;
}

ParameterUpdate Optimizer::begin_update(const ExecSpace& exec, const StepScalarsView& scalars,
                                        const FloatView& parameters) {
  if (!kHostExecution || !begin_pieces(exec, scalars)) return {};
  piece_parameters_ = own_part(parameters).data();
  return {this, parameters.data()};
}

void Optimizer::update_pieces(std::int64_t /*begin*/, std::int64_t /*end*/,
                              const float* /*gradient*/) const {
  throw Error("Optimizer::update_pieces: this optimizer updates whole blocks");
}

void update_piece(const ExecSpace& exec, const ParameterUpdate& update, std::int64_t begin,
                  std::int64_t end, const ConstFloatView& gradient) {
  if constexpr (kHostExecution) {
    const float* g = gradient.data() + begin;
    for_each_chunk(exec, "quern::optim::update_piece", end - begin,
                   [=](std::int64_t first, std::int64_t last) {
                     update.updater->update_pieces(begin + first, begin + last, g + first);
                   });
  }
}

int num_state_arrays(const OptimizerSpec& spec) {
  return static_cast<int>(state_names(spec).size());
}

int num_scratch_arrays(const OptimizerSpec& spec) {
  switch (spec.type) {
    case OptimizerType::sgd:
    case OptimizerType::adam:
    case OptimizerType::adamw:
    case OptimizerType::lars:
      return 0;
    case OptimizerType::lamb:
      break;
  }
  return 1;
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec, const ParameterTable& table,
                                          const OptimizerPart& part) {
  expect(table.trained_size() % kLanes == 0, "a parameter block of whole lane groups");
  switch (spec.type) {
    case OptimizerType::sgd:
      return std::make_unique<Sgd>(spec, table, part);
    case OptimizerType::lars:
      return std::make_unique<Lars>(spec, table, part);
    case OptimizerType::lamb:
      return std::make_unique<Lamb>(spec, table, part);
    case OptimizerType::adam:
    case OptimizerType::adamw:
      break;
  }
  return std::make_unique<Adam>(spec, table, part);
}

}  // namespace quern
