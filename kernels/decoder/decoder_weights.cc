#include "kernels/decoder/decoder_weights.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/decoder/checkpoint.h"
#include "kernels/decoder/decoder_tensors.h"
#include "sim/base/check.h"
#include "sim/shape/op_shape.h"
#include "sim/status/located_error.h"

namespace batchvar {
namespace {

// Row-major words [rows][columns].
struct WordMatrix {
  int64_t columns = 0;
  std::vector<uint16_t> words;

  int64_t rows() const { return std::ssize(words) / columns; }
  void AppendRows(const WordMatrix& from, int64_t first, int64_t count) {
    columns = from.columns;
    const auto begin = from.words.begin() + first * columns;
    words.insert(words.end(), begin, begin + count * columns);
  }
  WordMatrix Columns(int64_t first, int64_t count) const {
    WordMatrix part;
    part.columns = count;
    part.words.reserve(rows() * count);
    for (int64_t row = 0; row < rows(); ++row) {
      const auto begin = words.begin() + row * columns + first;
      part.words.insert(part.words.end(), begin, begin + count);
    }
    return part;
  }
  PackedMatrix Pack(DType dtype) const {
    return PackedMatrix::Pack(words.data(), rows(), columns, dtype);
  }
};

// Loads one model; keeps the first error, and nothing is used after it.
class Loader {
 public:
  Loader(const TensorReader& read, DecoderWeights* weights)
      : read_(read), weights_(*weights), model_(weights->config.model) {}

  absl::Status Load();

 private:
  std::vector<uint16_t> Vector(const NamedTensor& tensor) {
    std::vector<uint16_t> words;
    if (status_.ok()) status_ = read_(tensor, &words);
    return words;
  }
  WordMatrix Matrix(const NamedTensor& tensor) { return {tensor.shape.columns, Vector(tensor)}; }
  void LoadAttention(const LayerTensors& tensors, DecoderLayer* layer);
  MlpWeights LoadMlp(const MlpTensors& tensors);
  void LoadHead();

