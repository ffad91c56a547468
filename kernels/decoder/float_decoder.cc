#include "kernels/decoder/float_decoder.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "kernels/decoder/checkpoint.h"
#include "kernels/decoder/decoder_tensors.h"
#include "sim/base/check.h"
#include "sim/base/elementary.h"

namespace batchvar {
namespace {

using Vector = std::vector<float>;

// x . w in double; eight sums side by side, only for speed.
double Dot(const float* x, const float* w, int64_t count) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) {
      sums[lane] += double{x[i + lane]} * double{w[i + lane]};
    }
  }
  for (; i < count; ++i) sums[0] += double{x[i]} * double{w[i]};
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

// y = x W^T for W[out][in].
Vector Linear(const Vector& weights, const Vector& x) {
  const int64_t in = std::ssize(x);
  Vector y(weights.size() / x.size());
  for (size_t row = 0; row < y.size(); ++row) {
    y[row] = static_cast<float>(Dot(x.data(), weights.data() + row * in, in));
  }
  return y;
}

void RmsNorm(const Vector& weight, double eps, std::span<float> x) {
  const double squares = Dot(x.data(), x.data(), std::ssize(x));
  const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(x[i] * inverse * weight[i]);
}

void Add(const Vector& x, Vector* sum) {
  for (size_t i = 0; i < x.size(); ++i) (*sum)[i] += x[i];
}

}  // namespace

absl::Status FloatDecoder::LoadTensors(const Checkpoint& checkpoint) {
  absl::Status status = CheckLayerCount(config_, checkpoint);
  const auto read = [&](const NamedTensor& tensor) {
    Vector values;
    if (status.ok()) status = checkpoint.Append(tensor.name, tensor.shape, &values);
    return values;
  };
  embedding_ = read(EmbeddingTensor(config_));
  final_norm_ = read(FinalNormTensor(config_));
  head_ = read(HeadTensor(config_));
  for (int32_t i = 0; i < config_.model.layers && status.ok(); ++i) {
    const LayerTensors tensors = TensorsOfLayer(config_, i);
    Layer& layer = layers_.emplace_back();
    layer.norm_in = read(tensors.norm_in);
    layer.q = read(tensors.q);
    layer.k = read(tensors.k);
    layer.v = read(tensors.v);
    layer.o = read(tensors.o);
    if (config_.model.qk_norm) {
      layer.q_norm = read(tensors.q_norm);
      layer.k_norm = read(tensors.k_norm);
    }
    layer.norm_post = read(tensors.norm_post);
    if (config_.model.IsMoe()) layer.router = read(tensors.router);
    for (const MlpTensors& mlp : tensors.mlps) {
      layer.mlps.push_back({read(mlp.gate), read(mlp.up), read(mlp.down)});
    }
  }
  return status;
}

absl::StatusOr<FloatDecoder> FloatDecoder::Load(const std::string& folder) {
  absl::StatusOr<DecoderConfig> config = ReadDecoderConfig(folder);
  if (!config.ok()) return config.status();
  const absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(folder);
  if (!checkpoint.ok()) return checkpoint.status();
  FloatDecoder decoder;
  decoder.config_ = *std::move(config);
  if (absl::Status status = decoder.LoadTensors(*checkpoint); !status.ok()) return status;
  constexpr int32_t kMostPositions = 8192;  // enough for checks; the table is made at once
  decoder.rope_.emplace(InverseFrequencies(decoder.config_),
                        std::min(decoder.config_.model.max_positions, kMostPositions));
  return decoder;
}

void FloatDecoder::Reset() {
  position_ = 0;
  for (Layer& layer : layers_) {
    layer.keys.clear();
    layer.values.clear();
  }
}

