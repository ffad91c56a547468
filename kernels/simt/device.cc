#include "kernels/simt/device.h"

#include <numeric>
#include <vector>

#include "sim/base/rng.h"

namespace batchvar::simt {
namespace {

struct State {
  SimtDevice device;
  SimtCounters counters;
  Block block;  // reused: stacks are dear to make
};

State& ThisState() {
  thread_local State state;
  return state;
}

}  // namespace

void SetDevice(const SimtDevice& device) {
  ThisState().device = device;
  ThisState().counters = {};
}

const SimtDevice& Device() { return ThisState().device; }
SimtCounters& Counters() { return ThisState().counters; }

int32_t SharedBytesOptIn() {
  // CUDA programming guide 13.0, table of compute capabilities: per block, after opting in.
  switch (Device().compute_capability) {
    case 80:
    case 87: return 163 * 1024;
    case 90:
    case 100: return 227 * 1024;
    default: return 99 * 1024;  // 86, 89, 120
  }
}

std::string RunGrid(const GridShape& shape, const std::function<void()>& body) {
  State& state = ThisState();
  RandomStream random =
      RandomStream::ForItem(state.device.seed, "simt_grid", state.counters.launches++);
  std::vector<uint64_t> order(uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z);
  std::iota(order.begin(), order.end(), uint64_t{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.NextBelow(i)]);
  for (const uint64_t at : order) {
    BlockShape block{shape.threads, {}, shape.grid, shape.dynamic_shared_bytes};
    block.block = {static_cast<uint32_t>(at % shape.grid.x),
                   static_cast<uint32_t>(at / shape.grid.x % shape.grid.y),
                   static_cast<uint32_t>(at / shape.grid.x / shape.grid.y)};
    ++state.counters.blocks;
    const std::string fault = state.block.Run(block, random.NextU64(), body);
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace batchvar::simt
