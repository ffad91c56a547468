#include "sim/plan/allreduce_policy.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/time.h"
#include "sim/plan/order_digest.h"

namespace batchvar {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr int64_t kVectorBytes = 16;  // what one thread moves; slices and chunks are whole vectors

int64_t VectorElements(DType dtype) { return kVectorBytes / DTypeBytes(dtype); }

// Ranks first, first + step, ... (mod n), each once.
std::vector<Range> RanksFrom(int32_t first, int32_t step, int32_t n) {
  std::vector<Range> pieces;
  for (int32_t i = 0; i < n; ++i) {
    const int32_t rank = ((first + i * step) % n + n) % n;
    pieces.push_back({rank, rank + 1});
  }
  return pieces;
}

Order RankOrder(Combine combine, const AllReduceMessage& message, std::vector<Range> ranks) {
  Order order;
  order.arithmetic = Arithmetic::kRankSum;
  order.combine = message.ranks > 1 ? combine : Combine::kNone;
  order.partial = order.combine == Combine::kSerial16bit ? message.dtype : DType::kFp32;
  order.output = message.dtype;
  order.pieces = std::move(ranks);
  return order;
}

void AddSlice(int64_t begin, int64_t end, Order order, std::vector<OrderStrip>* slices) {
  if (begin >= end) return;
  if (!slices->empty() && slices->back().order == order) {
    slices->back().columns.end = end;
    return;
  }
  slices->push_back({{begin, end}, std::move(order)});
}

std::vector<OrderStrip> TwoShotSlices(const AllReduceMessage& message) {
  const int64_t vector = VectorElements(message.dtype);
  const int64_t per_rank = message.Elements() / vector / message.ranks * vector;
  std::vector<OrderStrip> slices;
  for (int32_t rank = 0; rank < message.ranks; ++rank) {
    const bool last = rank == message.ranks - 1;
    AddSlice(rank * per_rank, last ? message.Elements() : (rank + 1) * per_rank,
             RankOrder(Combine::kSerialFp32, message, RanksFrom(rank, 1, message.ranks)), &slices);
  }
  return slices;
}

// One slice a row; the message repeats the first `ranks` rows.
std::vector<OrderStrip> RowSlices(const AllReduceMessage& message, int64_t rows) {
  std::vector<OrderStrip> slices;
  for (int64_t row = 0; row < rows; ++row) {
    const int32_t owner = static_cast<int32_t>(row % message.ranks);
    AddSlice(row * message.width, (row + 1) * message.width,
             RankOrder(Combine::kSerialFp32, message, RanksFrom(owner, 1, message.ranks)), &slices);
  }
  return slices;
}

// The elements [begin, end) of one channel, loop after loop of `ranks` chunks.
void AddRingChannel(const AllReduceMessage& message, int64_t begin, int64_t end, int64_t full_chunk,
                    std::vector<OrderStrip>* slices) {
  const int64_t vector = VectorElements(message.dtype);
  for (int64_t loop = begin; loop < end; loop += message.ranks * full_chunk) {
    const int64_t rest = end - loop;
    const bool last = rest < message.ranks * full_chunk;
    const int64_t chunk =
        last ? CeilDiv(CeilDiv(rest, message.ranks), vector) * vector : full_chunk;
    for (int32_t c = 0; c < message.ranks; ++c) {
      AddSlice(loop + c * chunk, std::min(loop + (c + 1) * chunk, end),
               RankOrder(Combine::kSerial16bit, message, RanksFrom(c + 1, 1, message.ranks)),
               slices);
    }
  }
}

std::vector<OrderStrip> RingSlices(const AllReducePolicySpec& spec,
                                   const AllReduceMessage& message) {
  BV_CHECK(spec.channels >= 1 && spec.chunk_bytes >= kVectorBytes);
  const int64_t vector = VectorElements(message.dtype);
  const int64_t chunk = spec.chunk_bytes / kVectorBytes * vector;
  const int64_t per_channel = CeilDiv(CeilDiv(message.Elements(), spec.channels), vector) * vector;
  std::vector<OrderStrip> slices;
  for (int64_t begin = 0; begin < message.Elements(); begin += per_channel) {
    AddRingChannel(message, begin, std::min(begin + per_channel, message.Elements()), chunk,
                   &slices);
  }
  return slices;
}

std::vector<OrderStrip> SlicesOf(AllReducePolicyKind algorithm, const AllReducePolicySpec& spec,
                                 const AllReduceMessage& message) {
  const auto uniform = [&message](Combine combine, std::vector<Range> ranks) {
    return std::vector<OrderStrip>{
        {{0, message.Elements()}, RankOrder(combine, message, std::move(ranks))}};
  };
  const int32_t n = message.ranks;
  if (n == 1) return uniform(Combine::kNone, RanksFrom(0, 1, 1));
  switch (algorithm) {
    case AllReducePolicyKind::kOneShot: return uniform(Combine::kSerialFp32, RanksFrom(0, 1, n));
    case AllReducePolicyKind::kTwoShot: return TwoShotSlices(message);
    case AllReducePolicyKind::kRing: return RingSlices(spec, message);
    case AllReducePolicyKind::kTree: return uniform(Combine::kSerial16bit, RanksFrom(n - 1, -1, n));
    case AllReducePolicyKind::kExact: return uniform(Combine::kExactSum, RanksFrom(0, 1, n));
    case AllReducePolicyKind::kVllm:
    case AllReducePolicyKind::kSglang:
    case AllReducePolicyKind::kOneShotUpTo: break;
  }
  BV_CHECK(false);
}

using Choice = std::pair<AllReducePolicyKind, std::string>;

std::string Kib(int64_t bytes) { return std::to_string(bytes / kKiB) + " KiB"; }

Choice CustomChoice(int32_t ranks, int64_t bytes) {
  const bool one = VllmCustomStage(ranks, bytes) == 1;
  return {one ? AllReducePolicyKind::kOneShot : AllReducePolicyKind::kTwoShot,
          "custom all-reduce, " + std::to_string(ranks) + " ranks, " + std::to_string(bytes) +
              (one ? " bytes: one stage" : " bytes: two stages")};
}

bool CustomRuns(const AllReducePolicySpec& spec, const AllReduceMessage& message, int64_t limit) {
  return (message.ranks == 2 || spec.nvlink_mesh) && message.Bytes() % kVectorBytes == 0 &&
         message.Bytes() < limit;
}

// NCCL's symmetric memory, where it is switched on, takes small and large messages.
bool SymmetricMemoryRuns(int32_t ranks, int64_t bytes) {
  if (ranks > 8) return true;
  if (ranks == 8) return bytes <= 16 * kKiB || bytes >= 128 * kKiB;
  return ranks == 4 && (bytes <= 16 * kKiB || bytes >= 512 * kKiB);
}

Choice ChooseVllm(const AllReducePolicySpec& spec, const AllReduceMessage& message,
                  const DeviceSpec& device) {
  const int64_t bytes = message.Bytes();
  if (spec.nccl_symm_mem && SymmetricMemoryRuns(message.ranks, bytes)) {
    return {AllReducePolicyKind::kExact, "NCCL symmetric memory: the switch adds"};
  }
  const int64_t limit = VllmCustomLimit(message.ranks, device.compute_capability);
  if (CustomRuns(spec, message, limit)) return CustomChoice(message.ranks, bytes);
  return {spec.fallback, std::to_string(bytes) + " bytes over " + std::to_string(message.ranks) +
                             " ranks are not for the custom all-reduce (below " + Kib(limit) +
                             "): " + PolicyName(spec.fallback)};
}

// SGLang's second all-reduce (Blackwell) pushes small messages in one shot; 0: never.
int64_t SglangOneShotLimit(int32_t ranks) {
  switch (ranks) {
    case 2: return 8 * kMiB;
    case 4: return 640 * kKiB;
    case 8: return 256 * kKiB;
    default: return 0;
  }
}

Choice ChooseSglang(const AllReducePolicySpec& spec, const AllReduceMessage& message,
                    const DeviceSpec& device) {
  const int64_t bytes = message.Bytes();
  if (device.compute_capability < 100) return ChooseVllm(spec, message, device);
  if (bytes <= SglangOneShotLimit(message.ranks)) {
    return {AllReducePolicyKind::kOneShot, "one-shot push up to " +
                                               Kib(SglangOneShotLimit(message.ranks)) + " for " +
                                               std::to_string(message.ranks) + " ranks"};
  }
  if (message.ranks >= 5 && message.ranks <= 16) {
    return {AllReducePolicyKind::kExact, "multicast two-shot for 5 to 16 ranks: the switch adds"};
  }
  if (message.ranks > 16) return {spec.fallback, "more than 16 ranks"};
  return {AllReducePolicyKind::kTwoShot, std::to_string(bytes) + " bytes: two-shot"};
}

// lightseekorg/tokenspeed#1234 (2026-08-24), after FlashInfer: in one shot every rank publishes its
// whole message, so the cap in tokens falls as ranks are added.
Choice ChooseOneShotUpTo(const AllReducePolicySpec& spec, const AllReduceMessage& message) {
  const int64_t bytes = message.Bytes() * message.ranks;
  const bool one = bytes <= spec.max_bytes;
  return {one ? AllReducePolicyKind::kOneShot : AllReducePolicyKind::kTwoShot,
          std::to_string(bytes) + " bytes over all ranks, at most " +
              std::to_string(spec.max_bytes) +
              (one ? " for one shot: one shot" : " for one shot: two shots")};
}

Choice Choose(const AllReducePolicySpec& spec, const AllReduceMessage& message,
              const DeviceSpec& device) {
  if (message.ranks == 1) return {AllReducePolicyKind::kOneShot, "one rank: nothing to add"};
  if (spec.kind == AllReducePolicyKind::kVllm) return ChooseVllm(spec, message, device);
  if (spec.kind == AllReducePolicyKind::kSglang) return ChooseSglang(spec, message, device);
  if (spec.kind == AllReducePolicyKind::kOneShotUpTo) return ChooseOneShotUpTo(spec, message);
  return {spec.kind, std::string(PolicyName(spec.kind)) + ", whatever the size"};
}

}  // namespace