void FloatDecoder::NormAndTurn(const Vector& norm, Vector* heads) const {
  const int64_t head_dim = config_.model.head_dim, half = head_dim / 2;
  const auto cos = rope_->Cos(position_), sin = rope_->Sin(position_);
  for (int64_t begin = 0; begin < std::ssize(*heads); begin += head_dim) {
    const std::span<float> head = std::span(*heads).subspan(begin, head_dim);
    if (!norm.empty()) RmsNorm(norm, config_.rms_norm_eps, head);
    for (int64_t i = 0; i < half; ++i) {
      const double x = head[i], y = head[i + half];
      head[i] = static_cast<float>(x * cos[i] - y * sin[i]);
      head[i + half] = static_cast<float>(y * cos[i] + x * sin[i]);
    }
  }
}

FloatDecoder::Vector FloatDecoder::Attend(const Vector& q, const Layer& layer) const {
  const ModelSpec& model = config_.model;
  const int64_t head_dim = model.head_dim, stride = model.kv_heads * head_dim;
  const double scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
  Vector mixed;
  for (int32_t head = 0; head < model.q_heads; ++head) {
    const int64_t kv = head / (model.q_heads / model.kv_heads) * head_dim;
    std::vector<double> scores;
    double largest = 0;
    for (int64_t j = 0; j <= position_; ++j) {
      scores.push_back(scale * Dot(&q[head * head_dim], &layer.keys[j * stride + kv], head_dim));
      largest = j == 0 ? scores[0] : std::max(largest, scores.back());
    }
    std::vector<double> sums(head_dim, 0.0);
    double total = 0;
    for (int64_t j = 0; j <= position_; ++j) {
      const double p = PortableExp(scores[j] - largest);
      total += p;
      for (int64_t d = 0; d < head_dim; ++d) sums[d] += p * layer.values[j * stride + kv + d];
    }
    for (const double sum : sums) mixed.push_back(static_cast<float>(sum / total));
  }
  return mixed;
}

FloatDecoder::Vector FloatDecoder::RunMlp(const Layer& layer, const Vector& x,
                                          Output* output) const {
  MoeRoute route = {.experts = {0}, .weights = {1.0f}};
  if (config_.model.IsMoe()) {
    route = ChooseRoute(Linear(layer.router, x), config_.model.experts_per_token,
                        config_.norm_topk_prob);
    route.layer = static_cast<int32_t>(output->routes.size());
    output->routes.push_back(route);
  }
  Vector sum(x.size(), 0.0f);
  for (size_t i = 0; i < route.experts.size(); ++i) {
    const Mlp& mlp = layer.mlps[route.experts[i]];
    Vector product = Linear(mlp.gate, x);
    const Vector up = Linear(mlp.up, x);
    for (size_t j = 0; j < product.size(); ++j) {
      const double gate = product[j];
      product[j] = static_cast<float>(gate / (1.0 + PortableExp(-gate)) * up[j]);
    }
    Vector down = Linear(mlp.down, product);
    for (float& value : down) value *= route.weights[i];
    Add(down, &sum);
  }
  return sum;
}

FloatDecoder::Output FloatDecoder::Step(int64_t token) {
  BV_CHECK(token >= 0 && token < config_.model.vocab_size);
  const int64_t hidden = config_.model.hidden_size;
  Output output;
  const auto row = embedding_.begin() + token * hidden;
  Vector residual(row, row + hidden);
  for (Layer& layer : layers_) {
    Vector x = residual;
    RmsNorm(layer.norm_in, config_.rms_norm_eps, x);
    Vector q = Linear(layer.q, x), k = Linear(layer.k, x);
    const Vector v = Linear(layer.v, x);
    NormAndTurn(layer.q_norm, &q);
    NormAndTurn(layer.k_norm, &k);
    layer.keys.insert(layer.keys.end(), k.begin(), k.end());
    layer.values.insert(layer.values.end(), v.begin(), v.end());
    Add(Linear(layer.o, Attend(q, layer)), &residual);
    x = residual;
    RmsNorm(layer.norm_post, config_.rms_norm_eps, x);
    Add(RunMlp(layer, x, &output), &residual);
    output.residual_after.push_back(residual);
  }
  RmsNorm(final_norm_, config_.rms_norm_eps, residual);
  output.final_norm = residual;
  output.logits = Linear(head_, residual);
  ++position_;
  return output;
}

}  // namespace batchvar
