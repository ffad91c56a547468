#include "sim/io/trace_statistics_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "sim/base/time.h"

namespace batchvar {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

std::string Count(int64_t value) { return std::to_string(value); }

std::string Fixed(double value, int decimals) {
  return std::isnan(value) ? "-" : absl::StrFormat("%.*f", decimals, value);
}

// Six significant digits, for numbers of any size.
std::string Short(double value) { return std::isnan(value) ? "-" : absl::StrFormat("%.6g", value); }

std::string Seconds(TimeNs time_ns) { return Short(static_cast<double>(time_ns) / kNsPerSecond); }

// The first column to the left, the others to the right.
std::string Aligned(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - row[i].size(), ' ');
      if (i == 0) {
        text += row[i] + (row.size() > 1 ? gap : "");
      } else {
        text += "  " + gap + row[i];
      }
    }
    text += '\n';
  }
  return text;
}

Json JsonOf(const Quantiles& quantiles) {
  return {{"min", quantiles.min}, {"p50", quantiles.p50}, {"p90", quantiles.p90},
          {"p99", quantiles.p99}, {"max", quantiles.max}, {"mean", quantiles.mean}};
}

Row TokensRow(const std::string& name, const Quantiles& tokens) {
  return {name,
          Count(tokens.min),
          Count(tokens.p50),
          Count(tokens.p90),
          Count(tokens.p99),
          Count(tokens.max),
          Fixed(tokens.mean, 1)};
}

Row GapRow(const TraceStatistics& statistics) {
  const Quantiles& gap = statistics.gap_ns;
  return {"gap between arrivals, s",
          Seconds(gap.min),
          Seconds(gap.p50),
          Seconds(gap.p90),
          Seconds(gap.p99),
          Seconds(gap.max),
          Short(gap.mean / kNsPerSecond)};
}

std::vector<Row> RowCounts(const TraceCounts& counts) {
  std::vector<Row> rows = {{"rows read", Count(counts.rows_read)},
                           {"requests", Count(counts.emitted)}};
  for (const auto& [reason, count] : counts.dropped)
    rows.push_back({"dropped, " + reason, Count(count)});
  rows.push_back({"rows out of order", Count(counts.descents)});
  if (counts.sessions > 0) rows.push_back({"sessions", Count(counts.sessions)});
  return rows;
}

}  // namespace

std::string StatisticsTable(const Trace& trace, const TraceStatistics& statistics) {
  const TraceCounts& counts = trace.counts;
  std::vector<Row> facts = RowCounts(counts);
  const std::vector<Row> arrivals = {
      {"span, s", Fixed(static_cast<double>(statistics.span_ns) / kNsPerSecond, 3)},
      {"rate, 1/s", Short(statistics.rate_per_s)},
      {"variation of the gaps (CV)", Fixed(statistics.gap_cv, 3)},
      {"pairs at the same time", Count(statistics.equal_time_pairs)},
      {"dispersion of counts in 1 s", Fixed(statistics.per_second.dispersion, 2)},
      {"dispersion of counts in 60 s", Fixed(statistics.per_minute.dispersion, 2)},
      {"most arrivals in 1 s", Count(statistics.per_second.peak)},
      {"most arrivals in 60 s", Count(statistics.per_minute.peak)},
  };
  facts.insert(facts.end(), arrivals.begin(), arrivals.end());
  const std::vector<Row> load = {
      {"concurrency, peak", Count(statistics.peak_concurrency)},
      {"concurrency, mean", Fixed(statistics.mean_concurrency, 1)},
      {"tokens held, peak", Count(statistics.peak_resident_tokens)},
      {"prompt tokens per s", Fixed(statistics.prompt_tokens_per_s, 1)},
      {"output tokens per s", Fixed(statistics.output_tokens_per_s, 1)},
  };
  std::string text = Aligned(facts) + '\n' +
                     Aligned({{"", "min", "p50", "p90", "p99", "max", "mean"},
                              GapRow(statistics),
                              TokensRow("prompt tokens", statistics.prompt_tokens),
                              TokensRow("output tokens", statistics.output_tokens)}) +
                     '\n' +
                     absl::StrFormat("If every output token took %.6g ms, without queues:\n",
                                     static_cast<double>(statistics.tpot_ns) / kNsPerMs) +
                     Aligned(load);
  if (counts.block_refs > 0) {
    text += "\nPrefix reuse, cache without limit:\n" +
            Aligned({{"block references", Count(counts.block_refs)},
                     {"distinct blocks", Count(counts.distinct_blocks)},
                     {"blocks found in the cache", Fixed(statistics.block_hit_ratio, 4)},
                     {"tokens found in the cache", Fixed(statistics.token_hit_ratio, 4)}});
  }
  return text;
}

std::string StatisticsJson(const std::string& format, const Trace& trace,
                           const TraceStatistics& statistics) {
  const TraceCounts& counts = trace.counts;
  Json dropped = Json::object();
  for (const auto& [reason, count] : counts.dropped) dropped[reason] = count;
  const Json object = {
      {"schema_version", 1},
      {"kind", "trace_statistics"},
      {"format", format},
      {"sha256", trace.sha256},
      {"requests",
       {{"read", counts.rows_read},
        {"emitted", counts.emitted},
        {"dropped", std::move(dropped)},
        {"descents", counts.descents},
        {"sessions", counts.sessions}}},
      {"arrivals",
       {{"span_ns", statistics.span_ns},
        {"rate_per_s", statistics.rate_per_s},
        {"gap_ns", JsonOf(statistics.gap_ns)},
        {"gap_cv", statistics.gap_cv},
        {"equal_time_pairs", statistics.equal_time_pairs},
        {"peak_per_1s", statistics.per_second.peak},
        {"peak_per_60s", statistics.per_minute.peak},
        {"dispersion_1s", statistics.per_second.dispersion},
        {"dispersion_60s", statistics.per_minute.dispersion}}},
      {"prompt_tokens", JsonOf(statistics.prompt_tokens)},
      {"output_tokens", JsonOf(statistics.output_tokens)},
      {"load",
       {{"tpot_ms", static_cast<double>(statistics.tpot_ns) / kNsPerMs},
        {"peak_concurrency_requests", statistics.peak_concurrency},
        {"mean_concurrency_requests", statistics.mean_concurrency},
        {"peak_resident_tokens", statistics.peak_resident_tokens},
        {"prompt_tokens_per_s", statistics.prompt_tokens_per_s},
        {"output_tokens_per_s", statistics.output_tokens_per_s}}},
      {"prefix",
       {{"block_refs", counts.block_refs},
        {"distinct_blocks", counts.distinct_blocks},
        {"block_hit_ratio", statistics.block_hit_ratio},
        {"token_hit_ratio", statistics.token_hit_ratio}}},
  };
  return object.dump() + '\n';  // NaN becomes null
}

}  // namespace batchvar
