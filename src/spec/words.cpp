// SPDX-License-Identifier: Apache-2.0
#include "spec/words.hpp"

namespace quern {

const char* to_string(LayerType type) {
  switch (type) {
    case LayerType::linear:
      return "linear";
    case LayerType::conv2d:
      return "conv2d";
    case LayerType::max_pool2d:
      return "max_pool2d";
    case LayerType::avg_pool2d:
      return "avg_pool2d";
    case LayerType::global_avg_pool:
      return "global_avg_pool";
    case LayerType::relu:
      return "relu";
    case LayerType::tanh:
      return "tanh";
    case LayerType::sigmoid:
      return "sigmoid";
    case LayerType::gelu:
      return "gelu";
    case LayerType::silu:
      return "silu";
    case LayerType::leaky_relu:
      return "leaky_relu";
    case LayerType::dropout:
      return "dropout";
    case LayerType::batch_norm:
      return "batch_norm";
    case LayerType::layer_norm:
      return "layer_norm";
    case LayerType::group_norm:
      return "group_norm";
    case LayerType::upsample:
      return "upsample";
    case LayerType::flatten:
      return "flatten";
    case LayerType::add:
      return "add";
    case LayerType::concat:
      return "concat";
    case LayerType::custom:
      return "custom";
  }
  return nullptr;
}

const char* to_string(LossType type) {
  switch (type) {
    case LossType::cross_entropy:
      return "cross_entropy";
    case LossType::mse:
      return "mse";
    case LossType::l1:
      return "l1";
    case LossType::huber:
      return "huber";
    case LossType::binary_cross_entropy:
      return "binary_cross_entropy";
    case LossType::custom:
      return "custom";
  }
  return nullptr;
}

const char* to_string(OptimizerType type) {
  switch (type) {
    case OptimizerType::sgd:
      return "sgd";
    case OptimizerType::adam:
      return "adam";
    case OptimizerType::adamw:
      return "adamw";
    case OptimizerType::lars:
      return "lars";
    case OptimizerType::lamb:
      return "lamb";
  }
  return nullptr;
}

const char* to_string(ScheduleType type) {
  switch (type) {
    case ScheduleType::constant:
      return "constant";
    case ScheduleType::step:
      return "step";
    case ScheduleType::multi_step:
      return "multi_step";
    case ScheduleType::exponential:
      return "exponential";
    case ScheduleType::plateau:
      return "plateau";
    case ScheduleType::polynomial:
      return "polynomial";
    case ScheduleType::cosine:
      return "cosine";
  }
  return nullptr;
}

const char* to_string(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::bf16:
      return "bf16";
  }
  return nullptr;
}

const char* to_string(Monitor monitor) {
  switch (monitor) {
    case Monitor::loss:
      return "loss";
    case Monitor::accuracy:
      return "accuracy";
  }
  return nullptr;
}

}  // namespace quern