AllReducePlan PlanAllReduce(const AllReducePolicySpec& spec, const AllReduceMessage& message,
                            const DeviceSpec& device) {
  BV_CHECK(message.ranks >= 1 && message.rows >= 1 && message.width >= 1);
  AllReducePlan plan;
  std::tie(plan.algorithm, plan.reason) = Choose(spec, message, device);
  const bool by_row = spec.kind == AllReducePolicyKind::kOneShotUpTo &&
                      plan.algorithm == AllReducePolicyKind::kTwoShot;
  const int64_t rows = by_row ? std::min<int64_t>(message.rows, message.ranks) : message.rows;
  plan.period_rows = by_row ? rows : 0;
  plan.slices = by_row ? RowSlices(message, rows) : SlicesOf(plan.algorithm, spec, message);
  int64_t covered = 0;
  for (const OrderStrip& slice : plan.slices) {
    BV_CHECK(slice.columns.begin == covered && CoversOnce(slice.order, message.ranks));
    covered = slice.columns.end;
  }
  BV_CHECK(covered == rows * message.width);
  plan.klass = ClassOfStrips(plan.slices);
  return plan;
}

Digest ClassOfAllReduceRow(const AllReducePlan& plan, const AllReduceMessage& message,
                           int64_t row) {
  return ClassOfStrips(StripsOfAllReduceRow(plan, message, row));
}

