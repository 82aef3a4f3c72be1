#include "model/fixture.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"
#include "base/safetensors.h"
#include "base/text.h"
#include "model/checkpoint.h"

namespace redraft::model {

namespace {

constexpr std::int64_t kMaxSteps = 10000;
constexpr std::int64_t kMaxAnchors = 1 << 20;

std::string shapeText(at::IntArrayRef shape) {
  std::vector<std::string> parts;
  for (const std::int64_t size : shape) parts.push_back(size < 0 ? "*" : std::to_string(size));
  return "[" + join(parts, ", ") + "]";
}

/// Typed access to the tensors of one file.
class Reader {
 public:
  explicit Reader(const std::string& path) : file_(SafetensorsFile::open(path)) {}

  const SafetensorsFile& file() const { return file_; }

  /// The tensor, which must have this shape (-1: any size) and dtype.
  at::Tensor tensor(const std::string& name, const std::vector<std::int64_t>& shape, Dtype dtype) const {
    const TensorView& view = file_.at(name);
    bool fits = view.shape.size() == shape.size() && view.dtype == dtype;
    for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = shape[i] < 0 || shape[i] == view.shape[i];
    if (!fits) {
      throwBadInput(file_.path() + ": " + name,
                    "is " + std::string(dtypeName(view.dtype)) + " " + shapeText(view.shape) + ", expected " +
                        std::string(dtypeName(dtype)) + " " + shapeText(shape),
                    "Write the fixture again from its configuration.");
    }
    return toTensor(view);
  }

  std::vector<double> numbers(const std::string& name, std::int64_t count) const {
    const at::Tensor values = tensor(name, {count}, Dtype::kF64);
    return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + count};
  }

  std::vector<std::int64_t> integers(const std::string& name, const std::vector<std::int64_t>& shape) const {
    const at::Tensor values = tensor(name, shape, Dtype::kI64);
    return {values.const_data_ptr<std::int64_t>(), values.const_data_ptr<std::int64_t>() + values.numel()};
  }

  [[noreturn]] void fail(const std::string& what, const std::string& message) const {
    throwBadInput(file_.path() + ": " + what, message, "Write the fixture again from its configuration.");
  }