  const TensorReader& read_;
  DecoderWeights& weights_;
  const ModelSpec& model_;
  absl::Status status_;
};

void Loader::LoadAttention(const LayerTensors& tensors, DecoderLayer* layer) {
  const WordMatrix q = Matrix(tensors.q), k = Matrix(tensors.k), v = Matrix(tensors.v);
  const WordMatrix o = Matrix(tensors.o);
  if (!status_.ok()) return;
  const int32_t tp = weights_.tp;
  const int64_t q_rows = int64_t{model_.q_heads} / tp * model_.head_dim;
  const int64_t kv_rows = int64_t{KvHeadsOfRank(model_, tp)} * model_.head_dim;
  for (int32_t rank = 0; rank < tp; ++rank) {
    const int64_t first_kv = int64_t{FirstKvHead(model_, tp, rank)} * model_.head_dim;
    WordMatrix merged;
    merged.AppendRows(q, rank * q_rows, q_rows);
    merged.AppendRows(k, first_kv, kv_rows);
    merged.AppendRows(v, first_kv, kv_rows);
    layer->qkv.push_back(merged.Pack(weights_.dtype));
    layer->o.push_back(o.Columns(rank * q_rows, q_rows).Pack(weights_.dtype));
  }
  if (!model_.qk_norm) return;
  layer->q_norm = Vector(tensors.q_norm);
  layer->k_norm = Vector(tensors.k_norm);
}

MlpWeights Loader::LoadMlp(const MlpTensors& tensors) {
  const WordMatrix gate = Matrix(tensors.gate), up = Matrix(tensors.up);
  const WordMatrix down = Matrix(tensors.down);
  MlpWeights mlp;
  if (!status_.ok()) return mlp;
  const int64_t width = tensors.gate.shape.rows / weights_.tp;
  for (int32_t rank = 0; rank < weights_.tp; ++rank) {
    WordMatrix merged;
    merged.AppendRows(gate, rank * width, width);
    merged.AppendRows(up, rank * width, width);
    mlp.gate_up.push_back(merged.Pack(weights_.dtype));
    mlp.down.push_back(down.Columns(rank * width, width).Pack(weights_.dtype));
  }
  return mlp;
}

// After the layers: only then are all sizes known to be those of tensors.
void Loader::LoadHead() {
  WordMatrix head = {model_.hidden_size, model_.tied_embeddings
                                             ? weights_.embedding
                                             : Vector(HeadTensor(weights_.config))};
  if (!status_.ok()) return;
  int64_t rows = 0;  // of a rank; the planner's table says how the vocabulary is padded
  for (const OpShape& shape : StepOps(model_, weights_.tp)) {
    if (shape.op == Op::kLmHead) rows = shape.n;
  }
  head.words.resize(rows * weights_.tp * model_.hidden_size, 0);
  for (int32_t rank = 0; rank < weights_.tp; ++rank) {
    WordMatrix part;
    part.AppendRows(head, rank * rows, rows);
    weights_.head.push_back(part.Pack(weights_.dtype));
  }
}

absl::Status Loader::Load() {
  weights_.embedding = Vector(EmbeddingTensor(weights_.config));
  weights_.final_norm = Vector(FinalNormTensor(weights_.config));
  for (int32_t i = 0; i < model_.layers && status_.ok(); ++i) {
    const LayerTensors tensors = TensorsOfLayer(weights_.config, i);
    DecoderLayer& layer = weights_.layers.emplace_back();
    layer.norm_in = Vector(tensors.norm_in);
    LoadAttention(tensors, &layer);
    layer.norm_post = Vector(tensors.norm_post);
    if (model_.IsMoe()) {
      const WordMatrix router = Matrix(tensors.router);
      if (status_.ok()) layer.router = router.Pack(weights_.dtype);
    }
    for (const MlpTensors& mlp : tensors.mlps) layer.mlps.push_back(LoadMlp(mlp));
  }
  LoadHead();
  return status_;
}

}  // namespace

int32_t KvHeadsOfRank(const ModelSpec& model, int32_t tp) {
  return std::max(model.kv_heads / tp, 1);
}

int32_t FirstKvHead(const ModelSpec& model, int32_t tp, int32_t rank) {
  return static_cast<int32_t>(int64_t{rank} * model.kv_heads / tp);
}

absl::StatusOr<DecoderWeights> AssembleDecoderWeights(const DecoderConfig& config, DType dtype,
                                                      int32_t tp, const TensorReader& read) {
  BV_CHECK(dtype == DType::kBf16 || dtype == DType::kFp16);
  DecoderWeights weights;
  weights.config = config;
  weights.dtype = dtype;
  weights.tp = tp;
  if (absl::Status status = Loader(read, &weights).Load(); !status.ok()) return status;
  return weights;
}

absl::StatusOr<DecoderWeights> LoadDecoderWeights(const std::string& folder, DType dtype,
                                                  int32_t tp) {
  absl::StatusOr<DecoderConfig> config = ReadDecoderConfig(folder);
  if (!config.ok()) return config.status();
  const char* reason = ValidateTp(config->model, tp);
  if (reason != nullptr) {
    return ConfigError({.file = folder + "/config.json"}, absl::StrCat("tp ", tp, ": ", reason));
  }
  absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(folder);
  if (!checkpoint.ok()) return checkpoint.status();
  if (absl::Status status = CheckLayerCount(*config, *checkpoint); !status.ok()) return status;
  return AssembleDecoderWeights(
      *config, dtype, tp,
      [&checkpoint, dtype](const NamedTensor& tensor, std::vector<uint16_t>* words) {
        return checkpoint->AppendWords(tensor.name, tensor.shape, dtype, words);
      });
}

}  // namespace batchvar
