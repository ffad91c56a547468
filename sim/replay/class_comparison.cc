#include "sim/replay/class_comparison.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sim/base/check.h"

namespace batchvar {
namespace {

std::string Difference(const char* what, const std::string& then, const std::string& now) {
  return absl::StrCat("its ", what, " is ", then, ", not ", now);
}

std::string OpWords(const OpPartition& op) {
  return absl::StrCat(op.op, " with n ", op.n, " and k ", op.k);
}

// "1..16, 24"
std::string ListWords(const std::vector<int64_t>& values) {
  if (values.empty()) return "empty";
  std::string text;
  constexpr size_t kShown = 8;
  const std::vector<ClosedRange> ranges = ConsecutiveRanges(values);
  for (size_t i = 0; i < std::min(ranges.size(), kShown); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", ranges[i].first);
    if (ranges[i].second > ranges[i].first) absl::StrAppend(&text, "..", ranges[i].second);
  }
  if (ranges.size() > kShown) absl::StrAppend(&text, ", ... up to ", values.back());
  return text;
}

}  // namespace

std::string WhyNotComparable(const ClassTable& baseline, const ClassTable& now) {
  if (baseline.model != now.model) return Difference("model", baseline.model, now.model);
  if (baseline.tp != now.tp) {
    return Difference("tp", std::to_string(baseline.tp), std::to_string(now.tp));
  }
  if (baseline.dtype != now.dtype) {
    return Difference("dtype", DTypeName(baseline.dtype), DTypeName(now.dtype));
  }
  if (baseline.padded != now.padded) {
    return Difference("padding", baseline.padded ? "capture" : "exact",
                      now.padded ? "capture" : "exact");
  }
  if (baseline.query.m != now.query.m) {
    return Difference("list of M", ListWords(baseline.query.m), ListWords(now.query.m));
  }
  if (baseline.query.kv_lens != now.query.kv_lens) {
    return Difference("list of KV lengths", ListWords(baseline.query.kv_lens),
                      ListWords(now.query.kv_lens));
  }
  if (baseline.query.q_len != now.query.q_len) {
    return Difference("q_len", std::to_string(baseline.query.q_len),
                      std::to_string(now.query.q_len));
  }
  for (size_t i = 0; i < std::min(baseline.ops.size(), now.ops.size()); ++i) {
    const OpPartition& a = baseline.ops[i];
    const OpPartition& b = now.ops[i];
    if (a.op != b.op || a.n != b.n || a.k != b.k || a.kv_len != b.kv_len) {
      return Difference("model", absl::StrCat("another: it has ", OpWords(a)), OpWords(b));
    }
  }
  if (baseline.ops.size() != now.ops.size()) {
    return Difference("number of ops", std::to_string(baseline.ops.size()),
                      std::to_string(now.ops.size()));
  }
  return "";
}

std::vector<MovedRange> MovedClasses(const ClassTable& baseline, const ClassTable& now) {
  BV_CHECK(WhyNotComparable(baseline, now).empty());
  const std::vector<int64_t>& all = now.query.m;
  std::vector<MovedRange> moved;
  for (size_t op = 0; op < now.ops.size(); ++op) {
    const std::vector<const MClass*> was_at = ClassAtEachM(baseline.query, baseline.ops[op]);
    const std::vector<const MClass*> now_at = ClassAtEachM(now.query, now.ops[op]);
    bool extends = false;
    for (size_t i = 0; i < all.size(); ++i) {
      const bool same = was_at[i]->klass == now_at[i]->klass;
      extends = extends && !same && was_at[i] == was_at[i - 1] && now_at[i] == now_at[i - 1];
      if (extends) {
        moved.back().m.second = all[i];
      } else if (!same) {
        moved.push_back({op, {all[i], all[i]}, was_at[i], now_at[i]});
      }
      extends = !same;
    }
  }
  return moved;
}

}  // namespace batchvar
