// SPDX-License-Identifier: Apache-2.0
#include "config/recipe_keys.hpp"

#include <string>

#include "config/data_keys.hpp"
#include "config/layer_keys.hpp"
#include "config/layer_list.hpp"
#include "config/table_keys.hpp"
#include "spec/words.hpp"

namespace quern {

namespace {

using Keys = std::vector<Key<Recipe>>;

void add_top(Keys& list) {
  TableKeys keys(
      list, "", [](auto& recipe) -> auto& { return recipe; });
  keys.string("name", &Recipe::name,
              "Name of the run, shown in reports and messages, and of its folder in runs/ unless "
              "--run-dir names another")
      .required()
      .free_to_change();
  keys.integer("seed", &Recipe::seed, at_least(0),
               "Seed of all random numbers: weights, shuffle, dropout, random data");
}

void add_network(Keys& list) {
  TableKeys keys(
      list, "network", [](auto& recipe) -> auto& { return recipe.network; });
  Key<Recipe>& input =
      keys.add("input", "[channels, height, width] or [features]", "Shape of one sample");
  input.required();
  input.read = [](const toml::node& node, const ValueContext& context, Recipe& recipe) {
    read_shape(node, context, recipe.network.input);
  };
  input.write = [](const Recipe& recipe) { return to_string(recipe.network.input); };
  Key<Recipe>& layers =
      keys.add("layers", "array of tables", "The layers in order, see below for their keys");
  layers.required();
  layers.read = [](const toml::node& node, const ValueContext& context, Recipe& recipe) {
    // "input" comes before "layers": tables are read in the order of the alphabet.
    read_layers(node, context, recipe.network.input, recipe.network.layers);
  };
  layers.write = [](const Recipe& recipe) { return write_layers(recipe.network.layers); };

  TableKeys init(
      list, "network.init", [](auto& recipe) -> auto& { return recipe.network.init; });
  init.choice<InitType>(
      "type", &InitSpec::type,
      {{"default", InitType::pytorch},
       {"normal", InitType::normal},
       {"kaiming", InitType::kaiming},
       {"checkpoint", InitType::checkpoint}},
      "Initial weights: PyTorch's default of each layer, uniform in "
      "+-1/sqrt(fan_in); normal with biases 0; or the default but for the weights "
      "of convolutions, which are normal with deviation sqrt(2/fan_out) "
      "(He, for residual networks); or those of a file, for fine-tuning");
  init.number("std", &InitSpec::std, above_zero(), "Standard deviation of the weights")
      .only_with("network.init.type", {"normal"});
  init.string("file", &InitSpec::file,
              "A checkpoint, a run folder (its newest good checkpoint) or a safetensors file. A "
              "run that "
              "is resumed does not need it any more")
      .only_with("network.init.type", {"checkpoint"})
      .required();
  init.strings(
          "only", &InitSpec::only,
          "Layers, or first parts of their names (`\"layer1\"`), that get their weights from "
          "the file; the others begin as with `\"default\"`. Without this key names and shapes "
          "of the file must be those of the network, one by one")
      .only_with("network.init.type", {"checkpoint"});
  init.strings("rename", &InitSpec::rename,
               "`\"OLD=NEW\"`: names in the file that begin with OLD begin with NEW in the network "
               "(`\"module.=\"`, `\"fc=head\"`), and with an empty OLD all names (`\"=net.\"`); "
               "one after the "
               "other. A rule "
               "that fits no tensor of the file is an error")
      .only_with("network.init.type", {"checkpoint"});
}

void add_loss(Keys& list) {
  TableKeys keys(
      list, "loss", [](auto& recipe) -> auto& { return recipe.loss; });
  keys.choice(
          "type", &LossSpec::type, words_of<LossType>(),
          "`cross_entropy`: of the softmax, for classes. For numbers the mean over all units, "
          "`mse`: of the squared error; `l1`: of the absolute error; `huber`: of half the squared "
          "error up to `loss.delta` and of a straight line beyond; `binary_cross_entropy`: of the "
          "sigmoid, for targets from 0 to 1; `custom`: of a C++ program")
      .required();
  keys.number("label_smoothing", &LossSpec::label_smoothing, from_to(0, 1),
              "Share of the target that all classes get alike, so that the label has 1 - "
              "label_smoothing + label_smoothing / classes, in training and evaluation")
      .only_with("loss.type", {"cross_entropy"})
      .left_out_when("0.0")
      .defaults_to("`0.0`");
  keys.number("pos_weight", &LossSpec::pos_weight, above_zero(),
              "How much a target of 1 counts beside one of 0, in training and evaluation")
      .only_with("loss.type", {"binary_cross_entropy"})
      .left_out_when("1.0")
      .defaults_to("`1.0`");
  keys.number("delta", &LossSpec::delta, above_zero(),
              "Errors up to this size count by half their square, larger ones by delta times "
              "(their size - delta / 2); of normalized targets in units of `std`")
      .only_with("loss.type", {"huber"})
      .defaults_to("`1.0`");
  keys.string("kind", &LossSpec::kind, "Name under which a C++ program has registered the loss")
      .only_with("loss.type", {"custom"})
      .required();
}

void add_class_weights(Keys& list) {
  using W = ClassWeightsSpec;
  TableKeys keys(
      list, "loss.class_weights", [](auto& recipe) -> auto& { return recipe.loss.class_weights; });
  keys.choice<ClassWeightsType>(
          "type", &W::type,
          {{"none", ClassWeightsType::none},
           {"balanced", ClassWeightsType::balanced},
           {"given", ClassWeightsType::given}},
          "How much a sample of each class counts in the loss, in training and evaluation: as much "
          "as any other; the more, the fewer training samples its class has (samples / (classes "
          "that occur x "
          "samples of the class)); or given numbers. Checkpoints keep the numbers")
      .only_with("loss.type", {"cross_entropy"})
      .left_out_when("\"none\"")
      .defaults_to("`\"none\"`");
  keys.numbers("values", &W::values, at_least(0), "One for each class")
      .only_with("loss.class_weights.type", {"given"})
      .required();
}

void add_optimizer(Keys& list) {
  using O = OptimizerSpec;
  TableKeys keys(
      list, "optimizer", [](auto& recipe) -> auto& { return recipe.optimizer; });
  keys.choice("type", &O::type, words_of<OptimizerType>(),
              "How gradients move the weights; lars and lamb are for large batches")
      .required();
  keys.number("lr", &O::lr, above_zero(), "Learning rate").required();
  keys.number("momentum", &O::momentum, from_zero_below_one(),
              "Fraction of the previous step that is kept")
      .only_with("optimizer.type", {"sgd", "lars"});
  keys.boolean("nesterov", &O::nesterov, "Nesterov's form of momentum")
      .only_with("optimizer.type", {"sgd", "lars"});
  keys.number("weight_decay", &O::weight_decay, at_least(0),
              "Weight decay: an L2 term in the gradient; with adamw and lamb decoupled from the "
              "gradient");
  keys.choice<DecayScope>("decay", &O::decay,
                          {{"all", DecayScope::all}, {"weights", DecayScope::weights}},
                          "What weight decay applies to: every parameter, as PyTorch does by "
                          "default, or weights alone: no bias, and nothing of a normalisation");
  Key<Recipe>& betas = keys.add("betas", "[number in [0, 1), number in [0, 1)]",
                                "Decay of the running mean and of the running square");
  betas.only_with("optimizer.type", {"adam", "adamw", "lamb"});
  betas.read = [](const toml::node& node, const ValueContext& context, Recipe& recipe) {
    read_number_pair(node, context, from_zero_below_one(), recipe.optimizer.beta1,
                     recipe.optimizer.beta2);
  };
  betas.write = [](const Recipe& recipe) {
    return "[" + to_toml_text(recipe.optimizer.beta1) + ", " +
           to_toml_text(recipe.optimizer.beta2) + "]";
  };
  keys.number("eps", &O::eps, above_zero(), "Keeps the division by the running square finite")
      .only_with("optimizer.type", {"adam", "adamw", "lamb"});
  keys.number("trust_coefficient", &O::trust_coefficient, above_zero(),
              "The step of a weight tensor, relative to its norm, at a learning rate of 1")
      .only_with("optimizer.type", {"lars"});
  keys.number("clip_norm", &O::clip_norm, at_least(0),
              "Gradients are scaled down to at most this L2 norm; 0: never");
}

void add_schedule(Keys& list) {
  using S = ScheduleSpec;
  TableKeys keys(
      list, "optimizer.schedule", [](auto& recipe) -> auto& { return recipe.optimizer.schedule; });
  keys.choice("type", &S::type, words_of<ScheduleType>(),
              "How the learning rate changes after the warm-up");
  keys.integer(
      "warmup_steps", &S::warmup_steps, at_least(0),
      "The rate rises linearly over this many steps: to `lr` / warmup_steps in the first, to "
      "`lr` in the last");
  keys.integer("warmup_epochs", &S::warmup_epochs, at_least(0),
               "The same over the steps of this many epochs; expected without `warmup_steps`")
      .left_out_when_zero()
      .defaults_to("`0`");
  keys.integer("every_epochs", &S::every_epochs, at_least(1),
               "Epochs, counted from the start of the run, after which the rate is multiplied by "
               "`gamma`, again and again")
      .only_with("optimizer.schedule.type", {"step"});
  keys.integers("milestones", &S::milestones, at_least(1), kMaxMilestones,
                "Epochs in increasing order, counted from the start of the run, after each of "
                "which the rate is multiplied by `gamma`")
      .only_with("optimizer.schedule.type", {"multi_step"})
      .required();
  keys.integer("patience", &S::patience, at_least(1),
               "Epochs without a better evaluation of `data.test` after which the rate is "
               "multiplied by `gamma`, again and again; a multiple of `train.evaluate_every`")
      .only_with("optimizer.schedule.type", {"plateau"});
  keys.number("gamma", &S::gamma, above_zero_to_one(),
              "See `every_epochs`, `milestones` and `patience`; with exponential the rate is "
              "multiplied by it after every epoch")
      .only_with("optimizer.schedule.type", {"step", "multi_step", "exponential", "plateau"});
  keys.number("power", &S::power, above_zero(),
              "The rate falls as this power of the part of the run that is left; 1: in a line")
      .only_with("optimizer.schedule.type", {"polynomial"});
  keys.number("min_lr", &S::min_lr, at_least(0),
              "Where the rate ends, after the last step of the run; with plateau it falls no "
              "lower")
      .only_with("optimizer.schedule.type", {"polynomial", "cosine", "plateau"});
}

void add_train(Keys& list) {
  using T = TrainSpec;
  TableKeys keys(
      list, "train", [](auto& recipe) -> auto& { return recipe.train; });
  keys.integer("epochs", &T::epochs, at_least(1), "Passes over the training data").free_to_change();
  keys.integer("evaluate_every", &T::evaluate_every, at_least(1),
               "Epochs between evaluations of `data.test`; the last epoch always ends with one")
      .left_out_when("1")
      .defaults_to("`1`")
      .free_to_change();
  keys.integer("patience", &T::patience, at_least(0),
               "The training ends after so many epochs without a better evaluation of `data.test`, "
               "a multiple of `evaluate_every`; 0: after `epochs`")
      .free_to_change();
  keys.choice("monitor", &T::monitor, words_of<Monitor>(),
              "Which evaluation is better, for `train.patience`, a plateau and "
              "`checkpoint.keep_best`: that with the lower loss, or with the higher "
              "accuracy")
      .free_to_change();
  keys.choice<Determinism>(
      "determinism", &T::determinism,
      {{"rank-invariant", Determinism::rank_invariant}, {"fast", Determinism::fast}},
      "Bit-identical for any number of ranks and threads, or plain sums");
  keys.choice(
      "precision", &T::precision, words_of<Precision>(),
      "What operands of products are rounded to (linear layers and convolutions); sums stay fp32. "
      "tf32 needs the tensor cores of an NVIDIA GPU, bf16 those or a CPU, where AMX or "
      "AVX512_BF16 makes it fast");
  keys.choice<Bf16Sums>("bf16_sums", &T::bf16_sums,
                        {{"tiles", Bf16Sums::tiles}, {"pairs", Bf16Sums::pairs}},
                        "In which order a CPU adds products in bf16: `\"tiles\"` is fast with AMX, "
                        "`\"pairs\"` with AVX512_BF16; each has the same bits on all processors")
      .only_with("train.precision", {"bf16"});
  keys.choice<Convolution>("convolution", &T::convolution,
                           {{"direct", Convolution::direct}, {"winograd", Convolution::winograd}},
                           "`\"winograd\"`: a CPU computes convolutions of 3 x 3 pixels with "
                           "stride 1 on at least 16 "
                           "channels with 16 products in place of 36 (numerics.md)")
      .only_with("train.precision", {"fp32"});
  keys.integer(
      "micro_block", &T::micro_block, at_least(0),
      "Samples of a leaf of the fixed summation tree; 0: chosen from the global batch, the "
      "layers and the precision");
  keys.boolean("recompute", &T::recompute,
               "Outputs inside of segments of the network are not kept but computed again in the "
               "backward pass: about half the memory for a third more work; the bits stay the same")
      .free_to_change();
  keys.integer("log_every_steps", &T::log_every_steps, at_least(0),
               "Steps between the lines in metrics.jsonl; 0: only epochs")
      .free_to_change();
  keys.boolean("per_rank_loss", &T::per_rank_loss,
               "Print every rank's own sum of batch losses after each epoch")
      .free_to_change();
}

void add_parallel(Keys& list) {
  using P = ParallelSpec;
  TableKeys keys(
      list, "parallel", [](auto& recipe) -> auto& { return recipe.parallel; });
  keys.choice<CommBackend>("backend", &P::backend,
                           {{"auto", CommBackend::automatic},
                            {"serial", CommBackend::serial},
                            {"mpi", CommBackend::mpi},
                            {"nccl", CommBackend::nccl}},
                           "How the ranks' gradients travel: `\"mpi\"` through host memory, "
                           "`\"nccl\"` between GPUs; `\"auto\"` takes the fastest available")
      .free_to_change();
  keys.choice<SplitStrategy>("strategy", &P::strategy,
                             {{"keys", SplitStrategy::by_keys},
                              {"single", SplitStrategy::single},
                              {"data", SplitStrategy::data},
                              {"sharded", SplitStrategy::sharded},
                              {"pipeline", SplitStrategy::pipeline},
                              {"tensor", SplitStrategy::tensor}},
                             "How the training is split, in a word: not at all (`\"single\"`), by "
                             "samples (`\"data\"`), with `shard_optimizer` (`\"sharded\"`), into "
                             "a stage for each rank (`\"pipeline\"`, where `pipeline` and "
                             "`micro_batches` do not say otherwise), every layer over all ranks "
                             "(`\"tensor\"`, where `tensor` does not say otherwise); `\"keys\"`: "
                             "as the other keys say")
      .free_to_change();
  keys.integer("tensor", &P::tensor, at_least(1),
               "Ranks that share the units of each linear and conv2d layer")
      .free_to_change();
  keys.integer(
      "tensor_slices", &P::tensor_slices, at_least(0),
      "Slices of those units, the same number on each of these ranks: the bits depend on "
      "it, and not on `tensor`; 0: `tensor`, doubled until it is 8 or more, but none where "
      "`tensor` is 1 and `strategy` is not `\"tensor\"` (parallelism.md)");
  keys.integer("pipeline", &P::pipeline, at_least(1),
               "Stages that the network is cut into, each on ranks of its own")
      .free_to_change();
  Key<Recipe>& cut = keys.add(
      "cut", "array of strings",
      "Where each stage but the first begins: names of layers or of blocks (`\"layer3\"`); "
      "by default where the multiply-adds of the stages come out most alike");
  cut.free_to_change();
  cut.read = [](const toml::node& node, const ValueContext& context, Recipe& recipe) {
    recipe.parallel.cut.clear();
    read_layer_names(node, context, recipe.parallel.cut);
  };
  cut.write = [](const Recipe& recipe) { return layer_names_text(recipe.parallel.cut); };
  keys.choice<PipelineSchedule>(
          "schedule", &P::schedule,
          {{"1f1b", PipelineSchedule::one_forward_one_backward},
           {"gpipe", PipelineSchedule::gpipe}},
          "Order of a stage's work: `\"1f1b\"` holds few micro-batches at a time, "
          "`\"gpipe\"` all of them")
      .free_to_change();
  keys.integer(
          "micro_batches", &P::micro_batches, at_least(1),
          "Each rank processes its part of a batch in up to this many micro-batches, one after the "
          "other, "
          "which need less memory and keep the stages of a pipeline busy; the bits stay the same")
      .free_to_change();
  keys.boolean(
          "shard_optimizer", &P::shard_optimizer,
          "Each rank keeps the optimizer's state of its own parameters alone, updates these and "
          "sends them to the others; the bits stay the same")
      .free_to_change();
  keys.boolean("balance", &P::balance,
               "Ranks of one node whose cores are slower than others', or shared with other "
               "programs, compute fewer micro-blocks of a batch, those with faster ones more: at "
               "most half as many again, for which they need memory. The bits stay the same")
      .free_to_change();
}

void add_checkpoint(Keys& list) {
  using C = CheckpointSpec;
  TableKeys keys(
      list, "checkpoint", [](auto& recipe) -> auto& { return recipe.checkpoint; });
  keys.integer("every_epochs", &C::every_epochs, at_least(0),
               "Epochs between checkpoints; 0: none. The last step always writes one")
      .free_to_change();
  keys.integer("every_steps", &C::every_steps, at_least(0), "The same, in steps").free_to_change();
  keys.number("every_seconds", &C::every_seconds, at_least(0), "The same, in seconds")
      .free_to_change();
  keys.integer("keep", &C::keep, at_least(1), "How many checkpoints are kept, the newest")
      .free_to_change();
  keys.boolean("keep_best", &C::keep_best,
               "The checkpoint of the best evaluation of `data.test` is kept as well, as `best.h5` "
               "beside the others; each better one is written, whatever `every_epochs` says")
      .free_to_change();
}

// The optimizer's state means the same under other settings, but not to another type.
void let_settings_of_optimizer_change(Keys& list) {
  for (Key<Recipe>& key : list) {
    if (key.path.starts_with("optimizer.") && key.path != "optimizer.type")
      key.may_change = MayChange::on_request;
  }
}

}  // namespace

const std::vector<Key<Recipe>>& recipe_keys() {
  static const std::vector<Key<Recipe>> keys = [] {
    Keys list;
    add_top(list);
    add_data_keys(list);
    add_network(list);
    add_loss(list);
    add_class_weights(list);
    add_optimizer(list);
    add_schedule(list);
    add_train(list);
    add_parallel(list);
    add_checkpoint(list);
    let_settings_of_optimizer_change(list);
    return list;
  }();
  return keys;
}

}  // namespace quern