std::vector<OrderStrip> StripsOfAllReduceRow(const AllReducePlan& plan,
                                             const AllReduceMessage& message, int64_t row) {
  BV_CHECK(row >= 0 && row < message.rows);
  const int64_t begin = (plan.period_rows > 0 ? row % plan.period_rows : row) * message.width;
  std::vector<OrderStrip> strips;
  for (const OrderStrip& slice : plan.slices) {
    const int64_t from = std::max(slice.columns.begin, begin);
    const int64_t to = std::min(slice.columns.end, begin + message.width);
    if (from < to) strips.push_back({{from - begin, to - begin}, slice.order});
  }
  return strips;
}

int32_t VllmCustomStage(int32_t ranks, int64_t bytes) {
  if (ranks == 2) return 1;
  if (ranks <= 4) return bytes < 512 * kKiB ? 1 : 2;
  return ranks <= 8 && bytes < 256 * kKiB ? 1 : 2;
}

int64_t VllmCustomLimit(int32_t ranks, int32_t compute_capability) {
  // custom_all_reduce.py: 8 MiB at most, less by a table of devices and ranks.
  constexpr int64_t kDefault = 8 * kMiB;
  if (ranks != 2 && ranks != 4 && ranks != 6 && ranks != 8) return 0;
  const int i = ranks / 2 - 1;
  if (compute_capability == 90) {
    constexpr int64_t kHopper[] = {64 * kMiB, 32 * kMiB, 512 * kKiB, 256 * kKiB};
    return std::min(kDefault, kHopper[i]);
  }
  if (compute_capability == 100) {
    constexpr int64_t kBlackwell[] = {2 * kMiB, 2 * kMiB, 1 * kMiB, 1 * kMiB};
    return std::min(kDefault, kBlackwell[i]);
  }
  return kDefault;
}

PolicySource AllReduceSource(const AllReducePolicySpec& spec) {
  switch (spec.kind) {
    case AllReducePolicyKind::kOneShot:
      return {"vLLM", "custom all-reduce, 1-stage, before 0.32", "2026-11-29"};
    case AllReducePolicyKind::kTwoShot:
      return {"vLLM", "custom all-reduce, 2-stage, before 0.32", "2026-11-29"};
    case AllReducePolicyKind::kRing:
    case AllReducePolicyKind::kTree: return {"NCCL", "5067397c", "2026-06-11"};
    case AllReducePolicyKind::kExact: return {"batchvar", "exact 1", "2026-11-29"};
    case AllReducePolicyKind::kVllm: return {"vLLM", "0.32.0", "2026-10"};
    case AllReducePolicyKind::kSglang: return {"SGLang", "0.5.23", "2026-11"};
    case AllReducePolicyKind::kOneShotUpTo: return {"TokenSpeed", "#1234", "2026-08-24"};
  }
  return {};
}

}  // namespace batchvar
