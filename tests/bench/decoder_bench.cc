// Tokens per second of the forward pass on stories260K, bf16, one thread, best instruction set:
// greedy decoding alone, and decode steps of several rows with their own caches.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "tests/kernels/decoder_setup.h"

namespace batchvar {
namespace {

// Attention in blocks of `tile_kv` positions.
std::unique_ptr<LoadedModel> Stories(benchmark::State& state, int64_t tile_kv = 128) {
  const std::string folder = ModelsPath("stories260K");
  PolicySpec policies = FinePolicies();
  policies.attention.tile_kv = static_cast<int32_t>(tile_kv);
  if (FileExists(folder)) return LoadOrDie(folder, DType::kBf16, policies);
  state.SkipWithError(("missing folder: " + folder).c_str());
  return nullptr;
}

void BM_GreedyAlone(benchmark::State& state) {
  const auto model = Stories(state, state.range(1));
  if (model == nullptr) return;
  const std::vector<int64_t> prompt = {1};
  GreedyOptions options;
  options.max_new_tokens = state.range(0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(DecodeGreedily(&model->decoder, prompt, model->AlonePlans(), options));
  }
  state.SetItemsProcessed(state.iterations() * options.max_new_tokens);
}
BENCHMARK(BM_GreedyAlone)->ArgsProduct({{64, 256}, {16, 32, 128}})->Unit(benchmark::kMillisecond);

// All rows at position 100 of their own requests.
void BM_DecodeStep(benchmark::State& state) {
  const auto model = Stories(state);
  if (model == nullptr) return;
  constexpr int64_t kPosition = 100;
  const auto count = static_cast<size_t>(state.range(0));
  std::vector<KvCache> caches(count, KvCache(model->weights.config.model));
  const RowPlan plan = model->AlonePlan(kPosition, true);
  std::vector<DecoderRow> rows;
  for (KvCache& cache : caches) {
    for (int64_t i = 0; i < kPosition; ++i) cache.Grow();
    rows.push_back({403, kPosition, &cache, &plan, true, false});
  }
  std::vector<RowOutput> outputs;
  for (auto _ : state) {
    benchmark::DoNotOptimize(model->decoder.Forward(rows, &outputs));
    for (KvCache& cache : caches) cache.Truncate(kPosition);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_DecodeStep)->Arg(1)->Arg(8)->Arg(64)->Unit(benchmark::kMicrosecond);

void BM_PlanRow(benchmark::State& state) {
  const auto model = Stories(state);
  if (model == nullptr) return;
  int64_t position = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(model->AlonePlan(position++ % 512, true));
  }
}
BENCHMARK(BM_PlanRow);

}  // namespace
}  // namespace batchvar

BENCHMARK_MAIN();
