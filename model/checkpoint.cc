#include "model/checkpoint.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/philox.h"
#include "base/text.h"

namespace redraft::model {

namespace {

constexpr std::size_t kMaxListed = 8;

void appendLayer(std::vector<ParameterSpec>& specs, const DecoderConfig& config, const std::string& prefix) {
  const std::int64_t hidden = config.hiddenSize;
  const std::int64_t queries = config.heads * config.headDim;
  const std::int64_t keys = config.keyValueHeads * config.headDim;
  specs.push_back({prefix + "self_attn.q_proj.weight", {queries, hidden}});
  specs.push_back({prefix + "self_attn.k_proj.weight", {keys, hidden}});
  specs.push_back({prefix + "self_attn.v_proj.weight", {keys, hidden}});
  specs.push_back({prefix + "self_attn.o_proj.weight", {hidden, queries}});
  specs.push_back({prefix + "self_attn.q_norm.weight", {config.headDim}});
  specs.push_back({prefix + "self_attn.k_norm.weight", {config.headDim}});
  specs.push_back({prefix + "mlp.gate_proj.weight", {config.intermediateSize, hidden}});
  specs.push_back({prefix + "mlp.up_proj.weight", {config.intermediateSize, hidden}});
  specs.push_back({prefix + "mlp.down_proj.weight", {hidden, config.intermediateSize}});
  specs.push_back({prefix + "input_layernorm.weight", {hidden}});
  specs.push_back({prefix + "post_attention_layernorm.weight", {hidden}});
}

std::string shapeText(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> parts;
  for (const std::int64_t size : shape) parts.push_back(std::to_string(size));
  return "[" + join(parts, ", ") + "]";
}

at::ScalarType scalarType(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBool:
      return at::kBool;
    case Dtype::kU8:
      return at::kByte;
    case Dtype::kI8:
      return at::kChar;
    case Dtype::kI16:
      return at::kShort;
    case Dtype::kI32:
      return at::kInt;
    case Dtype::kI64:
      return at::kLong;
    case Dtype::kF16:
      return at::kHalf;
    case Dtype::kBF16:
      return at::kBFloat16;
    case Dtype::kF32:
      return at::kFloat;
    case Dtype::kF64:
      return at::kDouble;
  }
  REDRAFT_CHECK(false, "unknown dtype");
}

Dtype storedDtype(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return Dtype::kBool;
    case at::kByte:
      return Dtype::kU8;
    case at::kInt:
      return Dtype::kI32;
    case at::kLong:
      return Dtype::kI64;
    case at::kBFloat16:
      return Dtype::kBF16;
    case at::kFloat:
      return Dtype::kF32;
    case at::kDouble:
      return Dtype::kF64;
    default:
      REDRAFT_CHECK(false, "no container dtype for this tensor");
  }
}

bool isFloating(Dtype dtype) { return dtype == Dtype::kF32 || dtype == Dtype::kBF16 || dtype == Dtype::kF16; }

/// Everything that is wrong with `source`, a line each.
std::vector<std::string> findProblems(const TensorSource& source, const std::vector<ParameterSpec>& specs) {
  std::vector<std::string> problems;
  std::vector<std::string> known;
  for (const ParameterSpec& spec : specs) {
    known.push_back(spec.name);
    const auto found = source.tensors().find(spec.name);
    if (found == source.tensors().end()) {
      problems.push_back("missing: " + spec.name + " " + shapeText(spec.shape));
      continue;
    }
    const TensorView& view = found->second;
    if (view.shape != spec.shape)
      problems.push_back(spec.name + " has shape " + shapeText(view.shape) + ", expected " + shapeText(spec.shape));
    if (!isFloating(view.dtype))
      problems.push_back(spec.name + " has dtype " + std::string(dtypeName(view.dtype)) +
                         ", expected F32, BF16 or F16");
  }
  for (const auto& [name, view] : source.tensors()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = nearest(name, known);
    problems.push_back("unknown: " + name + (near.empty() ? "" : " (near " + near + ")"));
  }
  return problems;
}

