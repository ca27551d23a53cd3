// SPDX-License-Identifier: Apache-2.0
#include "runtime/binding.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "runtime/cpu_mask.hpp"

namespace quern {

std::vector<int> share_of_cpus(const std::vector<int>& cpus, int index, int sharing) {
  const int count = static_cast<int>(cpus.size());
  if (sharing <= 1 || count < sharing) return cpus;
  const int each = count / sharing;
  const int extra = count % sharing;
  const int begin = index * each + std::min(index, extra);
  const int end = begin + each + (index < extra ? 1 : 0);
  return {cpus.begin() + begin, cpus.begin() + end};
}

void bind_this_rank(Communicator& comm) {
  const char* wish = std::getenv("QUERN_BIND");
  const std::string mode = wish ? wish : "";
  agree(comm, [&] {
    if (mode.empty() || mode == "cores" || mode == "none") return;
    throw InputError("QUERN_BIND=" + mode + " in the environment (expected cores or none)");
  });
  // Every rank takes part, whatever its own environment says.
  const std::vector<int> cpus = allowed_cpus();
  const std::string place =
      mode == "cores" ? comm.host(comm.rank()) + " " + cpu_list_text(cpus) : "";
  const auto places = all_gather_strings(comm, place);
  if (place.empty()) return;
  const auto mine = places.begin() + comm.rank();
  const auto index = static_cast<int>(std::count(places.begin(), mine, place));
  const auto sharing = static_cast<int>(std::count(places.begin(), places.end(), place));
  const std::vector<int> share = share_of_cpus(cpus, index, sharing);
  if (share != cpus) restrict_to_cpus(share);
}

}  // namespace quern
