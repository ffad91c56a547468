#include "sim/io/nv_heuristics.h"

#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "sim/base/digest.h"
#include "sim/io/nv_heuristics_library.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

// Numbers of the library's interface.
constexpr uint8_t kNtRowMajor = 1;
constexpr uint8_t kTnColumnMajor = 6;
constexpr uint32_t kAutoTuneFlag = 8;

int32_t TargetOf(NvBackend backend) {
  switch (backend) {
    case NvBackend::kGeneric: return 0;
    case NvBackend::kCutlass2: return 2;
    case NvBackend::kTriton: return 3;
    case NvBackend::kCutlass3: return 4;
  }
  return 0;
}

// Null for a type that is not asked for.
const char* TypesOf(DType dtype) {
  switch (dtype) {
    case DType::kBf16: return "TST";
    case DType::kFp16: return "HSH";
    case DType::kFp32:
    case DType::kFp8E4m3: return nullptr;
  }
  return nullptr;
}

const NvGpu* FindGpu(std::string_view name) {
  for (const NvGpu& gpu : NvGpus()) {
    const bool alias = *gpu.also != '\0' && SameGpuName(gpu.also, name);
    if (alias || SameGpuName(gpu.name, name)) return &gpu;
  }
  return nullptr;
}

std::vector<std::string> GpuNames() {
  std::vector<std::string> names;
  for (const NvGpu& gpu : NvGpus()) names.emplace_back(gpu.name);
  return names;
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// The numbers that decide no order, named as the columns of a table of the `heuristics` form.
std::string ShownFields(const NvAnswer& answer) {
  const NvKernel& kernel = answer.kernel;
  std::string text = "discovery_status=" + std::to_string(answer.profile);
  for (const auto& [name, value] : {std::pair<const char*, int>("warp_m", kernel.warp[0]),
                                    {"warp_n", kernel.warp[1]},
                                    {"instr_m", kernel.instr[0]},
                                    {"instr_n", kernel.instr[1]},
                                    {"stages", kernel.stages},
                                    {"grid_swizzle", kernel.grid_swizzle},
                                    {"cta_order", kernel.cta_order},
                                    {"cluster_x", kernel.cluster[0]},
                                    {"cluster_y", kernel.cluster[1]}}) {
    text += std::string(" ") + name + "=" + std::to_string(value);
  }
  return text;
}

using Options = std::tuple<std::string, NvBackend, TableLayout, bool, int32_t>;

Options OptionsOf(const GemmPolicySpec& spec) {
  return {spec.library, spec.backend, spec.layout, spec.auto_tune, spec.candidates};
}

class NvHeuristics final : public GemmLookup {
 public:
  NvHeuristics(const GemmPolicySpec& spec, std::unique_ptr<NvHeuristicsLibrary> library,
               PolicySource source)
      : library_(std::move(library)),
        source_(std::move(source)),
        backend_(spec.backend),
        layout_(spec.layout),
        auto_tune_(spec.auto_tune),
        candidates_(spec.candidates) {}

  const GemmTableRow* Find(std::string_view gpu, const GemmShape& shape) const override {
    const NvGpu* known = FindGpu(gpu);
    if (known == nullptr || !CanBeAsked(shape)) return nullptr;
    const Key key(known->number, shape.dtype, shape.n, shape.k, shape.m);
    const std::lock_guard<std::mutex> lock(mutex_);
    auto found = answers_.find(key);
    if (found == answers_.end()) found = answers_.emplace(key, Ask(*known, shape)).first;
    return found->second.has_value() ? &*found->second : nullptr;
  }

  std::string WhyMissing(std::string_view gpu, const GemmShape& shape) const override {
    if (FindGpu(gpu) == nullptr) {
      return "knows no GPU '" + std::string(gpu) + "'; set policies.gemm.gpu to one of " +
             Joined(GpuNames());
    }
    return "has no answer for " + GemmKeyWords(gpu, shape);
  }

  const PolicySource& source() const override { return source_; }

 private:
  using Key = std::tuple<int32_t, DType, int64_t, int64_t, int64_t>;  // GPU, type, N, K, M

  static bool CanBeAsked(const GemmShape& shape) {
    constexpr int64_t kMax = std::numeric_limits<uint32_t>::max();
    return TypesOf(shape.dtype) != nullptr && shape.m <= kMax && shape.n <= kMax && shape.k <= kMax;
  }

  std::optional<GemmTableRow> Ask(const NvGpu& gpu, const GemmShape& shape) const {
    NvQuestion question;
    question.gpu = gpu.number;
    question.types = TypesOf(shape.dtype);
    question.target = TargetOf(backend_);
    question.flags = auto_tune_ ? kAutoTuneFlag : 0;
    question.candidates = static_cast<uint32_t>(candidates_);
    const auto tokens = static_cast<uint32_t>(shape.m);
    const auto features = static_cast<uint32_t>(shape.n);
    const auto k = static_cast<uint32_t>(shape.k);
    question.problem = layout_ == TableLayout::kTn
                           ? NvProblem{features, tokens, k, 1, kTnColumnMajor}
                           : NvProblem{tokens, features, k, 1, kNtRowMajor};
    return RowOf(library_->Ask(question), gpu);
  }

  // Nothing for an answer that no kernel could have.
  std::optional<GemmTableRow> RowOf(const NvAnswer& answer, const NvGpu& gpu) const {
    const NvKernel& kernel = answer.kernel;
    if (!answer.found || kernel.cta[0] == 0 || kernel.cta[1] == 0 || kernel.cta[2] == 0 ||
        kernel.warp[2] == 0 || kernel.cta[2] % kernel.warp[2] != 0 || kernel.split_k == 0) {
      return std::nullopt;
    }
    GemmTableRow row;
    row.tile = {kernel.cta[0], kernel.cta[1], kernel.cta[2]};
    if (layout_ == TableLayout::kTn) std::swap(row.tile.m, row.tile.n);
    row.split_k = kernel.split_k;
    // CUTLASS 3 kernels do not slice K among warps, whatever warp tile the answer names.
    if (backend_ != NvBackend::kCutlass3) row.slice_k = kernel.cta[2] / kernel.warp[2];
    row.instr_k = kernel.instr[2];
    row.sm_count = gpu.sm_count;
    row.shown = ShownFields(answer);
    return row;
  }

  const std::unique_ptr<NvHeuristicsLibrary> library_;
  const PolicySource source_;
  const NvBackend backend_;
  const TableLayout layout_;
  const bool auto_tune_;
  const int32_t candidates_;
  mutable std::mutex mutex_;
  mutable std::map<Key, std::optional<GemmTableRow>> answers_;
};

// The version's text is the same for many builds, so the file's digest is part of the source.
PolicySource SourceOf(const NvHeuristicsLibrary& library, const std::string& path) {
  constexpr size_t kShownDigits = 12;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return {"nvMatmulHeuristics",
          library.version() + ", sha256 " + Sha256Hex(bytes).substr(0, kShownDigits), ""};
}

}  // namespace

