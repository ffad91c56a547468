#include "kernels/simt/cuda_language.h"

namespace batchvar::simt {
namespace {

struct BallotLane {
  bool predicate;
  uint32_t result;
};

}  // namespace

uint32_t Shuffle(const char* name, uint32_t mask, uint32_t value, int source,
                 const std::source_location& where) {
  if ((mask >> source & 1) == 0) {
    Block::Current().Fault(
        std::string(name) + " asks lane " + std::to_string(source) + ", which is not in the mask",
        where);
  }
  ShuffleLane lane{value, source};
  const auto exchange = [](void* const* operands) {
    uint32_t values[kWarpLanes] = {};
    for (int i = 0; i < kWarpLanes; ++i) {
      if (operands[i] != nullptr) values[i] = static_cast<ShuffleLane*>(operands[i])->value;
    }
    for (int i = 0; i < kWarpLanes; ++i) {
      if (operands[i] == nullptr) continue;
      ShuffleLane* taker = static_cast<ShuffleLane*>(operands[i]);
      taker->value = values[taker->source];
    }
  };
  Block::Current().WarpCollective(name, mask, &lane, exchange, where);
  return lane.value;
}

uint32_t Ballot(uint32_t mask, bool predicate, const std::source_location& where) {
  BallotLane lane{predicate, 0};
  const auto count = [](void* const* operands) {
    uint32_t result = 0;
    for (int i = 0; i < kWarpLanes; ++i) {
      if (operands[i] != nullptr && static_cast<BallotLane*>(operands[i])->predicate) {
        result |= 1u << i;
      }
    }
    for (int i = 0; i < kWarpLanes; ++i) {
      if (operands[i] != nullptr) static_cast<BallotLane*>(operands[i])->result = result;
    }
  };
  Block::Current().WarpCollective("a vote", mask, &lane, count, where);
  return lane.result;
}

}  // namespace batchvar::simt
