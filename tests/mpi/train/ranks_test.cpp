// SPDX-License-Identifier: Apache-2.0
// Several ranks against one: every rank also runs the whole batch by itself and compares.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "checkpoint/reader.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "comm/serial/communicator.hpp"
#include "runtime/host_staged_transport.hpp"
#include "support/temp_dir.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"
#include "train/trainer.hpp"

namespace quern::test {

namespace {

using quern::testing::world;

struct Result {
  std::vector<float> weights;
  std::vector<double> losses;
};

// What ranks on devices, perhaps all on one, need to reach each other.
std::unique_ptr<DeviceTransport> transport_of(Communicator& comm) {
  if (kHostExecution || comm.size() == 1) return nullptr;
  return std::make_unique<HostStagedTransport>(comm);
}

// Two epochs of single steps.
Result run_steps(Communicator& comm, const Recipe& recipe, const Samples& samples,
                 DeviceTransport* transport = nullptr) {
  Model model(recipe);
  const auto own_transport = transport_of(comm);
  TrainingStep step(recipe, comm, model, samples, transport ? transport : own_transport.get());
  Result result;
  for (int epoch = 0; epoch < 2; ++epoch) {
    step.set_position({.step = epoch * step.steps_per_epoch(), .epoch = epoch});
    for (std::int64_t i = 0; i < step.steps_per_epoch(); ++i) {
      result.losses.push_back(step.run(ExecSpace(), false).loss);
    }
  }
  result.weights = to_vector(model.parameters());
  return result;
}

struct Case {
  int count;
  int batch;
  int micro_block;
};

// Full batches and last ones with fewer blocks than ranks, with as many, and with more. {18, 10, 2}
// on four ranks: five blocks are 2, 2, 1, 0, and the four of the last batch 1, 1, 1, 1.
const std::vector<Case> kCases = {{18, 10, 2}, {24, 8, 1}, {9, 8, 8}, {7, 7, 2}, {33, 32, 4}};

// A residual block on the identity: ranks without samples add and sum nothing.
const std::string kBranches =
    "network.layers=[{type=\"conv2d\", channels=3, kernel=3, padding=1}, {type=\"relu\"}, "
    "{type=\"conv2d\", channels=3, kernel=3, padding=1}, "
    "{type=\"add\", inputs=[\"conv2\", \"relu1\"]}, {type=\"relu\"}, {type=\"flatten\"}, "
    "{type=\"dropout\", p=0.2}, {type=\"linear\", features=5}]";

std::vector<std::string> overrides(const Case& c) {
  return {"train.micro_block=" + std::to_string(c.micro_block)};
}

}  // namespace

TEST(Ranks, SameBitsAsOneRank) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::to_string(c.count) + " samples, batch " + std::to_string(c.batch));
    const Samples samples = image_samples(c.count, kImage, 5);
    const Recipe recipe = image_recipe(c.batch, overrides(c));
    SerialCommunicator alone;
    const Result expected = run_steps(alone, recipe, samples);
    const Result actual = run_steps(world(), recipe, samples);
    EXPECT_EQ(actual.losses, expected.losses);
    EXPECT_EQ(actual.weights, expected.weights);
  }
}

TEST(Ranks, SameBitsAsOneRankWithBranches) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::to_string(c.count) + " samples, batch " + std::to_string(c.batch));
    const Samples samples = image_samples(c.count, kImage, 5);
    std::vector<std::string> sets = overrides(c);
    sets.push_back(kBranches);
    const Recipe recipe = image_recipe(c.batch, sets);
    SerialCommunicator alone;
    const Result expected = run_steps(alone, recipe, samples);
    const Result actual = run_steps(world(), recipe, samples);
    EXPECT_EQ(actual.losses, expected.losses);
    EXPECT_EQ(actual.weights, expected.weights);
  }
}

