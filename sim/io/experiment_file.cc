#include "sim/io/experiment_file.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "sim/io/digest_bytes.h"
#include "sim/proto/experiment.pb.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

constexpr uint32_t kSchemaVersion = 1;

void Fill(const RowSum& sum, proto::OpSum* out) {
  out->set_batch(static_cast<uint32_t>(sum.batch));
  out->set_m(sum.m);
  for (const Range& piece : sum.pieces) {
    proto::PieceRange& range = *out->add_pieces();
    range.set_begin(piece.begin);
    range.set_end(piece.end);
  }
  out->set_combine(sum.combine);
  out->set_class_digest(BytesOf(sum.klass));
  out->set_block(static_cast<uint32_t>(sum.block));
  out->set_descending(sum.descending);
  out->set_arithmetic(static_cast<uint32_t>(sum.arithmetic));
}

RowSum SumOf(const proto::OpSum& sum) {
  RowSum out;
  out.batch = static_cast<int32_t>(sum.batch());
  out.m = sum.m();
  for (const proto::PieceRange& piece : sum.pieces()) {
    out.pieces.push_back({piece.begin(), piece.end()});
  }
  out.combine = sum.combine();
  out.klass = DigestOfBytes(sum.class_digest());
  out.block = static_cast<int32_t>(sum.block());
  out.descending = sum.descending();
  out.arithmetic = static_cast<Arithmetic>(sum.arithmetic());
  return out;
}

void Fill(const TextDivergence& divergence, proto::Parting* out) {
  out->set_trial(divergence.trial);
  out->set_position(divergence.position);
  out->set_token_a(divergence.token_a);
  out->set_token_b(divergence.token_b);
  out->set_margin(divergence.margin);
  out->set_tie(divergence.tie);
  if (divergence.logits.known) {
    out->set_logit_max_abs(divergence.logits.max_abs);
    out->set_logit_max_ulp(divergence.logits.max_ulp);
  }
  if (divergence.row < 0) return;
  out->set_row(divergence.row);
  out->set_first_op(OpName(divergence.first_op));
  Fill(divergence.a, out->mutable_a());
  Fill(divergence.b, out->mutable_b());
  if (!divergence.bits_differ) return;
  out->set_bits_op(OpName(divergence.bits_op));
  out->set_bits_layer(divergence.bits_layer);
  out->set_bits_max_ulp(divergence.bits_max_ulp);
}

// kArgmax where no op has the name.
Op OpOf(const std::string& name) {
  int op = 0;
  while (op < static_cast<int>(Op::kArgmax) && name != OpName(static_cast<Op>(op))) ++op;
  return static_cast<Op>(op);
}

TextDivergence DivergenceOf(const proto::Parting& parting) {
  TextDivergence out;
  out.trial = parting.trial();
  out.position = parting.position();
  out.token_a = parting.token_a();
  out.token_b = parting.token_b();
  out.margin = parting.margin();
  out.tie = parting.tie();
  out.logits = {parting.has_logit_max_abs(), parting.logit_max_abs(), parting.logit_max_ulp()};
  if (!parting.has_row()) return out;
  out.row = parting.row();
  out.first_op = OpOf(parting.first_op());
  out.a = SumOf(parting.a());
  out.b = SumOf(parting.b());
  out.bits_differ = !parting.bits_op().empty();
  if (!out.bits_differ) return out;
  out.bits_op = OpOf(parting.bits_op());
  out.bits_layer = parting.bits_layer();
  out.bits_max_ulp = parting.bits_max_ulp();
  return out;
}

void Fill(const ArmResult& arm, proto::ArmOutcome* out) {
  out->set_name(arm.name);
  out->set_against(arm.against);
  out->set_fillers(static_cast<uint32_t>(arm.fillers));
  out->set_device(arm.device);
  out->set_tp(static_cast<uint32_t>(arm.tp));
  out->set_policies(arm.policies);
  out->set_sampling_seed(arm.sampling_seed);
  out->set_repeat_identical(arm.repeat_identical);
  out->set_inconclusive(arm.inconclusive);
  out->set_rows_needed(arm.rows_needed);
  out->set_rows_computed(arm.rows_computed);
  for (size_t trial = 0; trial < arm.texts.size(); ++trial) {
    proto::Response& response = *out->add_responses();
    for (const int64_t token : arm.texts[trial]) response.add_token_ids(token);
    for (const TopTwo& decision : arm.decisions[trial]) response.add_margins(decision.Margin());
    const TrialCompany& met = arm.met[trial];
    response.set_min_batch(static_cast<uint32_t>(met.min_batch));
    response.set_median_batch(static_cast<uint32_t>(met.median_batch));
    response.set_max_batch(static_cast<uint32_t>(met.max_batch));
    response.set_cached_tokens(met.cached_tokens);
    response.set_preemptions(static_cast<uint32_t>(met.preemptions));
  }
  for (const TextDivergence& divergence : arm.divergences) Fill(divergence, out->add_partings());
  for (const float low : arm.noise.low) out->add_noise_low(low);
  for (const float high : arm.noise.high) out->add_noise_high(high);
}

