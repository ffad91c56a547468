#include "kernels/decoder/synthetic_weights.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/decoder/decoder_tensors.h"
#include "sim/base/elementary.h"
#include "sim/base/rng.h"
#include "sim/numerics/float_bits.h"
#include "sim/shape/op_shape.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

constexpr double kBoostSpread = 0.8;  // of the boost's logarithm
// The median boost over the largest noise logit, before the residual stream dilutes the embedding:
// measured so that margins are those of trained models (docs/model_files.md).
constexpr double kMedianBoost = 0.72;
constexpr double kRopeTheta = 1e6;
constexpr double kRmsNormEps = 1e-6;
constexpr int64_t kBytesPerWeight = 2;

// Four uniforms of 16 bits in one draw, summed: close to a normal, mean 0, variance 1. Sums over
// hundreds of such terms see no difference, and it takes one draw where a normal takes several.
class UnitValues {
 public:
  explicit UnitValues(RandomStream stream) : stream_(stream) {}
  double Next() {
    const uint64_t draw = stream_.NextU64();
    const auto sum = static_cast<double>((draw & 0xffff) + ((draw >> 16) & 0xffff) +
                                         ((draw >> 32) & 0xffff) + (draw >> 48));
    return (sum - kMean) * kScale;
  }

 private:
  static constexpr double kMean = 2.0 * 65535.0;
  static constexpr double kScale = 1.7320508075688772 / 65536.0;  // sqrt(12 / 4) / 2^16
  RandomStream stream_;
};

class TensorMaker {
 public:
  TensorMaker(const DecoderConfig& config, const SyntheticSpec& spec, DType dtype, WorkerPool* pool)
      : config_(config), spec_(spec), dtype_(dtype), pool_(pool) {}

  // Appends the tensor's words.
  void Append(const NamedTensor& tensor, std::vector<uint16_t>* words) {
    if (tensor.shape.columns == 0) {  // a norm's gains
      words->resize(words->size() + tensor.shape.rows, Narrow(1.0f, dtype_));
      return;
    }
    if (tensor.name == HeadTensor(config_).name) return AppendHead(tensor, words);
    const ItemStreams streams = StreamsOf(tensor.name);
    const double scale = ScaleOf(tensor);
    ForEachRow(tensor.shape, words, [&](int64_t row, std::span<uint16_t> out) {
      UnitValues values(streams.At(static_cast<uint64_t>(row)));
      for (uint16_t& word : out) word = Narrow(static_cast<float>(scale * values.Next()), dtype_);
    });
  }

 private:
  ItemStreams StreamsOf(const std::string& name) const {
    return ItemStreams(spec_.seed, "weights." + name);
  }

  // Embeddings have variance 1. A layer keeps its input's variance; what it adds to the residual
  // stream is cut by sqrt(2 layers), so that the embedding is still there at the end (as GPT-2
  // initialises).
  double ScaleOf(const NamedTensor& tensor) const {
    if (tensor.name == EmbeddingTensor(config_).name) return 1.0;
    const double scale = 1.0 / std::sqrt(static_cast<double>(tensor.shape.columns));
    const bool adds = absl::EndsWith(tensor.name, "o_proj.weight") ||
                      absl::EndsWith(tensor.name, "down_proj.weight") ||
                      absl::EndsWith(tensor.name, "w2.weight");
    return adds ? scale / std::sqrt(2.0 * config_.model.layers) : scale;
  }

  void AppendHead(const NamedTensor& tensor, std::vector<uint16_t>* words) {
    const auto rows = static_cast<uint64_t>(tensor.shape.rows);
    std::vector<int64_t> successor_of(rows);
    std::iota(successor_of.begin(), successor_of.end(), 0);
    // Sattolo's shuffle: one cycle through the whole vocabulary, so a text does not fall into a
    // short one of strong successors.
    RandomStream shuffle(spec_.seed, "weights.successors");
    for (uint64_t i = rows; i > 1; --i) {
      std::swap(successor_of[i - 1], successor_of[shuffle.NextBelow(i - 1)]);
    }
    const ItemStreams embeddings = StreamsOf(EmbeddingTensor(config_).name);
    const ItemStreams noises = StreamsOf(tensor.name);
    const double unit = 1.0 / std::sqrt(static_cast<double>(config_.model.hidden_size));
    const double alpha =
        unit * spec_.alpha.value_or(DefaultSuccessorStrength(config_.model, spec_.beta));
    const double beta = unit * spec_.beta;
    ForEachRow(tensor.shape, words, [&](int64_t row, std::span<uint16_t> out) {
      RandomStream stream = noises.At(static_cast<uint64_t>(row));
      const double boost = alpha * PortableExp(kBoostSpread * stream.NextNormal());
      UnitValues noise(stream);
      UnitValues embedding(embeddings.At(static_cast<uint64_t>(successor_of[row])));
      for (uint16_t& word : out) {
        word = Narrow(static_cast<float>(boost * embedding.Next() + beta * noise.Next()), dtype_);
      }
    });
  }

