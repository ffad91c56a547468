#include "sim/config/load_sweep.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/config/config_reader.h"
#include "tests/config/experiment_text.h"
#include "tests/test_data.h"

namespace batchvar {
namespace {

// Lines 1 to 3; a `sweep:` begins on line 4.
constexpr char kPlan[] =
    "command: plan\n"
    "base: {model: llama3_8b, device: h100_sxm, workload: {arrivals: {process: all_at_once}, "
    "prompt_len: {fixed: 8}, output_len: {fixed: 4}}}\n"
    "schema_version: 1\n";

std::string With(const std::string& command, const std::string& lines) {
  std::string text = kPlan + lines;
  return text.replace(text.find("plan"), 4, command);
}

absl::StatusOr<SweepSpec> Load(const std::string& text,
                               const std::vector<std::string>& overrides = {}) {
  return LoadSweepText(text, "sweep.yaml", "", overrides);
}

// "device.sm_count=108 m=1" for every cell.
std::vector<std::string> Cells(const std::string& text,
                               const std::vector<std::string>& overrides = {}) {
  const absl::StatusOr<SweepSpec> sweep = Load(text, overrides);
  if (!sweep.ok()) return {std::string(sweep.status().message())};
  std::vector<std::string> cells;
  for (const SweepCell& cell : sweep->cells) {
    std::string words = cell.label.empty() ? "" : cell.label + ":";
    for (const ConfigOverride& set : cell.sets) {
      words += (words.empty() ? "" : " ") + set.key + "=" +
               (set.value.IsScalar() ? set.value.text : KindName(set.value));
    }
    cells.push_back(words);
  }
  return cells;
}

// The error of the sweep or of its cells; "ok" when the cells load or have errors of their own.
std::string ErrorIn(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const absl::StatusOr<SweepSpec> sweep = Load(text, overrides);
  if (!sweep.ok()) return std::string(sweep.status().message());
  const auto cells = LoadCells(*sweep);
  return cells.ok() ? "ok" : std::string(cells.status().message());
}

using Words = std::vector<std::string>;

TEST(SweepCells, AGridVariesTheLastKeyFastest) {
  EXPECT_EQ(Cells(With("plan", "sweep: {parameters: {device.sm_count: [108, 132], m: [1, 16]}}")),
            (Words{"device.sm_count=108 m=1", "device.sm_count=108 m=16", "device.sm_count=132 m=1",
                   "device.sm_count=132 m=16"}));
}

TEST(SweepCells, ASingleValueIsAListOfOne) {
  EXPECT_EQ(Cells(With("plan", "sweep: {type: grid, parameters: {tp: [1, 2], m: 7}}")),
            (Words{"tp=1 m=7", "tp=2 m=7"}));
}

TEST(SweepCells, AZipPairsValues) {
  EXPECT_EQ(Cells(With("plan", "sweep: {type: zip, parameters: {tp: [1, 2], m: [3, 4]}}")),
            (Words{"tp=1 m=3", "tp=2 m=4"}));
  EXPECT_EQ(ErrorIn(With("plan", "sweep: {type: zip, parameters: {tp: [1, 2], m: [3]}}")),
            "sweep.yaml:4:45: m: has 1 values and 'tp' has 2; a zip takes lists of equal length");
}

TEST(SweepCells, ScenariosHaveLabels) {
  const std::string scenarios =
      "sweep:\n  type: scenarios\n  scenarios:\n    - {label: small, m: 1, tp: 2}\n    - {m: 64}\n";
  EXPECT_EQ(Cells(With("plan", scenarios)), (Words{"small: m=1 tp=2", "m=64"}));
  EXPECT_EQ(Load(With("plan", scenarios))->keys, (Words{"m", "tp"}));
}

TEST(SweepCells, ExcludeComesBeforeInclude) {
  EXPECT_EQ(Cells(With("plan",
                       "sweep:\n  parameters: {tp: [1, 2], m: [3, 4]}\n"
                       "  exclude: [{tp: 2}, {tp: 1, m: 4}]\n"
                       "  include: [{tp: 2, m: 9, label: back}]\n")),
            (Words{"tp=1 m=3", "back: tp=2 m=9"}));
}

TEST(SweepCells, ExcludeComparesNumbersAsNumbers) {
  EXPECT_EQ(Cells(With("simulate",
                       "sweep: {parameters: {scheduler.watermark: [0.10, 0.2]}, exclude: "
                       "[{scheduler.watermark: 0.1}]}")),
            (Words{"scheduler.watermark=0.2"}));
}

TEST(SweepCells, ARangeOfMIsAsManyCellsOfPlanAndOneOfClasses) {
  const std::string lines = "sweep: {parameters: {m: [1, 4..6]}}";
  EXPECT_EQ(Cells(With("plan", lines)), (Words{"m=1", "m=4", "m=5", "m=6"}));
  const absl::StatusOr<SweepSpec> classes = Load(With("classes", lines));
  ASSERT_TRUE(classes.ok()) << classes.status();
  ASSERT_EQ(classes->cells.size(), 2U);
  EXPECT_EQ(classes->cells[1].rows, (std::vector<int64_t>{4, 5, 6}));
  EXPECT_EQ(Load(With("classes", "sweep: {parameters: {tp: 1}}"))->cells[0].rows.size(), 256U);
}

TEST(SweepCells, KvLengthsAreCellsOfPlanAndOneCellOfClasses) {
  const auto plan =
      Load(With("plan", "sweep: {parameters: {m: 2, kv_len: [512, 7..8], q_len: 4}}"));
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->cells.size(), 3U);
  EXPECT_EQ(plan->cells[1].kv_lens, (std::vector<int64_t>{7}));
  EXPECT_EQ(plan->cells[1].q_len, 4);
  const auto classes =
      Load(With("classes", "sweep: {parameters: {m: 1..4, kv_len: [[512, 64], 4096]}}"));
  ASSERT_TRUE(classes.ok()) << classes.status();
  ASSERT_EQ(classes->cells.size(), 2U);
  EXPECT_EQ(classes->cells[0].kv_lens, (std::vector<int64_t>{64, 512}));
  EXPECT_EQ(classes->cells[0].q_len, 1);
  const auto flag = Load(With("plan", "sweep: {parameters: {m: 2}}"), {"kv_len=512"});
  ASSERT_TRUE(flag.ok()) << flag.status();
  EXPECT_EQ(flag->cells[0].kv_lens, (std::vector<int64_t>{512}));
  EXPECT_TRUE(LoadCells(*flag).ok());
}

TEST(SweepCells, KvLengthsThatCannotBeAreErrors) {
  const auto error = [](const std::string& command, const std::string& keys) {
    return ErrorIn(With(command, "sweep: {parameters: {" + keys + "}}"));
  };
  EXPECT_NE(error("plan", "m: 1, q_len: 2").find("q_len: is of use only with kv_len"),
            std::string::npos);
  EXPECT_NE(error("plan", "m: 1, kv_len: 8, q_len: 9").find("from 1 to the shortest kv_len, 8"),
            std::string::npos);
  EXPECT_NE(error("classes", "m: 1..20000, kv_len: 8").find("at most 16384"), std::string::npos);
  EXPECT_NE(error("simulate", "kv_len: 8").find("not used by command 'simulate'"),
            std::string::npos);
  EXPECT_NE(error("plan", "m: 1, kv_len: long").find("kv_len"), std::string::npos);
}

TEST(SweepFlags, ACommaListMakesOneMoreKey) {
  const std::string text = With("plan", "sweep: {type: zip, parameters: {tp: [1, 2], m: [3, 4]}}");
  EXPECT_EQ(Cells(text, {"device.sm_count=66,78"}),
            (Words{"tp=1 m=3 device.sm_count=66", "tp=1 m=3 device.sm_count=78",
                   "tp=2 m=4 device.sm_count=66", "tp=2 m=4 device.sm_count=78"}));
  EXPECT_EQ(Cells(text, {"scheduler.capture_sizes=[1,2]"}).size(), 2U);
  EXPECT_NE(ErrorIn(text, {"tp=4"}).find("zipped"), std::string::npos);
}

TEST(SweepFlags, ReplaceAGridsValues) {
  const std::string text = With("plan", "sweep: {parameters: {tp: [1, 2], m: [3, 4]}}");
  EXPECT_EQ(Cells(text, {"tp=4", "m=8..9"}), (Words{"tp=4 m=8", "tp=4 m=9"}));
}

TEST(SweepFlags, LayerOverTheBase) {
  const auto sweep = Load(With("plan", "sweep: {parameters: {device: [l40s, b200], m: 1}}"),
                          {"device.sm_count=66", "seed=7"});
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  const auto cells = LoadCells(*sweep);
  ASSERT_TRUE(cells.ok()) << cells.status();
  for (const auto& cell : *cells) {
    ASSERT_TRUE(cell.ok()) << cell.status();
    EXPECT_EQ(cell->device.sm_count, 66);  // not the device's own
    EXPECT_EQ(cell->seed, 7U);
  }
  EXPECT_EQ((*cells)[1]->device.name, "b200");
}

TEST(LoadCells, SetsAWholePartBeforeAKeyInIt) {
  const auto sweep =
      Load(With("plan", "sweep: {parameters: {device.sm_count: [66], device: [l40s], m: 1}}"));
  const auto cells = LoadCells(*sweep);
  ASSERT_TRUE(cells.ok() && cells->front().ok());
  EXPECT_EQ(cells->front()->device.name, "l40s");
  EXPECT_EQ(cells->front()->device.sm_count, 66);
}

TEST(LoadCells, OneBadCellLeavesTheOthers) {
  const auto sweep = Load(With("plan", "sweep: {parameters: {tp: [1, 3], m: 1}}"));
  const auto cells = LoadCells(*sweep);
  ASSERT_TRUE(cells.ok()) << cells.status();
  EXPECT_TRUE((*cells)[0].ok());
  EXPECT_NE((*cells)[1].status().message().find("ranks"), std::string::npos);
}

TEST(LoadCells, AnUnknownKeyEndsTheSweep) {
  const auto with = [](const std::string& key) {
    return ErrorIn(With("plan", "sweep: {parameters: {tp: [1, 3], " + key + ": [1], m: 1}}"));
  };
  EXPECT_EQ(with("device.sm_cuont"),
            "sweep.yaml:4:34: device.sm_cuont: unknown key 'sm_cuont'; did you mean 'sm_count'?");
  EXPECT_NE(with("devise.sm_count").find("did you mean 'device'?"), std::string::npos);
  EXPECT_NE(with("device.sm_count.x").find("has no keys of its own"), std::string::npos);
  EXPECT_NE(with("policies.gemm.tile_x").find("did you mean 'tile_"), std::string::npos);
  EXPECT_NE(with("a..b").find("empty key"), std::string::npos);
}

TEST(LoadCells, AMistakeInEveryCellIsTheSweeps) {
  EXPECT_NE(ErrorIn(With("plan", "sweep: {parameters: {tp: [3, 5], m: 1}}")).find("ranks"),
            std::string::npos);
}

TEST(LoadSweep, SaysWhatIsWrongAndWhere) {
  struct Case {
    std::string text;
    std::string words;
  };
  const std::string grid = "sweep: {parameters: {m: 1}}\n";
  for (const Case& wrong : {
           Case{With("experiment", grid), "is not used by command 'experiment'"},
           Case{With("simulat", grid), "did you mean 'simulate'?"},
           Case{With("simulate", grid), "is not used by command 'simulate'"},
           Case{With("plan", "sweep: {parameters: {tp: 1}}"), "m: is required by command 'plan'"},
           Case{With("plan", "sweep: {paramters: {m: 1}}"), "did you mean 'parameters'?"},
           Case{With("plan", "sweep: {type: grd, parameters: {m: 1}}"), "did you mean 'grid'?"},
           Case{With("plan", "sweep: {type: scenarios, parameters: {m: 1}}"), "is not used by"},
           Case{With("plan", "sweep: {parameters: {m: []}}"), "has no values"},
           Case{With("plan", "sweep: {parameters: {m: [0]}}"), "between 1 and"},
           Case{With("plan", "sweep: {parameters: {m: 9..1}}"), "low end first"},
           Case{With("plan", "sweep: {parameters: {m: [1, x]}}"), "'x' is not a decimal integer"},
           Case{With("plan", "sweep: {parameters: {m: 1..999999999}}"), "names more than"},
           Case{With("plan", "sweep: {parameters: {m: 1}, exclude: [{m: 1}]}"), "no cells left"},
           Case{With("plan", "sweep: {parameters: {m: 1}, exclude: [{mm: 1}]}"),
                "'mm' is not swept; did you mean 'm'?"},
           Case{With("plan", "sweep: {parameters: {m: 1}, include: [3]}"), "include[0]"},
           Case{With("plan", grid + "gate: \"\"\n"), "5:7: gate: is empty"},
           Case{"model: llama3_8b\n", "sweep.yaml: is an experiment"},
           Case{"", "sweep.yaml: must hold"},
           Case{With("plan", grid + "gats: a\n"), "5:1: gats: unknown key 'gats'"},
           Case{"command: plan\nbase: nowhere.yaml\n" + grid, "2:7: base: nowhere.yaml cannot be"},
           Case{With("plan", "sweep: {parameters: {m: 1..9000, tp: [1, 2, 4]}}"), "20000 cells"},
       }) {
    const std::string error = ErrorIn(wrong.text);
    EXPECT_NE(error.find(wrong.words), std::string::npos) << error << "\nfor\n" << wrong.text;
  }
}

TEST(ShippedSweeps, LoadWithAllTheirCells) {
  const std::vector<std::string> files = ListFiles(ProjectPath("configs/sweeps"), ".yaml");
  EXPECT_EQ(files.size(), 3U);
  for (const std::string& file : files) {
    EXPECT_TRUE(IsSweepFile(file));
    const absl::StatusOr<SweepSpec> sweep = LoadSweep(file, {});
    ASSERT_TRUE(sweep.ok()) << sweep.status();
    const auto cells = LoadCells(*sweep);
    ASSERT_TRUE(cells.ok()) << cells.status();
    for (const auto& cell : *cells) EXPECT_TRUE(cell.ok()) << cell.status();
  }
  EXPECT_FALSE(IsSweepFile(ProjectPath("configs/experiments/quickstart.yaml")));
}

}  // namespace
}  // namespace batchvar
