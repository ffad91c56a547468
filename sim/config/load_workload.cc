// `workload:` -> WorkloadSpec: a trace, or arrivals and lengths.
#include <cmath>
#include <string>
#include <vector>

#include "sim/config/config_files.h"
#include "sim/config/spec_names.h"
#include "sim/config/spec_parts.h"

namespace batchvar {
namespace {

constexpr int64_t kMaxRequests = 1'000'000'000;
constexpr int64_t kMaxConcurrency = kMaxTokens;
constexpr double kMaxCv = 1e4;

// The formats of sim/io/trace_reader.h.
const std::vector<std::string>& TraceFormatNames() {
  static const std::vector<std::string> names = {"azure", "burstgpt", "mooncake",     "bailian",
                                                 "vidur", "jsonl",    "llmservingsim"};
  return names;
}

TraceSpec ReadTraceSpec(const ConfigNode& node, const std::string& folder, FirstError* errors) {
  TraceSpec trace;
  MapReader reader(node, "workload.trace", errors);
  reader.Require({"path", "format"});
  reader.Text("path", &trace.path);
  const int format = reader.Word("format", TraceFormatNames());
  if (format >= 0) trace.format = TraceFormatNames()[format];
  reader.Integer("block_size", 0, kMaxTokens, &trace.block_size);
  reader.Number("time_scale", NumberRange::Above(0), &trace.time_scale);
  reader.Number("start_s", NumberRange::AtLeast(0), &trace.start_s);
  reader.Number("end_s", NumberRange::AtLeast(0), &trace.end_s);
  reader.Integer("max_requests", 0, kMaxRequests, &trace.max_requests);
  reader.Bool("strict", &trace.strict);
  reader.Finish();
  if (!errors->ok()) return trace;
  if (trace.path.empty()) reader.Error("path", "is empty");
  if (trace.end_s != 0 && trace.end_s <= trace.start_s) {
    reader.Error("end_s", "must be after start_s (0 means the trace's end)");
  }
  trace.resolved_path = ResolvePath(trace.path, folder, reader.MarkOf("path"));
  return trace;
}

constexpr const char* kArrivalKeys[] = {
    "rate_per_s",   "cv",    "burstiness",       "concurrency",
    "think_time_s", "rates", "start_rate_per_s", "end_rate_per_s",
    "duration_s"};

// Keys that each process uses besides `process`, required ones first.
struct ProcessKeys {
  ArrivalProcess process;
  std::vector<const char*> required;
  std::vector<const char*> optional;
};

const ProcessKeys& KeysOf(ArrivalProcess process) {
  static const ProcessKeys table[] = {
      {ArrivalProcess::kConstant, {"rate_per_s"}, {}},
      {ArrivalProcess::kPoisson, {"rate_per_s"}, {}},
      {ArrivalProcess::kGamma, {"rate_per_s"}, {"cv", "burstiness"}},
      {ArrivalProcess::kWeibull, {"rate_per_s"}, {"cv"}},
      {ArrivalProcess::kAllAtOnce, {}, {}},
      {ArrivalProcess::kClosedLoop, {"concurrency"}, {"think_time_s"}},
      {ArrivalProcess::kPiecewise, {"rates"}, {}},
      {ArrivalProcess::kRamp, {"start_rate_per_s", "end_rate_per_s", "duration_s"}, {}},
  };
  return table[static_cast<size_t>(process)];
}

bool Contains(const std::vector<const char*>& keys, std::string_view key) {
  for (const char* candidate : keys) {
    if (key == candidate) return true;
  }
  return false;
}

// Requires what the process needs and refuses what it does not use.
void CheckKeys(ArrivalProcess process, MapReader* reader) {
  const ProcessKeys& keys = KeysOf(process);
  const std::string user = "process '" + std::string(NameIn(kArrivalProcessNames, process)) + "'";
  for (const char* key : kArrivalKeys) {
    if (Contains(keys.required, key)) {
      reader->Require({key});
    } else if (!Contains(keys.optional, key)) {
      reader->Refuse({key}, user);
    }
  }
}

void ReadCv(MapReader* reader, double* cv) {
  reader->Number("cv", {.min = 0, .max = kMaxCv}, cv);
  if (!reader->Has("burstiness")) return;
  if (reader->Has("cv")) {
    reader->Error("burstiness", "and cv say the same thing (cv = 1 / sqrt(burstiness)); give one");
  }
  double burstiness = 1;
  reader->Number("burstiness", NumberRange::Above(0), &burstiness);
  *cv = 1 / std::sqrt(burstiness);
}

std::vector<RatePiece> ReadRates(const std::string& path, FirstError* errors, MapReader* arrivals) {
  std::vector<RatePiece> rates;
  const ConfigNode* list = arrivals->Child("rates");
  if (list == nullptr) return rates;
  if (!list->IsSequence() || list->items.empty()) {
    arrivals->Error("rates", "must be a list such as [{duration_s: 60, rate_per_s: 2}]");
    return rates;
  }
  for (size_t i = 0; i < list->items.size(); ++i) {
    MapReader reader(list->items[i], path + ".rates[" + std::to_string(i) + "]", errors);
    RatePiece piece;
    reader.Require({"duration_s", "rate_per_s"});
    reader.Number("duration_s", NumberRange::Above(0), &piece.duration_s);
    reader.Number("rate_per_s", NumberRange::AtLeast(0), &piece.rate_per_s);
    reader.Finish();
    if (errors->ok() && i + 1 == list->items.size() && piece.rate_per_s == 0) {
      reader.Error("rate_per_s", "must be above 0: the last rate goes on until all have arrived");
    }
    rates.push_back(piece);
  }
  return rates;
}

}  // namespace

ArrivalSpec ReadArrivals(const ConfigNode& node, const std::string& path, FirstError* errors) {
  ArrivalSpec arrivals;
  MapReader reader(node, path, errors);
  reader.Require({"process"});
  reader.Enum("process", kArrivalProcessNames, &arrivals.process);
  if (!errors->ok()) return arrivals;
  if (!reader.Has("process")) {  // what the other keys mean depends on it
    for (const char* key : kArrivalKeys) reader.Child(key);
    reader.Finish();
    return arrivals;
  }
  CheckKeys(arrivals.process, &reader);
  reader.Number("rate_per_s", NumberRange::Above(0), &arrivals.rate_per_s);
  if (arrivals.process == ArrivalProcess::kGamma || arrivals.process == ArrivalProcess::kWeibull) {
    ReadCv(&reader, &arrivals.cv);
  }
  reader.Integer("concurrency", 1, kMaxConcurrency, &arrivals.concurrency);
  reader.Number("think_time_s", NumberRange::AtLeast(0), &arrivals.think_time_s);
  arrivals.rates = ReadRates(path, errors, &reader);
  reader.Number("start_rate_per_s", NumberRange::AtLeast(0), &arrivals.start_rate_per_s);
  reader.Number("end_rate_per_s", NumberRange::Above(0), &arrivals.end_rate_per_s);
  reader.Number("duration_s", NumberRange::Above(0), &arrivals.duration_s);
  reader.Finish();
  return arrivals;
}

WorkloadSpec ReadWorkload(const ConfigNode& node, const std::string& folder, FirstError* errors) {
  WorkloadSpec workload;
  MapReader reader(node, "workload", errors);
  const ConfigNode* trace = reader.Child("trace");
  if (trace != nullptr) {
    reader.Refuse({"arrivals", "prompt_len", "output_len", "num_requests"},
                  "a workload with a trace");
    reader.Finish();
    workload.has_trace = true;
    workload.trace = ReadTraceSpec(*trace, folder, errors);
    return workload;
  }
  SyntheticWorkload& synthetic = workload.synthetic;
  reader.Require({"arrivals", "prompt_len", "output_len"});
  reader.Integer("num_requests", 1, kMaxRequests, &synthetic.num_requests);
  const ConfigNode* arrivals = reader.Child("arrivals");
  const ConfigNode* prompt_len = reader.Child("prompt_len");
  const ConfigNode* output_len = reader.Child("output_len");
  reader.Finish();
  if (!errors->ok()) return workload;
  synthetic.arrivals = ReadArrivals(*arrivals, "workload.arrivals", errors);
  synthetic.prompt_len = ReadLength(*prompt_len, "workload.prompt_len", folder, errors);
  synthetic.output_len = ReadLength(*output_len, "workload.output_len", folder, errors);
  return workload;
}

}  // namespace batchvar
