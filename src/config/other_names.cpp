// SPDX-License-Identifier: Apache-2.0
#include "config/other_names.hpp"

#include <span>

#include "base/text.hpp"

namespace quern {

namespace {

struct OtherName {
  std::string_view other;
  std::string_view here;
};

constexpr OtherName kKeys[] = {
    {"learning_rate", "optimizer.lr"},
    {"base_lr", "optimizer.lr"},
    {"lr_scheduler", "optimizer.schedule"},
    {"scheduler", "optimizer.schedule"},
    {"warmup", "optimizer.schedule.warmup_steps"},
    {"step_size", "optimizer.schedule.every_epochs"},
    {"eta_min", "optimizer.schedule.min_lr"},
    {"beta1", "optimizer.betas"},
    {"beta2", "optimizer.betas"},
    {"wd", "optimizer.weight_decay"},
    {"l2", "optimizer.weight_decay"},
    {"clip", "optimizer.clip_norm"},
    {"grad_clip", "optimizer.clip_norm"},
    {"gradient_clipping", "optimizer.clip_norm"},
    {"gradient_clip_val", "optimizer.clip_norm"},
    {"max_grad_norm", "optimizer.clip_norm"},
    {"batch", "data.global_batch"},
    {"batch", "data.batch_per_rank"},
    {"batch_size", "data.global_batch"},
    {"batch_size", "data.batch_per_rank"},
    {"train_batch_size", "data.global_batch"},
    {"per_device_batch_size", "data.batch_per_rank"},
    {"per_device_train_batch_size", "data.batch_per_rank"},
    {"dataset", "data.train"},
    {"validation", "data.test"},
    {"val", "data.test"},
    {"max_epochs", "train.epochs"},
    {"num_epochs", "train.epochs"},
    {"early_stopping", "train.patience"},
    {"amp", "train.precision"},
    {"dtype", "train.precision"},
    {"mixed_precision", "train.precision"},
    {"bf16", "train.precision"},
    {"fp16", "train.precision"},
    {"deterministic", "train.determinism"},
    {"activation_checkpointing", "train.recompute"},
    {"gradient_checkpointing", "train.recompute"},
    {"log_every", "train.log_every_steps"},
    {"log_every_n_steps", "train.log_every_steps"},
    // Which does not make the batch larger.
    {"accumulate_grad_batches", "data.global_batch"},
    {"accumulate_grad_batches", "parallel.micro_batches"},
    {"gradient_accumulation", "data.global_batch"},
    {"gradient_accumulation", "parallel.micro_batches"},
    {"gradient_accumulation_steps", "data.global_batch"},
    {"gradient_accumulation_steps", "parallel.micro_batches"},
    {"pipeline_parallel", "parallel.pipeline"},
    {"pipeline_parallel_size", "parallel.pipeline"},
    {"tensor_parallel", "parallel.tensor"},
    {"tensor_parallel_size", "parallel.tensor"},
    {"fsdp", "parallel.shard_optimizer"},
    {"zero", "parallel.shard_optimizer"},
    {"zero_optimization", "parallel.shard_optimizer"},
    {"zero_stage", "parallel.shard_optimizer"},
    {"save_every", "checkpoint.every_epochs"},
    {"save_steps", "checkpoint.every_steps"},
    {"save_best", "checkpoint.keep_best"},
    {"save_best_only", "checkpoint.keep_best"},
    {"save_total_limit", "checkpoint.keep"},
    {"random_seed", "seed"},
    {"manual_seed", "seed"},
    {"optim", "optimizer"},
    {"criterion", "loss"},
    {"model", "network"},
    {"training", "train"},
    // Of layers.
    {"out_features", "features"},
    {"units", "features"},
    {"filters", "channels"},
    {"out_channels", "channels"},
    {"kernel_size", "kernel"},
    {"kernel_size", "size"},
    {"pool_size", "size"},
    {"scale_factor", "factor"},
    {"use_bias", "bias"},
    {"num_groups", "groups"},
    {"rate", "p"},
    {"requires_grad", "trainable"},
    {"frozen", "trainable"},
};

constexpr OtherName kValues[] = {
    {"dense", "linear"},
    {"fc", "linear"},
    {"fully_connected", "linear"},
    {"conv", "conv2d"},
    {"convolution", "conv2d"},
    {"maxpool", "max_pool2d"},
    {"avgpool", "avg_pool2d"},
    {"adaptive_avg_pool2d", "global_avg_pool"},
    {"adaptiveavgpool2d", "global_avg_pool"},
    {"global_average_pooling2d", "global_avg_pool"},
    {"concatenate", "concat"},
    {"cat", "concat"},
    {"upsampling2d", "upsample"},
    {"upsample_nearest", "upsample"},
    {"interpolate", "upsample"},
    {"bn", "batch_norm"},
    {"swish", "silu"},
    {"leakyrelu", "leaky_relu"},
    {"steplr", "step"},
    {"multisteplr", "multi_step"},
    {"exponentiallr", "exponential"},
    {"cosineannealinglr", "cosine"},
    {"polynomiallr", "polynomial"},
    {"linearlr", "polynomial"},
    {"reduce_on_plateau", "plateau"},
    {"reducelronplateau", "plateau"},
    {"nll", "cross_entropy"},
    {"nllloss", "cross_entropy"},
    {"crossentropyloss", "cross_entropy"},
    {"cross_entropy_loss", "cross_entropy"},
    {"categorical_crossentropy", "cross_entropy"},
    {"sparse_categorical_crossentropy", "cross_entropy"},
    {"softmax", "cross_entropy"},
    {"l2", "mse"},
    {"mse_loss", "mse"},
    {"mseloss", "mse"},
    {"mean_squared_error", "mse"},
    {"bce", "binary_cross_entropy"},
    {"bceloss", "binary_cross_entropy"},
    {"bce_with_logits", "binary_cross_entropy"},
    {"bcewithlogitsloss", "binary_cross_entropy"},
    {"binary_cross_entropy_with_logits", "binary_cross_entropy"},
    {"binary_crossentropy", "binary_cross_entropy"},
    {"mae", "l1"},
    {"l1_loss", "l1"},
    {"l1loss", "l1"},
    {"mean_absolute_error", "l1"},
    {"huber_loss", "huber"},
    {"huberloss", "huber"},
    {"smoothl1loss", "huber"},
    {"smooth_l1", "huber"},
    {"smooth_l1_loss", "huber"},
    {"momentum", "sgd"},
    {"nesterov", "sgd"},
    {"cosine_annealing", "cosine"},
    {"linear", "polynomial"},
    {"float32", "fp32"},
    {"float", "fp32"},
    {"amp", "bf16"},
    {"bfloat16", "bf16"},
    {"fp16", "bf16"},
    {"float16", "bf16"},
    {"half", "bf16"},
    {"mixed", "bf16"},
};

std::vector<std::string_view> meant_by(std::string_view name, std::span<const OtherName> names) {
  std::vector<std::string_view> meant;
  const std::string word = lower_case(std::string(name));
  for (const OtherName& known : names)
    if (word == known.other) meant.push_back(known.here);
  return meant;
}

}  // namespace

std::vector<std::string_view> keys_meant_by(std::string_view name) {
  return meant_by(name, kKeys);
}

std::vector<std::string_view> values_meant_by(std::string_view value) {
  return meant_by(value, kValues);
}

}  // namespace quern