TEST(Ranks, SameBitsAsOneRankForEveryOptimizerAndWhenClipping) {
  const Samples samples = image_samples(18, kImage, 5);
  for (const char* optimizer :
       {"{type=\"sgd\", lr=0.05}", "{type=\"sgd\", lr=0.05, momentum=0.9}",
        "{type=\"adamw\", lr=0.01}", "{type=\"adam\", lr=0.01, clip_norm=0.1}",
        "{type=\"lars\", lr=0.5, trust_coefficient=0.02}",
        "{type=\"lars\", lr=0.5, momentum=0.9, weight_decay=0.01, clip_norm=0.1}",
        "{type=\"lamb\", lr=0.01, weight_decay=0.01}"}) {
    const Recipe recipe =
        image_recipe(10, {"train.micro_block=2", std::string("optimizer=") + optimizer});
    SerialCommunicator alone;
    const Result expected = run_steps(alone, recipe, samples);
    const Result actual = run_steps(world(), recipe, samples);
    EXPECT_EQ(actual.losses, expected.losses) << optimizer;
    EXPECT_EQ(actual.weights, expected.weights) << optimizer;
  }
}

// The way of gradients on devices, moved by MPI.
TEST(Ranks, SameBitsAsOneRankThroughATransport) {
  HostStagedTransport transport(world());
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::to_string(c.count) + " samples, batch " + std::to_string(c.batch));
    const Samples samples = image_samples(c.count, kImage, 5);
    const Recipe recipe = image_recipe(c.batch, overrides(c));
    SerialCommunicator alone;
    const Result expected = run_steps(alone, recipe, samples);
    const Result actual = run_steps(world(), recipe, samples, &transport);
    EXPECT_EQ(actual.losses, expected.losses);
    EXPECT_EQ(actual.weights, expected.weights);
  }
}

// In pieces, however many, on one rank and on all, by each way of adding.
TEST(Ranks, SameBitsInPieces) {
  HostStagedTransport transport(world());
  for (const Case& c : kCases) {
    const Samples samples = image_samples(c.count, kImage, 5);
    SerialCommunicator alone;
    const Result expected = run_steps(alone, image_recipe(c.batch, overrides(c)), samples);
    for (const int pieces : {2, 3, 7}) {
      SCOPED_TRACE(std::to_string(c.count) + " samples, batch " + std::to_string(c.batch) + ", " +
                   std::to_string(pieces) + " pieces");
      auto sets = overrides(c);
      sets.push_back("parallel.micro_batches=" + std::to_string(pieces));
      const Recipe recipe = image_recipe(c.batch, sets);
      for (const Result& actual :
           {run_steps(alone, recipe, samples), run_steps(world(), recipe, samples),
            run_steps(world(), recipe, samples, &transport)}) {
        EXPECT_EQ(actual.losses, expected.losses);
        EXPECT_EQ(actual.weights, expected.weights);
      }
    }
  }
}

TEST(Ranks, PiecesLeaveFastSumsRankLossesAndEvaluationsAsTheyAre) {
  const Samples samples = image_samples(33, kImage, 5);
  const auto run = [&](const std::string& pieces) {
    const Recipe recipe = image_recipe(
        32, {"train.micro_block=2", "train.determinism=fast", "train.per_rank_loss=true",
             "optimizer.clip_norm=0.1", "parallel.micro_batches=" + pieces});
    Model model(recipe);
    const auto transport = transport_of(world());
    TrainingStep step(recipe, world(), model, samples, transport.get());
    std::vector<double> results;
    for (int i = 0; i < 2; ++i) {
      const StepReport report = step.run(ExecSpace(), false);
      results.insert(results.end(), {report.loss, report.correct, report.rank_loss});
    }
    Evaluator evaluator(
        world(), model, samples,
        evaluation_batches(recipe, 32, samples.count, recipe.parallel.micro_batches),
        transport.get());
    const Evaluation evaluation = evaluator.run(ExecSpace());
    results.insert(results.end(), {evaluation.loss, evaluation.accuracy()});
    const std::vector<float> weights = to_vector(model.parameters());
    results.insert(results.end(), weights.begin(), weights.end());
    return results;
  };
  const std::vector<double> whole = run("1");
  EXPECT_EQ(run("3"), whole);
  EXPECT_EQ(run("100"), whole);
}

TEST(Ranks, SameBitsAsOneRankWithWindowsOfImages) {
  const Samples samples = image_samples(18, kImage, 5);
  const Recipe recipe =
      image_recipe(10, {"train.micro_block=2", "data.augment={crop = 3, flip = true}"});
  SerialCommunicator alone;
  const Result expected = run_steps(alone, recipe, samples);
  const Result actual = run_steps(world(), recipe, samples);
  EXPECT_EQ(actual.losses, expected.losses);
  EXPECT_EQ(actual.weights, expected.weights);
  EXPECT_NE(expected.weights,
            run_steps(alone, image_recipe(10, {"train.micro_block=2"}), samples).weights);
}