// What follows from the texts is counted again.
void CountTexts(ArmResult* arm) {
  std::map<std::vector<int64_t>, int64_t> counts;
  for (const std::vector<int64_t>& text : arm->texts) {
    arm->top = std::max(arm->top, ++counts[text]);
  }
  arm->trials = std::ssize(arm->texts);
  arm->distinct = std::ssize(counts);
  arm->differ = std::ssize(arm->divergences);
}

ArmResult ArmOf(const proto::ArmOutcome& arm) {
  ArmResult out;
  out.name = arm.name();
  out.against = arm.against();
  out.fillers = static_cast<int32_t>(arm.fillers());
  out.device = arm.device();
  out.tp = static_cast<int32_t>(arm.tp());
  out.policies = arm.policies();
  out.sampling_seed = arm.sampling_seed();
  out.repeat_identical = arm.repeat_identical();
  out.inconclusive = arm.inconclusive();
  out.rows_needed = arm.rows_needed();
  out.rows_computed = arm.rows_computed();
  for (const proto::Response& response : arm.responses()) {
    out.texts.emplace_back(response.token_ids().begin(), response.token_ids().end());
    std::vector<TopTwo>& decisions = out.decisions.emplace_back();
    for (int i = 0; i < response.margins_size() && i < response.token_ids_size(); ++i) {
      decisions.push_back({response.token_ids(i), -1, response.margins(i), 0.0f});
    }
    out.met.push_back({static_cast<int32_t>(response.min_batch()),
                       static_cast<int32_t>(response.median_batch()),
                       static_cast<int32_t>(response.max_batch()), response.cached_tokens(),
                       static_cast<int32_t>(response.preemptions())});
  }
  for (const proto::Parting& parting : arm.partings()) {
    out.divergences.push_back(DivergenceOf(parting));
  }
  out.noise.low.assign(arm.noise_low().begin(), arm.noise_low().end());
  out.noise.high.assign(arm.noise_high().begin(), arm.noise_high().end());
  CountTexts(&out);
  return out;
}

}  // namespace

std::string ExperimentBytes(const ExperimentResult& result, const std::string& producer) {
  proto::Experiment out;
  out.set_schema_version(kSchemaVersion);
  out.set_producer(producer);
  out.set_model(result.model);
  out.set_plan_model(result.plan_model);
  out.set_synthetic(result.synthetic);
  out.set_dtype(result.dtype);
  out.set_logits(result.logits);
  out.set_seed(result.seed);
  out.set_prompt_tokens(result.prompt_tokens);
  out.set_prompt_digest(BytesOf(result.prompt_digest));
  out.set_max_tokens(result.max_tokens);
  for (const ArmResult& arm : result.arms) Fill(arm, out.add_arms());
  out.set_verdict(result.verdict);
  return out.SerializeAsString();
}

absl::StatusOr<ExperimentResult> ReadExperimentFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in.good()) return InputError({path}, "cannot be opened");
  proto::Experiment read;
  if (!read.ParseFromIstream(&in) || read.schema_version() != kSchemaVersion) {
    return InputError({path}, "not an experiment.binpb of this version of batchvar");
  }
  ExperimentResult result;
  result.model = read.model();
  result.plan_model = read.plan_model();
  result.synthetic = read.synthetic();
  result.dtype = read.dtype();
  result.logits = read.logits();
  result.seed = read.seed();
  result.prompt_tokens = read.prompt_tokens();
  result.prompt_digest = DigestOfBytes(read.prompt_digest());
  result.max_tokens = read.max_tokens();
  for (const proto::ArmOutcome& arm : read.arms()) result.arms.push_back(ArmOf(arm));
  result.verdict = read.verdict();
  return result;
}

}  // namespace batchvar
