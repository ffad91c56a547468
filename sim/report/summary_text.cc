#include "sim/report/summary_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/config/spec_names.h"
#include "sim/report/number_text.h"

namespace batchvar {
namespace {

using Rows = std::vector<std::vector<std::string>>;

double Seconds(TimeNs ns) { return static_cast<double>(ns) / static_cast<double>(kNsPerSecond); }

std::string Percent(double part, double whole) {
  return whole > 0 ? Fixed(100.0 * part / whole, 1) + " %" : "-";
}

std::string Header(const ExperimentSpec& spec, const ReplayResult& result) {
  std::string text =
      absl::StrCat(spec.model.name, " on ", spec.device.name, " (", spec.device.sm_count,
                   " SMs), tp ", spec.tp, ", ", DTypeName(spec.dtype), ", scheduler ",
                   NameIn(kSchedulerPolicyNames, spec.scheduler.policy), ", policies ",
                   spec.policies.name, ", seed ", spec.seed, "\n");
  if (result.simulation.interrupted) {
    text += "INTERRUPTED: what follows covers only the part that was simulated\n";
  }
  if (result.simulation.server_failure.has_value()) {
    text += "SERVER ERROR: " + result.simulation.server_failure->Words() +
            "\n              what follows covers only the part before it\n";
  }
  return text;
}

std::string RequestLines(const ReplayResult& result) {
  const ServingMetrics& m = result.metrics;
  std::string text = absl::StrCat("Requests    ", WithThousands(result.trace.rows_read), " read, ",
                                  WithThousands(m.finished), " finished");
  if (m.model_limit > 0) {
    absl::StrAppend(&text, " (", WithThousands(m.model_limit), " at max_model_len)");
  }
  absl::StrAppend(&text, ", ", WithThousands(m.rejected), " rejected, ", WithThousands(m.preempted),
                  " preempted");
  if (m.unfinished > 0) absl::StrAppend(&text, ", ", WithThousands(m.unfinished), " unfinished");
  for (const auto& [reason, count] : result.trace.dropped) {
    absl::StrAppend(&text, ", ", WithThousands(count), " dropped (", reason, ")");
  }
  text += "\n";
  if (result.trace.descents > 0) {
    absl::StrAppend(&text, "            ", WithThousands(result.trace.descents),
                    " rows were earlier than the row before them and were sorted\n");
  }
  return text;
}

std::string LatencyTable(const ServingMetrics& m) {
  Rows rows = {{"latency ms", "mean", "p50", "p90", "p99"}};
  const auto add = [&](const char* name, const Quantiles& q) {
    if (q.count == 0) {
      rows.push_back({name, "-", "-", "-", "-"});
      return;
    }
    rows.push_back(
        {name, Fixed(q.mean_ms, 2), Fixed(q.p50_ms, 2), Fixed(q.p90_ms, 2), Fixed(q.p99_ms, 2)});
  };
  add("TTFT", m.ttft);
  add("TPOT", m.tpot);
  add("ITL", m.itl);
  add("E2EL", m.e2el);
  return AlignedTable(rows, 1, "");
}

std::string StepLines(const ReplayResult& result) {
  const auto& by_m = result.census->by_m();
  if (by_m.empty()) return "Steps       none\n";
  return absl::StrCat("Steps       ", WithThousands(result.simulation.num_steps),
                      "; M per step: min ", by_m.begin()->first, ", median ",
                      result.census->MedianM(), ", max ", WithThousands(by_m.rbegin()->first), "; ",
                      by_m.size(), " different M, after CUDA-graph padding ",
                      result.census->by_padded_m().size(), "\n");
}

// One thing that steps of an op had in common, in words, and how many steps had it.
struct Seen {
  std::string words;
  int64_t steps = 0;
};

// Attention's rules may differ in more than the split; what a reader compares is the split.
std::vector<Seen> SeenSplits(const OpClasses& op) {
  std::vector<Seen> seen;
  for (const VisitedClass& c : op.classes) {
    const std::string words = absl::StrCat("split ", c.split);
    const auto known = std::find_if(seen.begin(), seen.end(),
                                    [&](const Seen& other) { return other.words == words; });
    if (known == seen.end()) {
      seen.push_back({words, c.steps});
    } else {
      known->steps += c.steps;
    }
  }
  return seen;
}

std::vector<Seen> SeenClasses(const OpClasses& op) {
  std::vector<int64_t> all;
  for (const VisitedClass& c : op.classes) all.insert(all.end(), c.rows.begin(), c.rows.end());
  std::sort(all.begin(), all.end());
  std::vector<Seen> seen;
  for (const VisitedClass& c : op.classes) {
    seen.push_back({absl::StrCat(c.split > 1 ? absl::StrCat("K in ", c.split) : "one pass", ": M ",
                                 RangesWithin(c.rows, all)),
                    c.steps});
  }
  return seen;
}

// "K in 4: M 1..16 (95.1 %); one pass: M 24..8192 (4.9 %)", shares of steps. Of many, those that
// most steps met.
std::string ClassesOfOp(const OpClasses& op) {
  constexpr size_t kShown = 4;
  std::vector<Seen> seen = op.op == Op::kAttention ? SeenSplits(op) : SeenClasses(op);
  int64_t steps = 0;
  for (const Seen& one : seen) steps += one.steps;
  const size_t total = seen.size();
  if (total > kShown) {
    std::stable_sort(seen.begin(), seen.end(),
                     [](const Seen& a, const Seen& b) { return a.steps > b.steps; });
    seen.resize(kShown);
  }
  std::string text;
  for (const Seen& one : seen) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", one.words);
    if (total == 1) continue;
    absl::StrAppend(&text, " (",
                    Percent(static_cast<double>(one.steps), static_cast<double>(steps)), ")");
  }
  if (total > kShown) absl::StrAppend(&text, "; ", total - kShown, " more");
  return text;
}

std::string ClassTable(const ReplayResult& result) {
  Rows rows = {{"op", "n", "k", "classes", "which M fell into them (share of steps)"}};
  for (size_t i = 0; i < result.classes.size(); ++i) {
    const OpShape& shape = result.book->ops()[i];
    rows.push_back({OpName(shape.op), shape.n > 0 ? std::to_string(shape.n) : "-",
                    shape.k > 0 ? std::to_string(shape.k) : "-",
                    std::to_string(result.classes[i].classes.size()),
                    ClassesOfOp(result.classes[i])});
  }
  return absl::StrCat("Reduction classes met (two classes: two summation orders, other low bits)\n",
                      AlignedTable(rows, 5, "  "));
}

// Batch sizes are binned by powers of two: [1], [2, 3], [4, 7], ...
std::string DecodeCurve(const ReplayResult& result) {
  Rows rows = {{"batch", "steps", "ms/step", "tokens/s", "context/seq", "KV share"}};
  int64_t low = 1;
  auto at = result.census->decode_curve().begin();
  const auto end = result.census->decode_curve().end();
  for (; at != end; low *= 2) {
    DecodePoint bin;
    int64_t tokens = 0;
    int64_t first = 0;
    int64_t last = 0;
    for (; at != end && at->first < 2 * low; ++at) {
      first = first == 0 ? at->first : first;
      last = at->first;
      bin.steps += at->second.steps;
      bin.duration_ns += at->second.duration_ns;
      bin.kv_tokens += at->second.kv_tokens;
      bin.kv_traffic_ps += at->second.kv_traffic_ps;
      tokens += at->first * at->second.steps;
    }
    if (bin.steps == 0) continue;
    const double ns = static_cast<double>(bin.duration_ns);
    rows.push_back({first == last ? std::to_string(first) : absl::StrCat(first, "..", last),
                    WithThousands(bin.steps), Fixed(ns / static_cast<double>(bin.steps) / 1e6, 3),
                    Fixed(static_cast<double>(tokens) * 1e9 / ns, 0),
                    Fixed(static_cast<double>(bin.kv_tokens) / static_cast<double>(tokens), 0),
                    Percent(static_cast<double>(bin.kv_traffic_ps) / 1e3, ns)});
  }
  if (rows.size() == 1) return "";
  return "Decode steps by batch size\n" + AlignedTable(rows, 0, "  ");
}

std::string KneeLines(const ExperimentSpec& spec, const ReplayResult& result) {
  const StepTimeModel& model = result.timer->model();
  const StepCost one = model.Cost({1, 1, 0, 0});
  return absl::StrCat("Knee        streaming the weights takes ",
                      Fixed(static_cast<double>(one.weight_traffic) / 1e9, 2), " ms a step on ",
                      spec.device.name,
                      "; arithmetic takes longer from M = ", WithThousands(model.KneeM()),
                      " on;\n            KV traffic equals the weights at ",
                      WithThousands(model.KvTokensMatchingWeights()), " tokens in flight\n");
}

}  // namespace

