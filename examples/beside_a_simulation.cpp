// SPDX-License-Identifier: Apache-2.0
// Some ranks of an MPI program simulate, the others learn from them: of a rod that cools down, how
// warm is it in its middle? The program has started MPI, and lends Quern a communicator.
//
//   mpirun -n 3 beside_a_simulation RUN_FOLDER  (rank 0 simulates, the others train)
#include <mpi.h>

#include <cstdio>
#include <quern/comm/agree.hpp>
#include <quern/config/read_recipe.hpp>
#include <quern/runtime/ranks.hpp>
#include <quern/samples/own_samples.hpp>
#include <quern/train/training_run.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr const char* kRecipe = R"(
name = "rod"
data = {source = "program", target = "values", global_batch = 64}
loss = {type = "mse"}
optimizer = {type = "adam", lr = 0.01}
train = {epochs = 200}
checkpoint = {every_epochs = 200}

[network]
input = [2]
layers = [
  {type = "linear", features = 32}, {type = "tanh"},
  {type = "linear", features = 32}, {type = "tanh"},
  {type = "linear", features = 1},
])";

constexpr int kSamples = 1024;
constexpr int kSimulating = 0;  // the rank

// A rod of temperature 1 whose ends are kept at 0: explicit steps of the heat equation.
float middle_temperature(float diffusivity, float time) {
  constexpr int kPoints = 17;
  constexpr int kSteps = 400;
  std::vector<float> now(kPoints, 1.0f);
  now.front() = now.back() = 0;
  const float rate = diffusivity * time * (kPoints - 1) * (kPoints - 1) / kSteps;
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<float> before = now;
    for (std::size_t i = 1; i + 1 < kPoints; ++i)
      now[i] += rate * (before[i - 1] - 2 * before[i] + before[i + 1]);
  }
  return now[kPoints / 2];
}

struct Simulated {
  std::vector<float> settings = std::vector<float>(2 * kSamples);  // diffusivity and time
  std::vector<float> temperatures = std::vector<float>(kSamples);
};

void simulate(Simulated& data) {
  for (std::size_t i = 0; i < kSamples; ++i) {
    const float diffusivity = 0.1f + 0.9f * static_cast<float>(i % 32) / 31;
    const float time = 0.4f * static_cast<float>(i / 32) / 31;
    data.settings[2 * i] = diffusivity;
    data.settings[2 * i + 1] = time;
    data.temperatures[i] = middle_temperature(diffusivity, time);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "runs/rod";
  int provided = 0;
  int rank = 0;
  int size = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) {
    std::fputs("beside_a_simulation: one rank (expected at least two: one simulates)\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  Simulated data;
  if (rank == kSimulating) simulate(data);
  MPI_Bcast(data.settings.data(), 2 * kSamples, MPI_FLOAT, kSimulating, MPI_COMM_WORLD);
  MPI_Bcast(data.temperatures.data(), kSamples, MPI_FLOAT, kSimulating, MPI_COMM_WORLD);

  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == kSimulating ? 0 : 1, rank, &group);
  quern::ExitCode code = quern::ExitCode::done;
  double error = 0;
  if (rank != kSimulating) {
    code = quern::run_on_ranks_of(MPI_Comm_c2f(group), [&](quern::Communicator& comm) {
      quern::RunOptions options{.folder = folder};
      const quern::Recipe recipe = quern::agree(comm, [&] {
        options.train = quern::make_target_samples({2}, data.settings, 1, data.temperatures);
        options.test = options.train;
        return quern::parse_recipe(kRecipe, "beside_a_simulation");
      });
      quern::TrainingRun run(comm, recipe, std::move(options));
      const quern::ExitCode trained = run.train();
      error = run.evaluate().loss;
      return trained;
    });
  }
  // Here the simulation would continue. It only waits for what the others have learned.
  int status = static_cast<int>(code);
  MPI_Bcast(&status, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
  MPI_Bcast(&error, 1, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
  if (rank == kSimulating && status == 0)
    std::printf("mean squared error %g on %d ranks\n", error, size - 1);
  MPI_Comm_free(&group);
  MPI_Finalize();
  return status;
}
