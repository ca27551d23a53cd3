// SPDX-License-Identifier: Apache-2.0
// Whole training steps and evaluations as a profiler sees them: everything of ours has a label, all
// kernels run on the instance that was handed over, and a step neither allocates nor waits without
// need.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "comm/serial/communicator.hpp"
#include "inference/evaluator.hpp"
#include "inference/prediction.hpp"
#include "strategy/training_step.hpp"
#include "support/step_recipes.hpp"
#include "unit/tools/event_log.hpp"

namespace quern::test {

namespace {

bool is_ours(const std::string& label) {
  return label.rfind("quern::", 0) == 0;
}

// Kokkos waits before it calls a tool.
bool is_tool_fence(const Event& event) {
  return event.label == "Kokkos::Tools::invoke_kokkosp_callback: Kokkos Profile Tool Fence";
}

// The label inside "Kokkos::View::initialization [label]" or "... [label] via memset".
std::string initialized_view(const std::string& label) {
  const std::string before = "Kokkos::View::initialization [";
  if (label.rfind(before, 0) != 0) return "";
  return label.substr(before.size(), label.find(']') - before.size());
}

// What Kokkos says itself, on the host back ends: setting Views to zero, and the fences of copies
// that are not given an instance (setting up, reading checkpoints and reports).
bool is_kokkos(const Event& event) {
  static const std::set<std::string> fences = {
      "Kokkos::View::initialization",
      "Kokkos::View::initialization via memset",
      "Kokkos::HostSpace::impl_deallocate before free",
      "HostSpace::impl_deallocate before free",  // this and the next: Kokkos 4.6
      "HostSpace fence",
      "Kokkos::create_mirror_view_and_copy: fence before returning src view",
      "Kokkos::deep_copy: copy between contiguous views, pre view equality check",
      "Kokkos::deep_copy: copy between contiguous views, post deep copy fence",
      "Kokkos::deep_copy: scalar to scalar copy, pre copy fence"};
  if (event.kind == Event::Kind::fence) return is_tool_fence(event) || fences.count(event.label);
  return event.kind == Event::Kind::kernel && is_ours(initialized_view(event.label));
}

// Copies to host memory that is no View of its own have no label on that side.
bool is_labelled_copy(const Event& event) {
  const auto may_be = [](const std::string& label) { return label.empty() || is_ours(label); };
  return event.kind == Event::Kind::copy && may_be(event.label) && may_be(event.source) &&
         !(event.label.empty() && event.source.empty());
}

void expect_labelled(const std::vector<Event>& events) {
  for (const Event& event : events) {
    EXPECT_TRUE(is_labelled_copy(event) || is_kokkos(event) ||
                (event.kind != Event::Kind::copy && is_ours(event.label)))
        << to_string(event);
  }
}

struct Training {
  Training(const Recipe& r, const Samples& s)
      : recipe(r),
        samples(s),
        model(recipe),
        step(recipe, comm, model, samples),
        evaluator(comm, model, samples,
                  evaluation_batches(recipe, step.full_batch().samples(), samples.count,
                                     recipe.parallel.micro_batches)) {}
  SerialCommunicator comm;
  Recipe recipe;
  Samples samples;
  Model model;
  TrainingStep step;
  Evaluator evaluator;
};

}  // namespace

TEST(Events, EverythingOfOursHasALabel) {
  if (!kHostExecution) GTEST_SKIP() << "what Kokkos says itself is listed for host back ends only";
  for (const Recipe& recipe : step_recipes()) {
    const Samples samples = image_samples(25, recipe.network.input, 5);
    EventLog log;
    Training run(recipe, samples);
    expect_labelled(log.take());
    for (int i = 0; i < 2; ++i) run.step.run(ExecSpace(), false);
    run.evaluator.run(ExecSpace());
    run.step.non_finite_layer(ExecSpace());
    expect_labelled(log.take());
  }
}

TEST(Events, KernelsRunOnTheInstanceThatWasPassed) {
  const auto instances = Kokkos::Experimental::partition_space(ExecSpace(), 1);
  const ExecSpace& exec = instances.at(0);
  if (device_of(exec) == device_of(ExecSpace())) {
    GTEST_SKIP() << "the events of this back end do not tell instances apart";
  }
  for (const Recipe& recipe : step_recipes()) {
    const Samples samples = image_samples(25, recipe.network.input, 5);
    Training run(recipe, samples);
    EventLog log;
    for (int i = 0; i < 2; ++i) run.step.run(exec, false);
    run.evaluator.run(exec);
    int kernels = 0;
    for (const Event& event : log.take()) {
      if (event.kind != Event::Kind::kernel || !is_ours(event.label)) continue;
      ++kernels;
      EXPECT_EQ(event.device, device_of(exec)) << to_string(event);
    }
    EXPECT_GT(kernels, 20);
  }
}

TEST(Events, StepsNeitherAllocateNorWaitWithoutNeed) {
  for (const Recipe& recipe : step_recipes()) {
    const Samples samples = image_samples(25, recipe.network.input, 5);
    Training run(recipe, samples);
    run.step.run(ExecSpace(), false);
    EventLog log;
    for (int i = 0; i < 2; ++i) {
      run.step.enqueue(ExecSpace(), false);
      std::vector<std::string> waits;
      for (const Event& event : log.take()) {
        EXPECT_NE(event.kind, Event::Kind::allocation) << to_string(event);
        if (is_tool_fence(event)) continue;
        if (event.kind == Event::Kind::fence || event.kind == Event::Kind::copy) {
          waits.push_back(to_string(event));
        }
      }
      // In a step, nothing; several ranks also wait before MPI (parallel/tree_reducer.cpp,
      // plain_reducer.cpp).
      EXPECT_EQ(waits, std::vector<std::string>());
      run.step.read(ExecSpace());
      waits.clear();
      for (const Event& event : log.take()) {
        if (!is_tool_fence(event)) waits.push_back(to_string(event));
      }
      // A device's memory is copied as well.
      if (kHostExecution) {
        EXPECT_EQ(waits, (std::vector<std::string>{"fence 'quern::parallel::wait'"}));
      }
    }
  }
}

TEST(Events, BackwardStopsAtTheFirstLayerWithParameters) {
  const Samples samples = image_samples(25, kImage, 5);
  Training run(
      image_recipe(8, {"network.layers=[{type=\"tanh\"}, {type=\"flatten\"}, {type=\"gelu\"}, "
                       "{type=\"linear\", features=5}]"}),
      samples);
  EventLog log;
  run.step.run(ExecSpace(), false);
  std::set<std::string> labels;
  for (const Event& event : log.take()) labels.insert(event.label);
  EXPECT_TRUE(labels.count("quern::layers::tanh"));
  EXPECT_TRUE(labels.count("quern::layers::linear_weight_gradient"));
  for (const char* label : {"quern::layers::linear_input_gradient", "quern::layers::gelu_backward",
                            "quern::layers::tanh_backward"}) {
    EXPECT_FALSE(labels.count(label)) << label;
  }
}

}  // namespace quern::test