std::string SummaryText(const ExperimentSpec& spec, const ReplayResult& result) {
  const ServingMetrics& m = result.metrics;
  std::string text = Header(spec, result) + "\n" + RequestLines(result);
  absl::StrAppend(&text, "Duration    ", Fixed(Seconds(m.duration_ns), 3),
                  " s simulated, from the first arrival to the last answer\n");
  absl::StrAppend(&text, "Throughput  ", Fixed(m.requests_per_s, 3), " requests/s, ",
                  Fixed(m.output_tokens_per_s, 1), " output tokens/s, ",
                  Fixed(m.total_tokens_per_s, 1), " total tokens/s\n");
  if (m.cached_tokens > 0) {
    absl::StrAppend(&text, "Prefix      ", WithThousands(m.cached_tokens),
                    " prompt tokens came from the cache at first admission\n");
  }
  if (spec.goodput.Any()) {
    absl::StrAppend(&text, "Goodput     ", Fixed(m.goodput_per_s, 3), " requests/s (",
                    WithThousands(m.good), " requests met every limit)\n");
  }
  text += StepLines(result) + "\n" + LatencyTable(m) + "\n";
  const std::string curve = DecodeCurve(result);
  if (!curve.empty()) text += curve + KneeLines(spec, result) + "\n";
  return text + ClassTable(result);
}

