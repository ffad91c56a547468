// The policy nv_heuristics against tables that NVIDIA's nvMatmulHeuristics 0.1.0.27 made: a sample
// of every GPU and type of every file. Needs the library itself: the file that the environment
// variable BATCHVAR_NV_HEURISTICS_LIBRARY names, else that of python3's package
// nvidia-matmul-heuristics. BATCHVAR_NV_HEURISTICS_EVERY=1 compares every row (some minutes).
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sim/config/load_experiment.h"
#include "sim/io/gemm_table.h"
#include "sim/plan/gemm_policy.h"
#include "tests/golden/golden_rows.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

constexpr char kVariable[] = "BATCHVAR_NV_HEURISTICS_LIBRARY";
constexpr char kEveryVariable[] = "BATCHVAR_NV_HEURISTICS_EVERY";

// Rows from one compared row to the next: primes, so that every shape and M has its turn. The
// library takes ten times as long for Triton.
constexpr int64_t kEvery = 17;
constexpr int64_t kEveryOfTriton = 97;

std::string LibraryOfPython() {
  FILE* python = popen(
      "python3 -c \"import importlib.metadata as m; print(next(str(f.locate()) for f in "
      "m.files('nvidia-matmul-heuristics') if '.so' in f.name))\" 2>/dev/null",
      "r");
  if (python == nullptr) return {};
  std::string path;
  for (int c = std::fgetc(python); c != EOF && c != '\n'; c = std::fgetc(python)) {
    path += static_cast<char>(c);
  }
  return pclose(python) == 0 ? path : std::string();
}

// Empty where it is not installed.
const std::string& Library() {
  static const std::string path = [] {
    const char* given = std::getenv(kVariable);
    return given != nullptr && *given != '\0' ? std::string(given) : LibraryOfPython();
  }();
  return path;
}

int64_t EveryOf(const std::string& name) {
  const char* given = std::getenv(kEveryVariable);
  if (given != nullptr && std::atoll(given) > 0) return std::atoll(given);
  return name.starts_with("triton") ? kEveryOfTriton : kEvery;
}

#define SKIP_WITHOUT_LIBRARY()                                                               \
  do {                                                                                       \
    if (Library().empty()) {                                                                 \
      GTEST_SKIP() << "missing: nvMatmulHeuristics; `pip install nvidia-matmul-heuristics==" \
                      "0.1.0.27`, or set "                                                   \
                   << kVariable << " to libnvMatmulHeuristics.so.0";                         \
    }                                                                                        \
  } while (false)

// "generic-tn.flags8.csv.gz" -> the keys that made it.
GemmPolicySpec AdapterFor(const std::string& name) {
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kNvHeuristics);
  spec.library = Library();
  if (name.starts_with("triton")) spec.backend = NvBackend::kTriton;
  if (name.starts_with("cutlass2")) spec.backend = NvBackend::kCutlass2;
  if (name.starts_with("cutlass3")) spec.backend = NvBackend::kCutlass3;
  spec.layout = UsualLayout(spec.backend);
  spec.auto_tune = name.find("flags8") != std::string::npos;
  EXPECT_NE(name.find(std::string("-") + LayoutName(spec.layout) + "."), std::string::npos) << name;
  return spec;
}

GemmPolicySpec TableFor(const std::string& path, const GemmPolicySpec& adapter) {
  GemmPolicySpec spec = DefaultGemmPolicy(GemmPolicyKind::kTable);
  spec.table_path = path;
  spec.layout = adapter.layout;
  spec.slice_k = adapter.backend != NvBackend::kCutlass3;
  return spec;
}

struct Compared {
  int64_t rows = 0;
  int64_t differ = 0;
  std::map<std::string, int64_t> by_gpu;
};

// Every field of the row but the estimated time, which decides nothing.
bool SameRow(const GemmTableRow& ours, const GemmTableRow& theirs) {
  return ours.tile == theirs.tile && ours.split_k == theirs.split_k &&
         ours.slice_k == theirs.slice_k && ours.instr_k == theirs.instr_k &&
         ours.combine == theirs.combine && ours.partial == theirs.partial &&
         theirs.shown.find(" " + ours.shown + " ") != std::string::npos;
}

void CompareFile(const std::string& path, Compared* all) {
  const std::string name = path.substr(path.rfind('/') + 1);
  GemmPolicySpec adapter = AdapterFor(name);
  GemmPolicySpec table = TableFor(path, adapter);
  for (GemmPolicySpec* spec : {&adapter, &table}) {
    const absl::Status status = LoadGemmTables(spec);
    ASSERT_TRUE(status.ok()) << status;
  }
  const int64_t every = EveryOf(name);
  int64_t row_number = 0;
  Compared file;
  ForEachCsvRow(path, [&](const CsvRow& row) {
    if (row_number++ % every != 0) return;
    const DType dtype = row.Text("precision") == "HSH" ? DType::kFp16 : DType::kBf16;
    const GemmShape shape{row.Number("M"), row.Number("N"), row.Number("K"), dtype};
    const GemmTableRow* theirs = table.table->Find(row.Text("gpu"), shape);
    const GemmTableRow* ours = adapter.table->Find(row.Text("gpu"), shape);
    ASSERT_NE(theirs, nullptr) << row.line();
    const bool same = ours != nullptr && SameRow(*ours, *theirs);
    ++file.rows;
    ++file.by_gpu[row.Text("gpu")];
    if (same) return;
    constexpr int64_t kShown = 5;
    if (++file.differ <= kShown) {
      ADD_FAILURE() << name << ": " << row.line()
                    << "\n  library: " << (ours == nullptr ? "no answer" : ours->shown);
    }
  });
  std::set<std::string> gpus;
  ForEachCsvRow(path, [&](const CsvRow& row) { gpus.insert(row.Text("gpu")); });
  EXPECT_EQ(file.by_gpu.size(), gpus.size()) << name << ": a GPU has no row in the sample";
  EXPECT_EQ(file.differ, 0) << name;
  std::printf("%s: %lld rows of %zu GPUs compared, %lld differ\n", name.c_str(),
              static_cast<long long>(file.rows), file.by_gpu.size(),
              static_cast<long long>(file.differ));
  all->rows += file.rows;
  all->differ += file.differ;
}