const std::vector<NvGpu>& NvGpus() {
  static const std::vector<NvGpu> gpus = {
      {"A100_SXM_80GB", 8000, 108, "a100_sxm"},
      {"A100_PCIE_80GB", 8001, 108, "a100_pcie"},
      {"A30_PCIE", 8002, 56, "a30"},
      {"A10_PCIE", 8003, 72, "a10"},
      {"A40_PCIE", 8600, 84, "a40"},
      {"RTX_3090", 8601, 82, "rtx3090"},
      {"RTX_A6000", 8602, 84, ""},
      {"L20", 8900, 92, ""},
      {"L40", 8901, 142, ""},
      {"L40S", 8902, 142, ""},
      {"L4", 8903, 58, ""},
      {"RTX_4090", 8904, 128, "rtx4090"},
      {"RTX_6000_ADA", 8905, 142, ""},
      {"H100_SXM", 9000, 132, ""},
      {"H100_PCIE", 9001, 114, ""},
      {"H100_NVL", 9002, 132, ""},
      {"H200_SXM", 9003, 132, ""},
      {"H20_SXM", 9004, 78, "h20"},
      {"B200", 10000, 148, ""},
      {"GB200_NVL", 10001, 0, ""},
      {"GB300_NVL", 10300, 0, ""},
      {"RTX_5080", 12000, 84, "rtx5080"},
      {"RTX_5090", 12001, 170, "rtx5090"},
      {"RTX_PRO_6000", 12002, 188, ""},
  };
  return gpus;
}

absl::StatusOr<std::shared_ptr<const GemmLookup>> OpenNvHeuristics(const GemmPolicySpec& spec) {
  if (!spec.gpu.empty() && FindGpu(spec.gpu) == nullptr) {
    const std::string nearest = NearestName(spec.gpu, GpuNames());
    return ConfigError({"", 0, 0, "policies.gemm.gpu"},
                       "'" + spec.gpu + "' is not one of " + Joined(GpuNames()) +
                           (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }
  // Kept until the process ends: what was asked stays useful, and the library is loaded once.
  static std::mutex mutex;
  static std::map<Options, std::shared_ptr<const NvHeuristics>>* const opened =
      new std::map<Options, std::shared_ptr<const NvHeuristics>>();
  const std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<const NvHeuristics>& shared = (*opened)[OptionsOf(spec)];
  if (shared == nullptr) {
    auto library = NvHeuristicsLibrary::Open(spec.library);
    if (!library.ok()) return library.status();
    PolicySource source = SourceOf(**library, spec.library);
    shared = std::make_shared<const NvHeuristics>(spec, *std::move(library), std::move(source));
  }
  return shared;
}

}  // namespace batchvar
