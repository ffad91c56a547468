#include "sim/report/plan_json.h"

#include <algorithm>
#include <string>

namespace batchvar {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

Json RangeJson(const Range& range) { return Json::array({range.begin, range.end}); }

Json PiecesJson(const std::vector<Range>& pieces) {
  Json json = Json::array();
  for (const Range& piece : pieces) json.push_back(RangeJson(piece));
  return json;
}

Json SourceJson(const PolicySource& source) {
  return {{"project", source.project}, {"version", source.version}, {"date", source.date}};
}

bool AllTilesAgree(const GemmPlan& plan) {
  return std::all_of(plan.tiles.begin(), plan.tiles.end(), [&plan](const TileGroup& group) {
    return group.order.pieces == plan.tiles.front().order.pieces;
  });
}

// `pieces` when every tile has the same ones, else `tiles` with each group's own.
void AddPieces(const GemmPlan& plan, Json* json) {
  if (AllTilesAgree(plan)) {
    (*json)["pieces"] = PiecesJson(plan.tiles.front().order.pieces);
    return;
  }
  Json tiles = Json::array();
  for (const TileGroup& group : plan.tiles) {
    tiles.push_back({{"m_tiles", RangeJson(group.m_tiles)},
                     {"n_tiles", RangeJson(group.n_tiles)},
                     {"pieces", PiecesJson(group.order.pieces)}});
  }
  (*json)["tiles"] = std::move(tiles);
}

// What else of an order decides bits; equal in all tiles. Absent for one chained accumulator.
void AddSlices(const Order& order, Json* json) {
  if (order.slice_k > 1) {
    (*json)["slice_k"] = order.slice_k;
    (*json)["block"] = order.block;
  }
  if (order.instr_k != 0) (*json)["instr_k"] = order.instr_k;
}

}  // namespace

Json GemmPlanJson(const GemmPlan& plan) {
  const GemmDecision& decision = plan.decision;
  Json json = {{"schema_version", kSchemaVersion}, {"kind", "plan"}, {"op", "gemm"}};
  json["policy"] = plan.policy;
  json["device"] = plan.device;
  json["sm_count"] = plan.sm_count;
  json["m"] = plan.shape.m;
  json["n"] = plan.shape.n;
  json["k"] = plan.shape.k;
  json["dtype"] = DTypeName(plan.shape.dtype);
  json["tile"] = {{"m", decision.tile.m}, {"n", decision.tile.n}, {"k", decision.tile.k}};
  json["ctas"] = decision.ctas;
  json["waves"] = decision.waves;
  json["last_wave_ctas"] = decision.last_wave_ctas;
  json["decomposition"] = DecompositionName(decision.decomposition);
  json["split_k"] = decision.split_k;
  if (decision.decomposition == Decomposition::kStreamK) {
    json["sk_tiles"] = decision.sk_tiles;
    json["sk_units"] = decision.sk_units;
  }
  AddPieces(plan, &json);
  json["combine"] = CombineName(decision.combine);
  AddSlices(plan.tiles.front().order, &json);
  json["class"] = plan.klass.Hex();
  json["explain"] = plan.explain;
  json["rejected"] = Json::array();
  for (const RejectedCandidate& rejected : plan.rejected) {
    json["rejected"].push_back({{"candidate", rejected.candidate}, {"reason", rejected.reason}});
  }
  json["source"] = SourceJson(plan.source);
  return json;
}

Json AttentionPlanJson(const AttentionPolicy& policy, const std::vector<AttentionRequest>& step,
                       const AttentionHeads& heads, const DeviceSpec& device) {
  Json json = {{"schema_version", kSchemaVersion}, {"kind", "plan"}, {"op", "attention"}};
  json["policy"] = policy.name();
  json["device"] = device.name;
  json["sm_count"] = device.sm_count;
  json["q_heads"] = heads.q_heads;
  json["kv_heads"] = heads.kv_heads;
  json["head_dim"] = heads.head_dim;
  json["dtype"] = DTypeName(heads.dtype);
  json["block_n"] = policy.Rule(step, heads, device).tile_kv;
  const std::vector<AttentionRequestPlan> plans = policy.Plan(step, heads, device);
  // Of the walk over KV inside a piece.
  json["direction"] = !plans.empty() && plans[0].order.descending ? "descending" : "ascending";
  json["requests"] = Json::array();
  for (const AttentionRequestPlan& plan : plans) {
    json["requests"].push_back({{"q_len", plan.request.q_len},
                                {"kv_len", plan.request.kv_len},
                                {"num_splits", plan.num_splits},
                                {"pieces", PiecesJson(plan.order.pieces)},
                                {"combine", CombineName(plan.order.combine)},
                                {"class", plan.klass.Hex()}});
  }
  json["explain"] = policy.Explain(step, heads, device);
  json["source"] = SourceJson(policy.source());
  return json;
}

}  // namespace batchvar
