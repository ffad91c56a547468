// case-06: a neighbour's prefill changes my decode kernel (vllm-project/vllm#51902). The lines that
// concern plans; ties against gaps concern logits. GEMMs are pinned throughout, and KV is not paged
// where FlashAttention-3 runs: there its causal flag, which a longest query of one token drops,
// decides the KV block. The report's other gate, between 9 and 10, changes no order
// (docs/policies.md).
#include "tests/cases/case_replay.h"

namespace batchvar {
namespace {

constexpr char kFa3Unsplit[] = "{name: fa3, num_splits: 1, page_size: 0}";
constexpr char kFa3[] = "{name: fa3}";
constexpr char kFa2[] = "{name: fa2}";
constexpr char kVllmTriton[] = "{name: vllm_triton}";
constexpr char kVllmTritonInvariant[] = "{name: vllm_triton, segments: 1}";  // the control
constexpr const char* kSelectors[] = {kFa3Unsplit, kFa3, kFa2, kVllmTriton};

std::string Head(const char* attention) {
  return std::string(
             "model: {name: qwen2_5_0_5b, layers: 24, hidden_size: 896, intermediate_size: 4864, "
             "q_heads: 14, kv_heads: 2, head_dim: 64, vocab_size: 151936, max_positions: 32768, "
             "tied_embeddings: true}\ndevice: h100_sxm\nscheduler: {max_num_batched_tokens: 8192}\n"
             "policies: {gemm: batch_invariant, attention: ") +
         attention + "}\n";
}

// Steps in which everybody decodes, and those with a longer query.
class GateCount final : public RunSink {
 public:
  void OnRequest(int32_t, const Request&) override {}
  void OnSpan(const StepSpan& span) override {
    steps_ += span.num_steps;
    if (span.M() > std::ssize(span.batch.rows)) over_ += span.num_steps;
  }
  double Share() const { return static_cast<double>(over_) / static_cast<double>(steps_); }

 private:
  int64_t steps_ = 0;
  int64_t over_ = 0;
};

// A request that decodes 500 tokens. With `seed` above 0, ten others come and go meanwhile.
ReplayResult Replayed(const char* attention, int seed, GateCount* gate = nullptr) {
  std::string trace = TraceLine("mine", 0, 600, 500);
  for (int i = 0; seed > 0 && i < 10; ++i) {
    const int64_t arrival_ns = (i + 1) * 25'000'000 + seed * 1'000'000;
    trace += TraceLine("other" + std::to_string(i), arrival_ns, 100 + 211 * i * seed % 4000, 20);
  }
  std::vector<RunSink*> sinks;
  if (gate != nullptr) sinks.push_back(gate);
  return ReplayOf(Head(attention), trace, {"mine"}, sinks);
}

Digest ClassAmong(const char* attention, const std::vector<AttentionRequest>& others) {
  const auto spec =
      LoadExperimentText(Head(attention) +
                             "workload: {arrivals: {process: all_at_once}, prompt_len: {fixed: 1}, "
                             "output_len: {fixed: 1}, num_requests: 1}\n",
                         "case-06.yaml", ".", {});
  EXPECT_TRUE(spec.ok()) << spec.status();
  std::vector<AttentionRequest> step = {{1, 2000}};
  step.insert(step.end(), others.begin(), others.end());
  return MakeAttentionPolicy(spec->policies.attention)
      ->Plan(step, {14, 2, 64, DType::kBf16}, spec->device)[0]
      .klass;
}

TEST(Case06, TheLongestQueryDecidesNotOnlyTheNumberOfRows) {
  for (const char* attention : kSelectors) {
    const Digest decodes = ClassAmong(attention, {{1, 512}, {1, 512}});
    EXPECT_NE(ClassAmong(attention, {{1, 512}, {8192, 8192}}), decodes) << attention;
  }
  for (const char* attention : {kFa3Unsplit, kVllmTriton}) {  // one token more is enough
    EXPECT_NE(ClassAmong(attention, {{1, 512}, {2, 512}}),
              ClassAmong(attention, {{1, 512}, {1, 512}}))
        << attention;
  }
  for (const size_t others : {1, 5, 60}) {  // and without it, no number of rows is
    EXPECT_EQ(ClassAmong(kFa3Unsplit, std::vector<AttentionRequest>(others, {1, 512})),
              ClassAmong(kFa3Unsplit, {}));
  }
}

TEST(Case06, WithGemmsPinnedEveryReplayDiffersThoughFewStepsCrossTheGate) {
  for (const char* attention : kSelectors) {
    const ReplayResult alone = Replayed(attention, 0);
    for (int seed = 1; seed <= 4; ++seed) {
      GateCount gate;
      const ReplayResult among = Replayed(attention, seed, &gate);
      EXPECT_GT(gate.Share(), 0.0);
      EXPECT_LT(gate.Share(), 0.04) << seed;
      const RowComparison rows = Compared(alone, 0, among, 0);
      EXPECT_GT(Differ(rows, alone, Op::kAttention), 0) << attention << " " << seed;
      EXPECT_EQ(DifferOutsideAttention(rows, alone), 0) << attention << " " << seed;
    }
  }
}

TEST(Case06, TheUnsplitKernelDiffersAtTheGateAndNowhereElse) {
  const ReplayResult alone = Replayed(kFa3Unsplit, 0);
  const ReplayResult among = Replayed(kFa3Unsplit, 1);
  int64_t over = 0;
  for (const HistoryEntry& entry : among.histories[0]->entries()) {
    if (entry.phase == Phase::kDecode && entry.m > entry.num_requests) over += entry.num_steps;
  }
  EXPECT_GT(over, 0);
  EXPECT_EQ(Differ(Compared(alone, 0, among, 0), alone, Op::kAttention), over);
}

TEST(Case06, AKernelThatIgnoresTheLongestQueryIsTheSameInEveryReplay) {
  for (const char* attention : {kVllmTritonInvariant, "{name: batch_invariant}"}) {
    EXPECT_EQ(ClassAmong(attention, {{8192, 8192}}), ClassAmong(attention, {}));
    const ReplayResult alone = Replayed(attention, 0);
    for (int seed = 1; seed <= 4; ++seed) {
      EXPECT_FALSE(Compared(alone, 0, Replayed(attention, seed), 0).first.has_value()) << seed;
    }
  }
}

}  // namespace
}  // namespace batchvar
