// Class digests: SHA-256 over the byte form below, first 128 bits. The form is part of the file
// formats (docs/formats.md); changing it changes every baseline.
//
//   order:  u8 arithmetic, u8 combine, u8 partial, u8 output, i64 block, i64 number of pieces,
//           then per piece i64 begin, i64 end        (integers little-endian)
//           An order with slice_k > 1 or instr_k != 0 has 128 added to its combine byte and ends
//           with i64 slice_k, i64 instr_k: orders without them keep the digests that they had.
//           An order that is descending or has combine_lanes > 0 has 64 added to its combine byte
//           and ends with u8 descending, i64 combine_lanes: all others keep the digests they had.
//   plan whose tiles all share one order:  "batchvar.class.1" + 'u' + order
//   else:  "batchvar.class.1" + 'm' + i64 number of groups, then per group in ascending
//           (row begin, column begin): i64 row begin, row end, column begin, column end in
//           ELEMENTS, then order; neighbouring groups with equal orders are merged first: columns
//           within a row, then rows whose merged columns are equal
//   row:   as a plan of that one row, with rows [0, 1): a row's class does not depend on its place
#ifndef BATCHVAR_SIM_PLAN_ORDER_DIGEST_H_
#define BATCHVAR_SIM_PLAN_ORDER_DIGEST_H_

#include <cstdint>
#include <vector>

#include "sim/base/digest.h"
#include "sim/plan/plan.h"

namespace batchvar {

// A plan (a norm, a request's attention) whose elements all have this order.
Digest ClassOfOrder(const Order& order);
Digest ClassOfPlan(const GemmPlan& plan);
// The slice of the map that row `row` of the output sees. Equal to ClassOfPlan when the plan is
// uniform.
Digest ClassOfRow(const GemmPlan& plan, int64_t row);
// That slice itself: ascending columns without gaps, equal neighbours merged.
std::vector<OrderStrip> StripsOfRow(const GemmPlan& plan, int64_t row);

// One row whose columns (ascending, without gaps) have these orders; equal neighbours are merged,
// and a row with one order has that order's class.
Digest ClassOfStrips(const std::vector<OrderStrip>& strips);

// True when `order.pieces` cover [0, extent) exactly once.
bool CoversOnce(const Order& order, int64_t extent);
// True when the groups give every output tile exactly one order and every order covers [0, k).
bool IsComplete(const GemmPlan& plan);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_PLAN_ORDER_DIGEST_H_