 private:
  SafetensorsFile file_;
};

FixtureTraining readTraining(JsonReader json) {
  FixtureTraining training;
  training.anchors = json.integer("num_anchors", 1, kMaxAnchors);
  if (json.has("loss_decay_gamma") && !json.value("loss_decay_gamma").is_null())
    training.gamma = json.number("loss_decay_gamma", -1e9, 1e9);
  training.objective.type = *lossTypeFromName(json.choice("loss_type", lossTypeNames(), "dflash"));
  const bool chunked = json.has("objective_chunk_blocks") && !json.value("objective_chunk_blocks").is_null();
  training.objective.chunkBlocks = chunked ? json.integer("objective_chunk_blocks", 0, kMaxAnchors) : 0;
  training.learningRate = json.number("lr", 0.0, 1e3);
  training.steps = json.integer("steps", 1, kMaxSteps);
  training.clip = json.number("clip", 0.0, 1e12, 1.0);
  return training;
}

/// Everything of the metadata but the tensors. Returns the anchors' width in each step.
std::vector<std::int64_t> readMeta(const Reader& reader, Fixture& fixture) {
  const auto found = reader.file().metadata().find("meta");
  if (found == reader.file().metadata().end()) reader.fail("__metadata__", "has no \"meta\"");
  const JsonDocument document = JsonDocument::parse(found->second, fixture.path + " (meta)");
  JsonReader json(document);
  fixture.target = readTargetConfig(json.object("target_config"));
  fixture.drafter = readDrafterConfig(json.object("drafter_config"));
  checkPair(fixture.target, fixture.drafter, fixture.path);
  fixture.training = readTraining(json.object("training"));
  if (json.has("noise")) {
    JsonReader noise = json.object("noise");
    for (const auto& [key, value] : noise.json().items()) fixture.noise[key] = noise.number(key, 0.0, 1e6);
  }
  std::vector<std::int64_t> widths = json.integers("anchors_per_step", 1, fixture.training.anchors);
  if (static_cast<std::int64_t>(widths.size()) != fixture.training.steps)
    json.fail("anchors_per_step", "has " + std::to_string(widths.size()) + " entries for training.steps " +
                                      std::to_string(fixture.training.steps));
  return widths;
}

void checkRange(const Reader& reader, const std::string& name, const at::Tensor& values, std::int64_t below) {
  if (values.numel() != 0 && (values.min().item<std::int64_t>() < 0 || values.max().item<std::int64_t>() >= below))
    reader.fail(name, "holds values outside 0 .. " + std::to_string(below - 1));
}

void readInputs(const Reader& reader, const std::vector<std::int64_t>& widths, Fixture& fixture) {
  fixture.ids = reader.tensor("in.input_ids", {-1, -1}, Dtype::kI64);
  const std::int64_t batch = fixture.ids.size(0);
  const std::int64_t length = fixture.ids.size(1);
  if (batch == 0 || length == 0) reader.fail("in.input_ids", "is empty");
  checkRange(reader, "in.input_ids", fixture.ids, fixture.target.vocabSize);
  fixture.lossMask = reader.tensor("in.loss_mask", {batch, length}, Dtype::kF32) > 0.5;
  const std::vector<std::int64_t> shape = {fixture.training.steps, batch, fixture.training.anchors};
  const at::Tensor positions = reader.tensor("in.anchor_positions", shape, Dtype::kI64);
  checkRange(reader, "in.anchor_positions", positions, length);
  const at::Tensor keep = reader.tensor("in.block_keep_mask", shape, Dtype::kU8) != 0;
  for (std::size_t step = 0; step < widths.size(); ++step) {
    const auto s = static_cast<std::int64_t>(step);
    fixture.anchors.push_back(
        {positions[s].narrow(1, 0, widths[step]).contiguous(), keep[s].narrow(1, 0, widths[step]).contiguous()});
  }
}

void readReference(const Reader& reader, Fixture& fixture) {
  const std::int64_t batch = fixture.ids.size(0);
  const std::int64_t length = fixture.ids.size(1);
  const std::int64_t queries = fixture.anchors.front().width() * fixture.drafter.blockSize;
  FixtureReference& ref = fixture.reference;
  ref.targetLogits = reader.tensor("ref.target_logits", {batch, length, fixture.target.vocabSize}, Dtype::kF32);
  ref.contextFeature =
      reader.tensor("ref.context_feature", {batch, length, fixture.drafter.contextWidth()}, Dtype::kF32);
  const std::vector<std::int64_t> maskShape = {batch, queries, length + queries};
  if (reader.file().has("ref.mask_full")) ref.maskFull = reader.tensor("ref.mask_full", maskShape, Dtype::kU8);
  if (reader.file().has("ref.mask_sliding") || fixture.drafter.anySliding())
    ref.maskSliding = reader.tensor("ref.mask_sliding", maskShape, Dtype::kU8);
  ref.drafterHidden = reader.tensor("ref.drafter_hidden", {batch, queries, fixture.drafter.hiddenSize}, Dtype::kF32);
  for (const ParameterSpec& spec : drafterParameters(fixture.drafter)) {
    ref.gradients.push_back(reader.tensor("ref.grad." + spec.name, spec.shape, Dtype::kF32));
    ref.parametersAfter.push_back(reader.tensor("ref.param_after." + spec.name, spec.shape, Dtype::kF32));
  }
  ref.losses = reader.numbers("ref.losses", fixture.training.steps);
  ref.accuracies = reader.numbers("ref.accuracies", fixture.training.steps);
  ref.gradientNorms = reader.numbers("ref.grad_norms", fixture.training.steps);
  ref.speculative = reader.integers("ref.spec_generate", {1, -1});
  ref.greedy = reader.integers("ref.greedy", {1, -1});
  ref.acceptLengths = reader.integers("ref.accept_lengths", {-1});
  const std::vector<std::int64_t> prompt = fixture.prompt();
  for (const auto* text : {&ref.speculative, &ref.greedy}) {
    if (text->size() < prompt.size() || !std::equal(prompt.begin(), prompt.end(), text->begin()))
      reader.fail(text == &ref.greedy ? "ref.greedy" : "ref.spec_generate", "does not begin with the prompt");
  }
}

}  // namespace

std::vector<std::int64_t> Fixture::prompt() const {
  const std::int64_t length = std::min(ids.size(1), std::max<std::int64_t>(8, ids.size(1) / 4));
  const std::int64_t* first = ids.const_data_ptr<std::int64_t>();
  return {first, first + length};
}

Fixture loadFixture(const std::string& path) {
  const Reader reader(path);
  Fixture fixture;
  fixture.path = path;
  const std::vector<std::int64_t> widths = readMeta(reader, fixture);
  readInputs(reader, widths, fixture);
  fixture.targetParameters =
      loadTargetParameters(TensorSource::within(reader.file(), "target."), fixture.target, at::kFloat, at::kCPU);
  fixture.drafterParameters = loadParameters(TensorSource::within(reader.file(), "drafter."),
                                             drafterParameters(fixture.drafter), at::kFloat, at::kCPU);
  readReference(reader, fixture);
  return fixture;
}

}  // namespace redraft::model
