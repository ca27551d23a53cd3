// SPDX-License-Identifier: Apache-2.0
#include "spec/training_spec.hpp"

namespace quern {

bool ends_with_run(const ScheduleSpec& schedule) {
  switch (schedule.type) {
    case ScheduleType::constant:
    case ScheduleType::step:
    case ScheduleType::multi_step:
    case ScheduleType::exponential:
    case ScheduleType::plateau:
      return false;
    case ScheduleType::polynomial:
    case ScheduleType::cosine:
      break;
  }
  return true;
}

bool needs_evaluations(const ScheduleSpec& schedule) {
  switch (schedule.type) {
    case ScheduleType::constant:
    case ScheduleType::step:
    case ScheduleType::multi_step:
    case ScheduleType::exponential:
    case ScheduleType::polynomial:
    case ScheduleType::cosine:
      return false;
    case ScheduleType::plateau:
      break;
  }
  return true;
}

std::vector<std::string> state_names(const OptimizerSpec& optimizer) {
  switch (optimizer.type) {
    case OptimizerType::sgd:
    case OptimizerType::lars:
      if (optimizer.momentum == 0) return {};
      return {"momentum_buffer"};
    case OptimizerType::adam:
    case OptimizerType::adamw:
    case OptimizerType::lamb:
      break;
  }
  return {"exp_avg", "exp_avg_sq"};
}

bool may_have_accuracy(LossType loss) {
  switch (loss) {
    case LossType::mse:
    case LossType::l1:
    case LossType::huber:
      return false;
    case LossType::cross_entropy:
    case LossType::binary_cross_entropy:
    case LossType::custom:
      break;
  }
  return true;
}

}  // namespace quern
