// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/assert.hpp"
#include "tensor/types.hpp"

namespace quern {

/// The floats of a View as the communicator takes them: host memory. The one place where reducers
/// hand kernel memory to a transport. The caller has fenced.
inline std::span<float> host_span(const FloatView& view) {
  expect(kHostExecution, "kernel memory that the host can reach");
  return {view.data(), view.extent(0)};
}

}  // namespace quern
