// The reduction classes of M: for every op of a model, which row counts share a summation order.
// Two M of one class give a row the same bits; where the class changes between M and M + 1, one
// more neighbour changes them. A table is a plain value, made from plans or read from a baseline
// (sim/report/classes_json.h), so a library update or another device is a comparison of two tables
// (class_comparison.h).
//
// M is what one step brings: tokens for the body, requests for the head and for attention. An op
// that has several rows a token (q_norm, k_norm, MoE) is planned at so many times M.
#ifndef BATCHVAR_SIM_REPLAY_CLASS_TABLE_H_
#define BATCHVAR_SIM_REPLAY_CLASS_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/experiment_spec.h"
#include "sim/replay/plan_book.h"

namespace batchvar {

struct ClassQuery {
  std::vector<int64_t> m;        // ascending, distinct, at least 1
  std::vector<int64_t> kv_lens;  // attention at each of them; none leaves attention out
  int64_t q_len = 1;             // query tokens of every request; at most any kv length
};

// M that share a class.
struct MClass {
  Digest klass;
  int32_t split = 1;  // pieces of a sum; where tiles are cut differently, most of any tile
  bool tile_dependent = false;  // not every output element has the same order
  std::vector<int64_t> m;       // ascending
  int64_t first_m() const { return m.front(); }
};

// One op, or attention at one KV length: every M of the query lies in exactly one class.
struct OpPartition {
  std::string op;
  int64_t n = 0;
  int64_t k = 0;
  int64_t kv_len = 0;           // > 0: attention, and M counts requests of this KV length
  std::vector<MClass> classes;  // by their smallest M
};

struct ClassTable {
  std::string model;
  std::string device;
  int32_t sm_count = 0;
  std::string policies;
  int32_t tp = 1;
  DType dtype = DType::kBf16;
  bool padded = false;  // the body saw M padded to a capture size
  ClassQuery query;
  std::vector<OpPartition> ops;  // in execution order
};

// Why some M of the query has no plan (a table that lacks it); "" when all have one. To be asked
// before MakeClassTable().
std::string MissingPlan(const ExperimentSpec& spec, const ClassQuery& query);

// Of all ops of the experiment's model; its workload does not matter.
ClassTable MakeClassTable(const ExperimentSpec& spec, const ClassQuery& query);

// The first op with more than one class; nullptr when every op has one.
const OpPartition* FirstVariant(const ClassTable& table);

// Where walking up the query's list of M meets another class than before.
std::vector<int64_t> Boundaries(const ClassQuery& query, const OpPartition& op);

// For each M of the query, the class that holds it.
std::vector<const MClass*> ClassAtEachM(const ClassQuery& query, const OpPartition& op);

// Closed ranges: neighbours in `all` (ascending, a superset of `values`) are joined.
using ClosedRange = std::pair<int64_t, int64_t>;
std::vector<ClosedRange> JoinNeighbours(const std::vector<int64_t>& values,
                                        const std::vector<int64_t>& all);
// The same over all integers: what [1, 2, 4] is whatever list it came from.
std::vector<ClosedRange> ConsecutiveRanges(const std::vector<int64_t>& values);

// An op whose class differs between two M.
struct PlanPair {
  OpShape shape;
  int64_t kv_len = 0;  // > 0: attention, `gemm` of the plans is empty
  OpPlan a;
  OpPlan b;
};

// In execution order; ops whose class is the same are left out. `query.m` is not looked at.
std::vector<PlanPair> DifferingPlans(const ExperimentSpec& spec, const ClassQuery& query,
                                     int64_t m_a, int64_t m_b);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_REPLAY_CLASS_TABLE_H_