  template <typename Fill>
  void ForEachRow(const TensorShape& shape, std::vector<uint16_t>* words, const Fill& fill) {
    const size_t begin = words->size();
    words->resize(begin + shape.NumElements());
    pool_->Run(shape.rows, [&](int64_t row, int32_t) {
      fill(row, std::span(*words).subspan(begin + row * shape.columns, shape.columns));
    });
  }

  const DecoderConfig& config_;
  const SyntheticSpec& spec_;
  DType dtype_;
  WorkerPool* pool_;
};

std::string Gigabytes(int64_t bytes) {
  return absl::StrFormat("%.1f GB", static_cast<double>(bytes) / 1e9);
}

}  // namespace

absl::StatusOr<DecoderConfig> SyntheticConfig(const ModelSpec& model) {
  if (model.head_dim % 2 != 0) {
    return ConfigError({.field = "model.head_dim"},
                       absl::StrCat(model.head_dim, " is odd: RoPE turns pairs"));
  }
  DecoderConfig config;
  config.model = model;
  config.model.tied_embeddings = false;
  config.rms_norm_eps = kRmsNormEps;
  config.rope_theta = kRopeTheta;
  if (model.IsMoe()) {
    config.model.intermediate_size = 0;
    config.family = model.qk_norm ? DecoderFamily::kQwen3Moe : DecoderFamily::kMixtral;
  } else {
    config.family = model.qk_norm ? DecoderFamily::kQwen3 : DecoderFamily::kLlama;
  }
  return config;
}

double DefaultSuccessorStrength(const ModelSpec& model, double beta) {
  const double largest_noise = std::sqrt(2.0 * PortableLog(std::max(model.vocab_size, 2)));
  return kMedianBoost * beta * largest_noise / std::sqrt(static_cast<double>(model.hidden_size));
}

int64_t SyntheticWeightBytes(const ModelSpec& model) {
  ModelSpec untied = model;
  untied.tied_embeddings = false;
  // The head comes last, in three copies for a moment: as made, cut for a rank, packed.
  const int64_t head = int64_t{model.vocab_size} * model.hidden_size;
  return kBytesPerWeight * (NumParameters(untied) + 2 * head);
}

absl::Status CheckWeightsFit(const ModelSpec& model, int64_t machine_bytes) {
  const int64_t needed = SyntheticWeightBytes(model);
  if (needed <= machine_bytes) return absl::OkStatus();
  return ConfigError(
      {.field = "weights"},
      absl::StrCat("synthetic weights of '", model.name, "' take ", Gigabytes(needed),
                   " and this machine has ", Gigabytes(machine_bytes),
                   "; choose a smaller model and borrow the plans of this one"));
}

int64_t MachineMemoryBytes() {
  const int64_t physical = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  std::ifstream limit("/sys/fs/cgroup/memory.max");  // a number, or "max"
  int64_t bytes = 0;
  return limit >> bytes && bytes > 0 ? std::min(bytes, physical) : physical;
}

std::vector<uint16_t> SyntheticTensor(const DecoderConfig& config, const SyntheticSpec& spec,
                                      const NamedTensor& tensor, DType dtype, WorkerPool* pool) {
  std::vector<uint16_t> words;
  TensorMaker(config, spec, dtype, pool).Append(tensor, &words);
  return words;
}

absl::StatusOr<DecoderWeights> MakeSyntheticWeights(const ModelSpec& model,
                                                    const SyntheticSpec& spec, DType dtype,
                                                    int32_t tp, WorkerPool* pool) {
  if (absl::Status status = CheckWeightsFit(model, MachineMemoryBytes()); !status.ok()) {
    return status;
  }
  absl::StatusOr<DecoderConfig> config = SyntheticConfig(model);
  if (!config.ok()) return config.status();
  if (const char* reason = ValidateTp(model, tp); reason != nullptr) {
    return ConfigError({.field = "tp"}, absl::StrCat(tp, ": ", reason));
  }
  TensorMaker maker(*config, spec, dtype, pool);
  return AssembleDecoderWeights(*config, dtype, tp,
                                [&maker](const NamedTensor& tensor, std::vector<uint16_t>* words) {
                                  maker.Append(tensor, words);
                                  return absl::OkStatus();
                                });
}

}  // namespace batchvar
