// Who computed the KV that requests take over, as a replay with preemptions and shared text tells.
#include "sim/replay/prefix_sources.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/replay/replay.h"
#include "tests/io/temp_file.h"
#include "tests/replay/experiments.h"

namespace batchvar {
namespace {

std::string Row(const std::string& id, int64_t arrival_s, int prompt, const std::string& prefix) {
  return "{\"request_id\":\"" + id +
         "\",\"arrival_ns\":" + std::to_string(arrival_s * 1'000'000'000) +
         ",\"prompt_tokens\":" + std::to_string(prompt) +
         ",\"output_tokens\":4,\"prefix\":" + prefix + "}\n";
}

struct Outcome {
  PrefixSources sources;
  ReplayResult replay;
};

void Go(const std::string& rows, const std::vector<std::string>& requests, Outcome* run,
        const std::vector<std::string>& overrides = {}) {
  const TempFile file(rows, ".jsonl");
  ReplayOptions options;
  options.requests = requests;
  options.sinks = {&run->sources};
  auto result = Replay(ExperimentOf("model: qwen3_8b\ndevice: h100_sxm\nworkload: {trace: {path: " +
                                        file.path() + ", format: jsonl}}\n",
                                    overrides),
                       options);
  ASSERT_TRUE(result.ok()) << result.status();
  run->replay = std::move(*result);
}

// b takes 32 tokens over from a; c takes those, and 32 more that b computed.
TEST(PrefixSources, FollowProducersOfProducers) {
  Outcome run;
  Go(Row("a", 0, 40, "[[1,32]]") + Row("b", 1, 70, "[[1,32],[2,32]]") +
         Row("c", 2, 100, "[[1,32],[2,32],[3,30]]") + Row("d", 3, 50, "[[9,20]]"),
     {"c"}, &run);
  const std::vector<PrefixHit> expected = {{2, 0, 0, 32, {0, 0}}, {2, 0, 32, 64, {1, 0}}};
  EXPECT_EQ(run.replay.histories[0]->hits(), expected);
  EXPECT_EQ(run.replay.histories[0]->entries().front().num_computed, 64);
  using Ids = std::vector<std::string>;
  EXPECT_EQ(run.sources.WithProducers({"c"}), (Ids{"a", "b", "c"}));
  EXPECT_EQ(run.sources.WithProducers({"d", "b"}), (Ids{"a", "b", "d"}));
  EXPECT_EQ(run.sources.WithProducers({"nobody"}), Ids{});
}

// A preempted request comes back to what it had computed itself, in an earlier pass.
TEST(PrefixSources, APreemptedRequestFindsItsOwnBlocks) {
  Outcome run;
  std::vector<std::string> ids;
  std::string rows;
  for (int i = 0; i < 12; ++i) {
    ids.push_back("r" + std::to_string(i));
    rows += "{\"request_id\":\"" + ids.back() +
            "\",\"arrival_ns\":0,\"prompt_tokens\":40,\"output_tokens\":60}\n";
  }
  Go(rows, ids, &run,
     {"scheduler.num_gpu_blocks=60", "scheduler.max_model_len=200",
      "scheduler.max_num_batched_tokens=256"});
  EXPECT_GT(run.replay.simulation.num_preemptions, 0);
  int64_t own = 0;
  for (const auto& history : run.replay.histories) {
    for (const PrefixHit& hit : history->hits()) {
      EXPECT_EQ(hit.producer.request, history->index());
      EXPECT_LT(hit.producer.pass, hit.pass);
      ++own;
    }
    int32_t pass = 0;
    for (const HistoryEntry& entry : history->entries()) {
      EXPECT_GE(history->PassOf(entry), pass);
      pass = history->PassOf(entry);
    }
    EXPECT_EQ(pass, static_cast<int32_t>(history->preempted_at().size()));
  }
  EXPECT_GT(own, 0);
}

}  // namespace
}  // namespace batchvar
