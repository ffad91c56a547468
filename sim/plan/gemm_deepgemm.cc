#include "sim/plan/gemm_deepgemm.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/plan/deepgemm_layout.h"
#include "sim/plan/plan_words.h"

namespace batchvar {
namespace {

constexpr size_t kRunnersUp = 4;  // listed among the rejected

std::string Str(int64_t value) { return std::to_string(value); }

std::string LayoutWords(const DeepGemmLayout& layout) {
  return Str(layout.block_m) + " x " + Str(layout.block_n) + ", cluster " + Str(layout.cluster_m) +
         " x " + Str(layout.cluster_n) + (layout.swap_ab ? ", A and B swapped" : "");
}

// Why `loser` lost, by the first criterion in which it differs.
std::string Sm90LossWords(const DeepGemmLayout& winner, const DeepGemmLayout& loser) {
  if (loser.cycles == INT64_MAX) return "a cluster does not pay in one wave";
  if (loser.cycles == winner.cycles) {
    return "as many cycles, " + Str(loser.cycles) + ", but enumerated later";
  }
  return Str(loser.cycles) + " modelled cycles, not " + Str(winner.cycles);
}

std::string Sm100LossWords(const DeepGemmLayout& winner, const DeepGemmLayout& loser) {
  const auto instead = [](const std::string& what, int64_t is, int64_t other) {
    return what + Str(is) + ", not " + Str(other);
  };
  if ((winner.waves == 1) != (loser.waves == 1)) return instead("waves: ", loser.waves, 1);
  if (winner.cluster_size() != loser.cluster_size()) {
    return instead("CTAs in a cluster: ", loser.cluster_size(), winner.cluster_size());
  }
  if (winner.waves != loser.waves) return instead("waves: ", loser.waves, winner.waves);
  if (winner.last_wave_blocks != loser.last_wave_blocks) {
    return instead("blocks in the last wave: ", loser.last_wave_blocks, winner.last_wave_blocks);
  }
  const int64_t loser_side = loser.block_m + loser.block_n;
  const int64_t winner_side = winner.block_m + winner.block_n;
  if (loser_side != winner_side) return instead("block_m + block_n: ", loser_side, winner_side);
  const int64_t loser_area = int64_t{loser.block_m} * loser.block_n;
  const int64_t winner_area = int64_t{winner.block_m} * winner.block_n;
  if (loser_area != winner_area) return instead("block_m x block_n: ", loser_area, winner_area);
  return "as good, but enumerated later";
}

std::string WhyBest(DeepGemmArch arch, const DeepGemmLayout& best) {
  if (arch == DeepGemmArch::kSm90) {
    return "fewest modelled cycles, " + Str(best.cycles) +
           ": L1 or L2 traffic, stretched by the last wave";
  }
  if (best.waves == 1) return "one wave, and the best of those";
  return "largest cluster, then fewest waves, fullest last wave, smallest blocks";
}

}  // namespace

GemmDeepGemm::GemmDeepGemm(const GemmPolicySpec& spec) : spec_(spec) {}

DeepGemmArch GemmDeepGemm::ArchOn(const DeviceSpec& device) const {
  if (spec_.arch != DeepGemmArch::kAuto) return spec_.arch;
  if (device.compute_capability / 10 == 9) return DeepGemmArch::kSm90;
  if (device.compute_capability / 10 == 10) return DeepGemmArch::kSm100;
  return DeepGemmArch::kAuto;
}

std::string GemmDeepGemm::Missing(const GemmShape& shape, const DeviceSpec& device) const {
  if (CanRun(shape, device)) return {};
  if (shape.dtype != DType::kBf16) {
    return std::string("deepgemm: has no ") + DTypeName(shape.dtype) + " GEMM, only bf16";
  }
  return "deepgemm: has kernels for sm_90 and sm_100, and " + device.name + " is sm_" +
         Str(device.compute_capability);
}

GemmDecision GemmDeepGemm::Decide(const GemmShape& shape, const DeviceSpec& device) const {
  const DeepGemmLayout layout =
      ChooseDeepGemmLayout(ArchOn(device), {shape.m, shape.n, shape.k, device.sm_count});
  return OnePassDecision(shape, {layout.block_m, layout.block_n, layout.block_k}, device);
}

void GemmDeepGemm::Explain(const DeviceSpec& device, GemmPlan* plan) const {
  const DeepGemmArch arch = ArchOn(device);
  const GemmShape& shape = plan->shape;
  const DeepGemmProblem problem = {shape.m, shape.n, shape.k, device.sm_count};
  std::vector<DeepGemmLayout> layouts = DeepGemmLayouts(arch, problem);
  // Stable, so that of equal layouts the first enumerated stays first, as upstream picks it.
  std::stable_sort(layouts.begin(), layouts.end(),
                   [arch](const DeepGemmLayout& a, const DeepGemmLayout& b) {
                     return DeepGemmBeats(arch, a, b);
                   });
  const DeepGemmLayout& best = layouts.front();
  std::vector<std::string>& words = plan->explain;
  words = GridWords(shape, plan->decision);
  words.push_back(Str(static_cast<int64_t>(layouts.size())) + " layouts for " + ArchName(arch) +
                  " fit into shared memory and registers");
  words.push_back("chosen: " + LayoutWords(best) + ", " + CountWords(best.stages, "stage") + ": " +
                  WhyBest(arch, best));
  words.push_back(WavesWords(plan->decision, device.sm_count));
  words.push_back("K = " + Str(shape.k) +
                  " is summed in one pass in every layout, so every M shares one class");
  for (size_t i = 1; i < layouts.size() && i <= kRunnersUp; ++i) {
    plan->rejected.push_back({LayoutWords(layouts[i]), arch == DeepGemmArch::kSm90
                                                           ? Sm90LossWords(best, layouts[i])
                                                           : Sm100LossWords(best, layouts[i])});
  }
}

const char* GemmDeepGemm::name() const { return PolicyName(GemmPolicyKind::kDeepGemm); }

PolicySource GemmDeepGemm::source() const { return {"DeepGEMM", "54e22612", "2026-06-23"}; }

}  // namespace batchvar