TEST(Ranks, FastModeAgreesUpToRounding) {
  for (const Case& c : kCases) {
    const Samples samples = image_samples(c.count, kImage, 5);
    auto sets = overrides(c);
    sets.push_back("train.determinism=fast");
    sets.push_back("optimizer={type=\"sgd\", lr=0.05}");
    const Recipe recipe = image_recipe(c.batch, sets);
    SerialCommunicator alone;
    const Result expected = run_steps(alone, recipe, samples);
    const Result actual = run_steps(world(), recipe, samples);
    ASSERT_EQ(actual.weights.size(), expected.weights.size());
    for (std::size_t i = 0; i < actual.weights.size(); ++i) {
      EXPECT_NEAR(actual.weights[i], expected.weights[i], 1e-5);
    }
  }
}

TEST(Ranks, EvaluationIsExactAlsoWithFewerSamplesThanRanks) {
  for (const int count : {1, 2, 3, 5, 16, 50}) {
    const Samples samples = image_samples(count, kImage, 5);
    // The residual block, too.
    std::vector<std::string> sets = {"train.micro_block=2"};
    if (count % 2 == 1) sets.push_back(kBranches);
    const Recipe recipe = image_recipe(10, sets);
    const auto evaluate = [&](Communicator& comm, DeviceTransport* transport = nullptr) {
      Model model(recipe);
      const auto own_transport = transport_of(comm);
      Evaluator evaluator(comm, model, samples, evaluation_batches(recipe, 10, count),
                          transport ? transport : own_transport.get());
      model.allocate(evaluator.limit());
      return evaluator.run(ExecSpace());
    };
    SerialCommunicator alone;
    const Evaluation expected = evaluate(alone);
    const Evaluation actual = evaluate(world());
    EXPECT_EQ(actual.samples, count);
    EXPECT_EQ(actual.correct, expected.correct);
    EXPECT_EQ(actual.loss, expected.loss);
    HostStagedTransport transport(world());
    EXPECT_EQ(evaluate(world(), &transport).loss, expected.loss);
  }
}

// The whole trainer, with evaluations on a test set smaller than a batch (other shares of blocks
// than in training), stopped after every step.
TEST(Ranks, StoppedAndResumedTrainerGivesTheSameBits) {
  const Samples samples = image_samples(18, kImage, 5);
  const Samples test = image_samples(8, kImage, 5);
  const Recipe recipe =
      image_recipe(10, {"train.micro_block=2", "train.epochs=2", "data.augment={crop = 3}"});
  SerialCommunicator alone;
  const Result expected = run_steps(alone, recipe, samples);

  TempDir own;
  const std::filesystem::path shared = broadcast_string(world(), own.path().string());
  const RunFolder folder(shared / "run");
  if (world().rank() == 0) {
    std::filesystem::create_directories(folder.path());
    std::ofstream(folder.stop_file()) << "";
  }
  ExitCode code = ExitCode::requeue;
  int runs = 0;
  for (; code == ExitCode::requeue && runs < 10; ++runs) {
    Model model(recipe);
    const auto transport = transport_of(world());
    Trainer trainer(recipe, world(), folder, model, samples, &test,
                    {.transports = transport.get(), .report_every_steps = 1});
    std::optional<LoadedCheckpoint> start;
    if (world().rank() == 0) start = load_newest_good(folder.checkpoints(), nullptr);
    if (broadcast_value(world(), start.has_value())) {
      trainer.resume(start ? &start->state() : nullptr);
    }
    code = trainer.run();
    if (code != ExitCode::done) continue;
    EXPECT_EQ(to_vector(model.parameters()), expected.weights);
  }
  EXPECT_EQ(code, ExitCode::done);
  EXPECT_EQ(runs, 5) << "four steps, and the end of the last epoch";
  world().barrier();  // rank 0's folder goes now
}

TEST(Ranks, TooManyMicroBlocksAreRefusedByAll) {
  Samples samples;  // never looked at
  samples.count = 1 << 21;
  samples.shape = kImage;
  const Recipe recipe = image_recipe(1 << 21, {"train.micro_block=1"});
  Model model(recipe);
  EXPECT_THROW(TrainingStep(recipe, world(), model, samples), AgreedError);
}

}  // namespace quern::test
