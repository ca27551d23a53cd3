// SPDX-License-Identifier: Apache-2.0
#include "app/bench/workload.hpp"

#include "app/bench/samples.hpp"
#include "comm/agree.hpp"
#include "runtime/devices.hpp"
#include "train/load_recipe.hpp"

namespace quern {

BenchWorkload::BenchWorkload(Communicator& comm, const std::string& file,
                             const std::vector<std::string>& overrides)
    : recipe(load_recipe(comm, file, overrides)),
      model(agree(comm, [&] { return Model(recipe); })),
      samples(make_bench_samples(comm, recipe, model.network().output_shape())),
      transport(connect_devices(comm, recipe.parallel.backend)),
      step(recipe, comm, model, samples, transport.get()) {}

void BenchWorkload::run_steps(const ExecSpace& exec, int steps) {
  // The short last batch of an epoch is left out: all steps are alike.
  const std::int64_t per_epoch = samples.count / step.full_batch().samples();
  for (int i = 0; i < steps; ++i, ++steps_done_) {
    if (steps_done_ % per_epoch == 0)
      step.set_position({.step = steps_done_, .epoch = steps_done_ / per_epoch});
    step.enqueue(exec, false);
  }
  exec.fence("quern::app::bench_end");
}

}  // namespace quern
