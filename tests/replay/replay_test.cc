#include "sim/replay/replay.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "sim/plan/order_digest.h"
#include "sim/replay/row_comparison.h"
#include "tests/io/temp_file.h"
#include "tests/replay/experiments.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

ReplayResult RunOf(const ExperimentSpec& spec, const std::vector<std::string>& requests = {},
                   int32_t threads = 1) {
  ReplayOptions options;
  options.requests = requests;
  options.threads = threads;
  auto result = Replay(spec, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return std::move(*result);
}

TEST(Replay, CensusCountsEveryStepOnce) {
  const ReplayResult result = RunOf(AllAtOnce(40));
  int64_t steps = 0;
  int64_t tokens = 0;
  for (const auto& [m, count] : result.census->by_m()) {
    steps += count.steps;
    tokens += count.tokens;
  }
  EXPECT_EQ(steps, result.simulation.num_steps);
  EXPECT_EQ(tokens, result.simulation.num_tokens_scheduled);
  for (const OpClasses& op : result.classes) {
    int64_t of_op = 0;
    for (const VisitedClass& visited : op.classes) of_op += visited.steps;
    EXPECT_EQ(of_op, steps) << OpName(op.op);
  }
}

TEST(Replay, BodySeesPaddedMAndTheHeadTheRequests) {
  const ReplayResult result = RunOf(AllAtOnce(37));
  EXPECT_TRUE(result.census->by_m().contains(37));
  EXPECT_TRUE(result.census->by_padded_m().contains(40));
  EXPECT_FALSE(result.census->by_padded_m().contains(37));
  EXPECT_TRUE(result.census->by_requests().contains(37));
  const ReplayResult exact = RunOf(AllAtOnce(37, {"scheduler.padding=exact"}));
  EXPECT_TRUE(exact.census->by_padded_m().contains(37));
}

TEST(Replay, AStopTokenCostsOneWastedRowUnderAsyncScheduling) {
  const auto tokens = [](const char* ends_by, const char* async) {
    return RunOf(AllAtOnce(10, {ends_by, async})).simulation.num_tokens_scheduled;
  };
  const int64_t plain =
      tokens("scheduler.output_ends_by=length", "scheduler.async_scheduling=false");
  EXPECT_EQ(plain, 10 * (64 + 31));
  EXPECT_EQ(tokens("scheduler.output_ends_by=length", "scheduler.async_scheduling=true"), plain);
  EXPECT_EQ(tokens("scheduler.output_ends_by=eos", "scheduler.async_scheduling=true"), plain + 10);
}

TEST(Replay, ThreadsChangeNothing) {
  const ReplayResult one = RunOf(AllAtOnce(60), {}, 1);
  const ReplayResult many = RunOf(AllAtOnce(60), {}, 5);
  EXPECT_EQ(one.book->Records(), many.book->Records());
  EXPECT_EQ(one.simulation.end_ns, many.simulation.end_ns);
}

TEST(Replay, AnUnknownRequestIsAnErrorThatNamesTheNearest) {
  ReplayOptions options;
  options.requests = {"r99"};
  const auto result = Replay(AllAtOnce(10), options);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(std::string(result.status().message()).find("did you mean 'r9'"), std::string::npos);
}

ExperimentSpec LongPrompt(const std::vector<std::string>& overrides) {
  auto spec = LoadExperiment(ProjectPath("configs/experiments/long_prompt.yaml"), overrides);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return *spec;
}

TEST(Replay, LifeOfTheLongPrompt) {
  const ReplayResult result = RunOf(LongPrompt({}), {"target"});
  const RequestHistory& life = *result.histories.front();
  EXPECT_EQ(CutsInWords(life.ChunkCuts()), "492 x6 + 48");
  EXPECT_EQ(BatchSizes(life), std::vector<int32_t>{21});
  int64_t next = 0;  // its tokens are computed in order, without a gap
  for (const HistoryEntry& entry : life.entries()) {
    EXPECT_EQ(entry.begin(), next);
    next = entry.end();
  }
  EXPECT_EQ(next, 3000 + 16);  // the last output is sampled, never fed; async wastes one row
}

TEST(RowComparison, ARunEqualsItself) {
  const ExperimentSpec spec = LongPrompt({});
  const ReplayResult a = RunOf(spec, {"target"});
  const ReplayResult b = RunOf(spec, {"target"});
  const RowComparison rows =
      CompareRows(*a.histories[0], a.book.get(), *b.histories[0], b.book.get());
  EXPECT_FALSE(rows.first.has_value());
  EXPECT_TRUE(rows.unpaired.empty());
}

TEST(RowComparison, AnotherBudgetMovesCutsAndTheAttentionOrderOfAnotherDeviceDiffers) {
  const ReplayResult a = RunOf(LongPrompt({}), {"target"});
  const ReplayResult b = RunOf(LongPrompt({"device.sm_count=64"}), {"target"});
  const RowComparison rows =
      CompareRows(*a.histories[0], a.book.get(), *b.histories[0], b.book.get());
  ASSERT_TRUE(rows.first.has_value());
  EXPECT_NE(rows.first->a.order, rows.first->b.order);
  int64_t differ = 0;
  for (const OpRowCount& op : rows.by_op) {
    EXPECT_LE(op.differ, op.compared);
    differ += op.differ;
  }
  EXPECT_GT(differ, 0);
}

TEST(RowComparison, BatchInvariantRowsDependOnPositionOnly) {
  const ReplayResult a = RunOf(LongPrompt({"policies=batch_invariant"}), {"target"});
  const ReplayResult b = RunOf(
      LongPrompt({"policies=batch_invariant", "scheduler.max_num_batched_tokens=300"}), {"target"});
  EXPECT_NE(a.histories[0]->ChunkCuts(), b.histories[0]->ChunkCuts());
  const RowComparison rows =
      CompareRows(*a.histories[0], a.book.get(), *b.histories[0], b.book.get());
  EXPECT_FALSE(rows.first.has_value());
}

TEST(RowComparison, TokensFromTheCacheAreUnpaired) {
  const std::string yaml = "model: llama31_8b\ndevice: h100_sxm\nworkload: {trace: {path: " +
                           ProjectPath("traces/sample.jsonl") + ", format: jsonl}}\n";
  ReplayResult warm = RunOf(ExperimentOf(yaml));
  std::string id;
  int32_t cached = 0;
  for (const RequestResult& request : warm.simulation.requests) {
    if (request.cached_tokens > cached) {
      id = request.id;
      cached = request.cached_tokens;
    }
  }
  ASSERT_GT(cached, 0) << "the sample trace shares prefixes";
  warm = RunOf(ExperimentOf(yaml), {id});
  const ReplayResult cold =
      RunOf(ExperimentOf(yaml, {"scheduler.enable_prefix_caching=false"}), {id});
  const RowComparison rows =
      CompareRows(*warm.histories[0], warm.book.get(), *cold.histories[0], cold.book.get());
  ASSERT_FALSE(rows.unpaired.empty());
  EXPECT_FALSE(rows.unpaired.front().in_a);
  EXPECT_EQ(rows.unpaired.front().begin, 0);
  EXPECT_EQ(rows.unpaired.front().end, cached);
}

TEST(Replay, EveryPolicyReplaysAndKnowsItsOwnRows) {
  for (const char* policies :
       {"vllm_h100", "sglang_h100", "{gemm: stream_k}", "{gemm: {name: stream_k, generation: 2}}",
        "{gemm: {name: cutlass_splitk, mode: parallel}, attention: fa2, allreduce: ring}",
        "{attention: vllm_triton, allreduce: two_shot}", "{attention: sglang_triton}",
        "{attention: paged_v1_v2, norm: norm_vllm}", "{attention: cascade, allreduce: exact}",
        "{gemm: {name: batch_invariant, variant: free_tile}}"}) {
    const ExperimentSpec spec = LongPrompt({std::string("policies=") + policies, "tp=2"});
    const ReplayResult a = RunOf(spec, {"target"});
    const ReplayResult b = RunOf(spec, {"target"}, 3);
    EXPECT_EQ(a.metrics.finished, 21) << policies;
    const RowComparison rows =
        CompareRows(*a.histories[0], a.book.get(), *b.histories[0], b.book.get());
    EXPECT_FALSE(rows.first.has_value()) << policies;
    EXPECT_EQ(a.book->Records(), b.book->Records()) << policies;
  }
}

// `count` requests that share 1024 tokens, the first one early enough to fill the cache.
ReplayResult Sharers(int count, const char* more = "") {
  std::string trace;
  for (int i = 0; i < count; ++i) {
    trace += "{\"request_id\": \"r" + std::to_string(i) +
             "\", \"arrival_ns\": " + std::to_string(i == 0 ? 0 : 500'000'000) +
             ", \"prompt_tokens\": 1100, \"output_tokens\": 300, \"prefix\": [[7, 1024]]}\n";
  }
  const TempFile file(trace + more, ".jsonl");
  return RunOf(ExperimentOf("model: llama31_8b\ndevice: h100_sxm\npolicies: {attention: cascade}\n"
                            "workload: {trace: {path: " +
                            file.path() + ", format: jsonl}}\n"),
               {"r1"});
}

std::set<int64_t> SharedPrefixes(const ReplayResult& run) {
  std::set<int64_t> prefixes;
  for (const auto& [rule, count] : run.census->by_rule()) prefixes.insert(rule.shared_prefix);
  return prefixes;
}

TEST(Replay, CascadeReducesWhatTheBlockTablesShare) {
  const ReplayResult many = Sharers(48);
  EXPECT_EQ(SharedPrefixes(many), (std::set<int64_t>{0, 1024}));
  bool apart = false;
  for (const HistoryEntry& entry : many.histories[0]->entries()) {
    if (entry.phase != Phase::kDecode || entry.rule.shared_prefix == 0) continue;
    apart = true;
    EXPECT_EQ(many.book->AttentionRowOrder(entry.rule, {1, entry.end()}, entry.end() - 1).pieces,
              (std::vector<Range>{{0, 1024}, {1024, entry.end()}}));
  }
  EXPECT_TRUE(apart);
  EXPECT_EQ(SharedPrefixes(Sharers(6)), std::set<int64_t>{0});  // too few
}

TEST(Replay, OneStrangerEndsTheSharedPrefixForEverybody) {
  const ReplayResult run =
      Sharers(48,
              "{\"request_id\": \"stranger\", \"arrival_ns\": 900000000, \"prompt_tokens\": 50, "
              "\"output_tokens\": 20}\n");
  const ReplayResult without = Sharers(48);
  const RowComparison rows =
      CompareRows(*without.histories[0], without.book.get(), *run.histories[0], run.book.get());
  int64_t differ = 0;
  for (size_t op = 0; op < rows.by_op.size(); ++op) {
    if (run.book->ops()[op].op == Op::kAttention) differ = rows.by_op[op].differ;
  }
  EXPECT_GE(differ, 20);
  EXPECT_LT(differ, 60);  // it comes and goes
}

TEST(Replay, UnderStreamKAPlaceInTheBatchCanMatter) {
  PlanBook book(AllAtOnce(1, {"policies={gemm: {name: stream_k, tile_m: 16}}"}));
  bool depends = false;
  for (size_t op = 0; op < book.ops().size(); ++op) {
    if (KindOf(book.ops()[op].op) != OpKind::kGemm) continue;
    for (const int64_t m : {17, 33, 40, 49, 65, 100, 129, 200}) {
      const OpPlan& plan = book.Lookup(op, m);
      depends |= book.RowClass(op, plan, m - 1) != book.RowClass(op, plan, 0);
    }
  }
  EXPECT_TRUE(depends);
}

// The order at `column` of one side's row.
Order OrderAtColumn(const PlanBook& book, size_t op, const OpPlan& plan, int64_t row,
                    int64_t column) {
  for (const OrderStrip& strip : book.RowStrips(op, plan, row)) {
    if (column < strip.columns.end) return strip.order;
  }
  ADD_FAILURE() << "no column " << column;
  return {};
}

TEST(RowComparison, NamesTheColumnsThatDiffer) {
  for (const char* policies :
       {"{gemm: {name: stream_k, tile_m: 16}, attention: batch_invariant}",
        "{gemm: batch_invariant, attention: batch_invariant, allreduce: two_shot}",
        "{gemm: batch_invariant, attention: batch_invariant, allreduce: ring}"}) {
    const std::string set = std::string("policies=") + policies;
    const ReplayResult a = RunOf(LongPrompt({set, "tp=4"}), {"target"});
    const ReplayResult b =
        RunOf(LongPrompt({set, "tp=4", "scheduler.max_num_batched_tokens=300"}), {"target"});
    const RowComparison rows =
        CompareRows(*a.histories[0], a.book.get(), *b.histories[0], b.book.get());
    ASSERT_TRUE(rows.first.has_value()) << policies;
    const RowDifference& first = *rows.first;
    const OpPlan& plan_a = a.book->Lookup(first.op, first.a.rows);
    const OpPlan& plan_b = b.book->Lookup(first.op, first.b.rows);
    ASSERT_TRUE(plan_a.DependsOnRow() || plan_b.DependsOnRow()) << policies;
    EXPECT_EQ(first.a.klass, a.book->RowClass(first.op, plan_a, first.a.row));
    EXPECT_NE(first.a.klass, first.b.klass);
    ASSERT_FALSE(first.columns.empty()) << policies;
    EXPECT_EQ(first.a.order, first.columns.front().a);
    size_t at = 0;
    for (int64_t column = 0; column < first.num_columns; column += 8) {
      while (at < first.columns.size() && first.columns[at].columns.end <= column) ++at;
      const bool listed = at < first.columns.size() && first.columns[at].columns.begin <= column;
      const Order of_a = OrderAtColumn(*a.book, first.op, plan_a, first.a.row, column);
      const Order of_b = OrderAtColumn(*b.book, first.op, plan_b, first.b.row, column);
      ASSERT_EQ(listed, of_a != of_b) << policies << " column " << column;
      if (!listed) continue;
      ASSERT_EQ(first.columns[at].a, of_a) << column;
      ASSERT_EQ(first.columns[at].b, of_b) << column;
    }
  }
}

TEST(RowComparison, APlanOfOneOrderNeedsNoColumns) {
  const ReplayResult a = RunOf(LongPrompt({}), {"target"});
  const ReplayResult b = RunOf(LongPrompt({"device.sm_count=64"}), {"target"});
  const RowComparison rows =
      CompareRows(*a.histories[0], a.book.get(), *b.histories[0], b.book.get());
  ASSERT_TRUE(rows.first.has_value());
  EXPECT_TRUE(rows.first->columns.empty());
  EXPECT_EQ(rows.first->a.klass, ClassOfOrder(rows.first->a.order));
}

TEST(Replay, ATableWithoutTheKeyIsAnErrorThatNamesIt) {
  const std::string path = testing::TempDir() + "/gemm_table.csv";
  std::ofstream(path)
      << "library,version,gpu,sm_count,m,n,k,dtype,layout,workspace_bytes,algo_id,tile_id,"
         "stages_id,split_k,reduction_scheme,swizzle,cluster_shape,inner_shape,custom_option,"
         "waves,kernel_name\n"
         "cublaslt,13.1,h100_sxm,132,1,6144,4096,bf16,tn,0,1,1,1,2,2,0,0,0,0,1,k\n";
  const auto result =
      Replay(AllAtOnce(1, {"policies={gemm: {name: table, path: " + path + "}}"}), {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << result.status();
  EXPECT_NE(std::string(result.status().message()).find("K 4096"), std::string::npos)
      << result.status();
}

TEST(CutsInWords, JoinsEqualNeighbours) {
  EXPECT_EQ(CutsInWords({512, 512, 512, 440}), "512 x3 + 440");
  EXPECT_EQ(CutsInWords({7}), "7");
  EXPECT_EQ(CutsInWords({}), "");
  EXPECT_EQ(CutsInWords({5, 6, 5}), "5 + 6 + 5");
}

}  // namespace
}  // namespace batchvar