void throwProblems(const std::string& place, std::vector<std::string> problems) {
  if (problems.empty()) return;
  const std::size_t count = problems.size();
  if (count > kMaxListed) {
    problems.resize(kMaxListed);
    problems.push_back("and " + std::to_string(count - kMaxListed) + " more");
  }
  throwBadInput(place, "the tensors do not fit the configuration:\n  " + join(problems, "\n  "),
                "Take the config.json that belongs to these tensors; names are those of the field's checkpoints.");
}

}  // namespace

std::vector<ParameterSpec> targetParameters(const TargetConfig& config) {
  std::vector<ParameterSpec> specs;
  specs.push_back({"model.embed_tokens.weight", {config.vocabSize, config.hiddenSize}});
  for (std::int64_t i = 0; i < config.layers; ++i)
    appendLayer(specs, config, "model.layers." + std::to_string(i) + ".");
  specs.push_back({"model.norm.weight", {config.hiddenSize}});
  if (!config.tieWordEmbeddings) specs.push_back({"lm_head.weight", {config.vocabSize, config.hiddenSize}});
  return specs;
}

std::vector<ParameterSpec> drafterParameters(const DrafterConfig& config) {
  std::vector<ParameterSpec> specs;
  specs.push_back({"fc.weight", {config.hiddenSize, config.contextWidth()}});
  specs.push_back({"hidden_norm.weight", {config.hiddenSize}});
  specs.push_back({"norm.weight", {config.hiddenSize}});
  for (std::int64_t i = 0; i < config.layers; ++i) appendLayer(specs, config, "layers." + std::to_string(i) + ".");
  return specs;
}

TensorSource TensorSource::open(const std::string& path) {
  TensorSource source;
  source.place_ = path;
  source.checkpoints_.push_back(SafetensorsCheckpoint::open(path));
  const SafetensorsCheckpoint& checkpoint = source.checkpoints_.front();
  for (const std::string& name : checkpoint.names()) source.tensors_.emplace(name, checkpoint.at(name));
  return source;
}

TensorSource TensorSource::within(const SafetensorsFile& file, const std::string& prefix) {
  TensorSource source;
  source.place_ = file.path() + " (" + prefix + "*)";
  source.files_.push_back(file);
  for (const auto& [name, view] : file.tensors()) {
    if (name.rfind(prefix, 0) == 0) source.tensors_.emplace(name.substr(prefix.size()), view);
  }
  return source;
}

std::vector<at::Tensor> loadParameters(const TensorSource& source, const std::vector<ParameterSpec>& specs,
                                       at::ScalarType dtype, at::Device device) {
  throwProblems(source.place(), findProblems(source, specs));
  std::vector<at::Tensor> parameters;
  parameters.reserve(specs.size());
  for (const ParameterSpec& spec : specs) {
    const at::Tensor stored = toTensor(source.tensors().at(spec.name));
    if (!at::isfinite(stored).all().item<bool>())
      throwBadInput(source.place() + ": " + spec.name, "holds numbers that are not finite", "Save the model again.");
    parameters.push_back(stored.to(dtype).to(device));
  }
  return parameters;
}

std::vector<at::Tensor> loadTargetParameters(const TensorSource& source, const TargetConfig& config,
                                             at::ScalarType dtype, at::Device device) {
  std::vector<ParameterSpec> specs = targetParameters(config);
  const bool storedTwice = config.tieWordEmbeddings && source.tensors().count("lm_head.weight") != 0;
  if (!storedTwice) return loadParameters(source, specs, dtype, device);
  specs.push_back({"lm_head.weight", {config.vocabSize, config.hiddenSize}});
  throwProblems(source.place(), findProblems(source, specs));
  const TensorView& embedding = source.tensors().at("model.embed_tokens.weight");
  const TensorView& head = source.tensors().at("lm_head.weight");
  if (embedding.dtype != head.dtype || std::memcmp(embedding.data, head.data, head.bytes) != 0) {
    throwBadInput(source.place() + ": lm_head.weight", "differs from the embedding that tie_word_embeddings ties it to",
                  "Set \"tie_word_embeddings\": false, or leave lm_head.weight out.");
  }
  std::vector<at::Tensor> parameters = loadParameters(source, specs, dtype, device);
  parameters.pop_back();
  return parameters;
}