std::string RequestLifeText(const RequestHistory& history, const ReplayResult& result) {
  std::string text = absl::StrCat("Request ", history.id(), ": ",
                                  WithThousands(history.prompt_tokens()), " prompt tokens\n");
  if (history.entries().empty()) return text + "  it was never scheduled\n";
  const int32_t cached = history.entries().front().num_computed;
  if (cached > 0) {
    absl::StrAppend(&text, "  first ", WithThousands(cached), " tokens from the prefix cache\n");
  }
  absl::StrAppend(&text, "  prefill cut into ", CutsInWords(history.ChunkCuts()), "\n");
  text += "  sequences in its batch, over time: ";
  const std::vector<int32_t> sizes = BatchSizes(history);
  constexpr size_t kShown = 24;
  for (size_t i = 0; i < std::min(sizes.size(), kShown); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", sizes[i]);
  }
  if (sizes.size() > kShown) absl::StrAppend(&text, ", ... (", sizes.size(), " changes)");
  text += "\n";
  for (const int64_t step : history.preempted_at()) {
    absl::StrAppend(&text, "  preempted at step ", step, ": its KV is computed again\n");
  }
  Rows rows = {{"op", "classes", "where the class changed (token: M, split)"}};
  for (size_t op = 0; op < result.book->ops().size(); ++op) {
    const std::vector<ClassChange> changes = ClassChanges(history, op, result.book.get());
    std::vector<Digest> distinct;
    std::string places;
    constexpr size_t kPlaces = 6;
    for (size_t i = 0; i < changes.size(); ++i) {
      if (std::find(distinct.begin(), distinct.end(), changes[i].klass) == distinct.end()) {
        distinct.push_back(changes[i].klass);
      }
      if (i >= kPlaces) continue;
      absl::StrAppend(&places, i ? "; " : "", changes[i].position, ": M ", changes[i].rows,
                      changes[i].split > 1 ? absl::StrCat(" in ", changes[i].split) : "");
    }
    if (changes.size() > kPlaces) absl::StrAppend(&places, "; ... ", changes.size(), " changes");
    rows.push_back({OpName(result.book->ops()[op].op), std::to_string(distinct.size()), places});
  }
  return text + AlignedTable(rows, 3, "  ");
}

}  // namespace batchvar
