#include "sim/plan/gemm_gemv.h"

#include <bit>

#include "sim/base/check.h"
#include "sim/plan/plan_words.h"

namespace batchvar {
namespace {

std::unique_ptr<GemmPolicy> MakeThen(const GemmPolicySpec& spec) {
  if (spec.then == nullptr) return MakeGemmPolicy(DefaultGemmPolicy(GemmPolicyKind::kTextbook));
  BV_CHECK(spec.then->kind != GemmPolicyKind::kGemv);
  return MakeGemmPolicy(*spec.then);
}

}  // namespace

GemmGemv::GemmGemv(const GemmPolicySpec& spec) : spec_(spec), then_(MakeThen(spec)) {
  BV_CHECK(spec.m_max >= 1 && spec.vector_width >= 1);
  BV_CHECK(spec.lanes >= 2 && std::has_single_bit(static_cast<uint32_t>(spec.lanes)));
}

const GemmPolicy& GemmGemv::At(const GemmShape& shape, const DeviceSpec& device) const {
  if (IsMine(shape)) return *this;
  return then_->At(shape, device);
}

std::string GemmGemv::Missing(const GemmShape& shape, const DeviceSpec& device) const {
  return IsMine(shape) ? std::string() : then_->Missing(shape, device);
}

GemmDecision GemmGemv::Decide(const GemmShape& shape, const DeviceSpec& device) const {
  if (!IsMine(shape)) return then_->Decide(shape, device);
  // One group of lanes for each output element.
  GemmDecision decision = OnePassDecision(shape, {1, 1, spec_.lanes * spec_.vector_width}, device);
  decision.combine = Combine::kButterfly;
  return decision;
}

std::vector<TileGroup> GemmGemv::TileMap(const GemmShape& shape, const GemmDecision& decision,
                                         const DeviceSpec&) const {
  BV_CHECK(IsMine(shape));
  Order order;
  order.arithmetic = Arithmetic::kFmaChain;
  order.combine = Combine::kButterfly;
  order.partial = DType::kFp32;
  order.output = shape.dtype;
  order.block = spec_.lanes * spec_.vector_width;
  order.slice_k = spec_.lanes;
  order.pieces = {{0, shape.k}};
  return {{{0, decision.m_blocks}, {0, decision.n_blocks}, order}};
}

void GemmGemv::Explain(const DeviceSpec& device, GemmPlan* plan) const {
  if (!IsMine(plan->shape)) return At(plan->shape, device).Explain(device, plan);
  const std::string lanes = std::to_string(spec_.lanes);
  plan->explain = {
      "M = " + std::to_string(plan->shape.m) + " <= m_max = " + std::to_string(spec_.m_max) +
          ": a matrix-vector kernel, no tensor cores",
      lanes + " lanes for each of " + CountWords(plan->decision.ctas, "output element") +
          "; each lane loads " + std::to_string(spec_.vector_width) + " elements, every " +
          std::to_string(plan->decision.tile.k) + " along K",
      "a lane adds its products one after another in fp32; the " + lanes +
          " sums meet in a butterfly, rounded once",
  };
  plan->rejected.push_back(
      {then_->name(), "decides from M = " + std::to_string(spec_.m_max + 1) + " on"});
}

const char* GemmGemv::name() const { return PolicyName(GemmPolicyKind::kGemv); }

PolicySource GemmGemv::source() const { return {"batchvar", "gemv 1", "2026-11-29"}; }

}  // namespace batchvar