namespace {

/// Numbers [first, last) of a parameter; `first` is even.
struct Stretch {
  std::size_t parameter = 0;
  std::int64_t first = 0, last = 0;
};

constexpr std::int64_t kStretch = std::int64_t{1} << 20;

std::vector<Stretch> stretchesOf(const std::vector<ParameterSpec>& specs, const std::vector<at::Tensor>& parameters) {
  std::vector<Stretch> stretches;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].shape.size() < 2) continue;  // norms begin as ones
    const std::int64_t count = parameters[i].numel();
    for (std::int64_t first = 0; first < count; first += kStretch)
      stretches.push_back({i, first, std::min(count, first + kStretch)});
  }
  return stretches;
}

void fillNormal(float* values, const Stretch& stretch, CounterRng rng, double deviation) {
  rng.skipNormalPairs(static_cast<std::uint64_t>(stretch.first) / 2);
  for (std::int64_t k = stretch.first; k < stretch.last; ++k) values[k] = rng.normal() * static_cast<float>(deviation);
}

}  // namespace

std::vector<at::Tensor> randomParameters(const std::vector<ParameterSpec>& specs, std::uint64_t seed,
                                         double deviation) {
  std::vector<at::Tensor> parameters;
  for (const ParameterSpec& spec : specs) parameters.push_back(at::ones(spec.shape, at::kFloat));
  const std::vector<Stretch> stretches = stretchesOf(specs, parameters);
  std::atomic<std::size_t> next{0};
  const auto fillSome = [&] {
    for (std::size_t i; (i = next++) < stretches.size();) {
      const Stretch& stretch = stretches[i];
      fillNormal(parameters[stretch.parameter].mutable_data_ptr<float>(), stretch,
                 CounterRng(seed, "parameters", stretch.parameter), deviation);
    }
  };
  // A number is a function of its place, whoever draws it.
  const std::size_t threads =
      std::min<std::size_t>(stretches.size() / 4, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(fillSome);
  fillSome();
  for (std::thread& other : others) other.join();
  return parameters;
}

void saveCheckpoint(const std::string& folder, const Json& config, const std::vector<ParameterSpec>& specs,
                    const std::vector<at::Tensor>& parameters, std::size_t maxShardBytes) {
  REDRAFT_CHECK(specs.size() == parameters.size(), "as many parameters as specified");
  std::vector<at::Tensor> kept;
  std::vector<NamedTensor> named;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    kept.push_back(parameters[i].detach().cpu().contiguous());
    named.push_back({specs[i].name, viewOf(kept.back())});
    bytes += named.back().view.bytes;
  }
  makeDirectories(folder);
  if (bytes <= maxShardBytes) {
    writeSafetensors(joinPath(folder, "model.safetensors"), named, {{"format", "pt"}});
  } else {
    writeShardedSafetensors(folder, named, maxShardBytes);
  }
  writeFileAtomically(joinPath(folder, "config.json"), config.dump(2) + "\n");
}

at::Tensor toTensor(const TensorView& view) {
  at::Tensor tensor = at::empty(view.shape, at::TensorOptions().dtype(scalarType(view.dtype)));
  if (view.bytes != 0) std::memcpy(tensor.data_ptr(), view.data, view.bytes);
  return tensor;
}

TensorView viewOf(const at::Tensor& tensor) {
  REDRAFT_CHECK(tensor.is_cpu() && tensor.is_contiguous(), "a view is of a contiguous CPU tensor");
  return {storedDtype(tensor.scalar_type()), tensor.sizes().vec(), static_cast<const std::byte*>(tensor.data_ptr()),
          tensor.nbytes()};
}

}  // namespace redraft::model