TEST(GoldenNvHeuristics, AnswersAsTheTablesSay) {
  SKIP_WITHOUT_LIBRARY();
  const std::string folder = ReferencePath("heuristics/nvmmh");
  BATCHVAR_SKIP_WITHOUT(folder);
  const std::vector<std::string> paths = ListFiles(folder, ".csv.gz");
  ASSERT_FALSE(paths.empty());
  Compared all;
  for (const std::string& path : paths) CompareFile(path, &all);
  std::printf("%lld rows compared, %lld differ\n", static_cast<long long>(all.rows),
              static_cast<long long>(all.differ));
}

DeviceSpec DeviceNamed(const std::string& name) {
  const auto device = LoadDevice(name);
  EXPECT_TRUE(device.ok()) << device.status();
  return *device;
}

TEST(GoldenNvHeuristics, PlansHaveTheClassesOfTheTable) {
  SKIP_WITHOUT_LIBRARY();
  const std::string path = ReferencePath("heuristics/nvmmh/generic-tn.flags8.csv.gz");
  BATCHVAR_SKIP_WITHOUT(path);
  GemmPolicySpec adapter = AdapterFor("generic-tn.flags8.csv.gz");
  GemmPolicySpec table = TableFor(path, adapter);
  ASSERT_TRUE(LoadGemmTables(&adapter).ok());
  ASSERT_TRUE(LoadGemmTables(&table).ok());
  const auto ask = MakeGemmPolicy(adapter);
  const auto look_up = MakeGemmPolicy(table);
  int64_t row_number = 0;
  int64_t compared = 0;
  ForEachCsvRow(path, [&](const CsvRow& row) {
    if (row_number++ % EveryOf("triton") != 0 || row.Text("gpu") != "H100_SXM") return;
    static const DeviceSpec device = DeviceNamed("h100_sxm");
    const DType dtype = row.Text("precision") == "HSH" ? DType::kFp16 : DType::kBf16;
    const GemmShape shape{row.Number("M"), row.Number("N"), row.Number("K"), dtype};
    ASSERT_EQ(ask->Missing(shape, device), "");
    EXPECT_EQ(ask->Plan(shape, device).klass, look_up->Plan(shape, device).klass) << row.line();
    ++compared;
  });
  EXPECT_GT(compared, 0);
}

// Sweeps ask from several threads: the answers may depend neither on the thread nor on the order.
TEST(GoldenNvHeuristics, ThreadsAndOrderDoNotMatter) {
  SKIP_WITHOUT_LIBRARY();
  GemmPolicySpec forwards = AdapterFor("generic-tn.flags8.csv.gz");
  GemmPolicySpec backwards = forwards;
  backwards.library = "./" + std::filesystem::relative(Library()).string();  // asked anew
  ASSERT_TRUE(LoadGemmTables(&forwards).ok());
  ASSERT_TRUE(LoadGemmTables(&backwards).ok());
  ASSERT_NE(forwards.table, backwards.table);
  constexpr int64_t kMost = 200;
  const auto ask = [](const GemmPolicySpec& spec, int64_t first, int64_t step) {
    for (int64_t m = first; m >= 1 && m <= kMost; m += step) {
      for (const char* gpu : {"H100_SXM", "A100_SXM_80GB", "B200"}) {
        spec.table->Find(gpu, {m, 6144, 4096, DType::kBf16});
      }
    }
  };
  std::thread up(ask, std::cref(forwards), 1, 2);
  std::thread down(ask, std::cref(backwards), kMost, -1);
  ask(forwards, 2, 2);
  up.join();
  down.join();
  for (int64_t m = 1; m <= kMost; ++m) {
    for (const char* gpu : {"H100_SXM", "A100_SXM_80GB", "B200"}) {
      const GemmShape shape{m, 6144, 4096, DType::kBf16};
      const GemmTableRow* a = forwards.table->Find(gpu, shape);
      const GemmTableRow* b = backwards.table->Find(gpu, shape);
      ASSERT_NE(a, nullptr);
      ASSERT_NE(b, nullptr);
      EXPECT_EQ(a->tile, b->tile) << gpu << " M " << m;
      EXPECT_EQ(a->split_k, b->split_k) << gpu << " M " << m;
      EXPECT_EQ(a->shown, b->shown) << gpu << " M " << m;
    }
  }
}

}  // namespace
}  // namespace batchvar
