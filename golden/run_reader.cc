// Reads a run folder: metrics.jsonl, digests.bin, memory.json, environment.json.
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/safetensors.h"
#include "golden/common_fields.h"
#include "golden/record.h"

namespace redraft::golden {

namespace {

constexpr const char* kMetricNames[] = {"loss", "accuracy", "prefix_acceptance", "grad_norm", "learning_rate"};
constexpr std::int64_t kMaxSteps = 1 << 24;

void readSamples(JsonReader roles, double seconds, double tokens, Record& record) {
  for (const auto& [role, value] : roles.json().items()) {
    JsonReader one = roles.object(role);
    const double busy = one.number("busy_seconds", 0, 1e9);
    const double count = one.number("tokens", 0, 1e18);
    if (busy > 0 && count > 0) record.samples[role].tokensPerSecond.push_back(count / busy);
    if (seconds <= 0 || !one.has("feature_wait_seconds")) continue;
    record.waits[role].features.push_back(one.number("feature_wait_seconds", 0, 1e9) / seconds);
    record.waits[role].gradients.push_back(one.number("gradient_wait_seconds", 0, 1e9) / seconds);
  }
  if (seconds <= 0) return;
  record.stepSeconds.push_back(seconds);
  record.samples["all"].tokensPerSecond.push_back(tokens / seconds);
}

void readStep(JsonReader& reader, Record& record) {
  StepMetrics step;
  step.step = reader.integer("step", 0, kMaxSteps);
  const auto expected = static_cast<std::int64_t>(record.steps.empty() ? step.step : record.steps.back().step + 1);
  if (step.step != expected) {
    reader.fail("step", "step " + std::to_string(step.step) + " where " + std::to_string(expected) + " was due",
                "the file was edited, or two runs wrote to it; run the scenario again");
  }
  for (const char* name : kMetricNames) step.values[name] = readHexFloat(reader, name);
  const double tokens = reader.number("tokens", 0, 1e18);
  step.values["tokens"] = tokens;
  step.parametersHash = reader.string("parameters_hash");
  step.keptDigests = reader.boolean("digests", true);
  if (reader.has("roles")) readSamples(reader.object("roles"), reader.number("seconds", 0, 1e9), tokens, record);
  record.steps.push_back(std::move(step));
}

void readHeader(JsonReader& reader, Record& record) {
  const std::string schema = reader.string("schema");
  if (schema != "redraft.metrics/1") {
    reader.fail("schema", "'" + schema + "' is not known here; this program reads redraft.metrics/1");
  }
  record.scenario = reader.string("scenario");
  record.numericsClass.fields = readTexts(reader.object("numerics_class"));
  // Of GPUs the runner alone knows.
  if (reader.has("performance_class"))
    record.performanceClass = PerformanceClass{readTexts(reader.object("performance_class"))};
}

void readMetrics(const std::string& folder, Record& record) {
  const std::string path = joinPath(folder, "metrics.jsonl");
  bool torn = false;
  const std::vector<std::string> lines = readLines(path, &torn);
  if (torn)
    throwBadInput(path, "its last line is torn: the runner was killed while it wrote", "run the scenario again");
  if (lines.empty()) throwBadInput(path, "it is empty", "run the scenario again");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const JsonDocument document =
        JsonDocument::parse(lines[i], path + ":" + std::to_string(i + 1), JsonDocument::Comments::kRefuse);
    JsonReader reader(document);
    if (i == 0) {
      readHeader(reader, record);
    } else if (reader.has("evaluation")) {
      JsonReader evaluation = reader.object("evaluation");
      record.evaluation = readEvaluation(evaluation);
    } else {
      readStep(reader, record);
    }
  }
}

TensorView digestTensor(const SafetensorsFile& file, const std::string& name, Dtype dtype,
                        const std::vector<std::int64_t>& shape) {
  const TensorView& view = file.at(name);
  if (view.dtype != dtype || view.shape != shape) {
    throwBadInput(file.path() + ": " + name, "dtype or shape is not that of a digest", "run the scenario again");
  }
  return view;
}

std::string hexDigits(const std::byte* bytes, std::size_t count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out += kDigits[std::to_integer<int>(bytes[i]) >> 4];
    out += kDigits[std::to_integer<int>(bytes[i]) & 15];
  }
  return out;
}

std::vector<GradientDigest> readStepDigests(const SafetensorsFile& file, std::int64_t step, std::size_t parameters) {
  const std::string prefix = "step." + std::to_string(step) + ".grad.";
  const auto count = static_cast<std::int64_t>(parameters);
  const TensorView& l2 = digestTensor(file, prefix + "l2", Dtype::kF64, {count});
  const TensorView& max = digestTensor(file, prefix + "max", Dtype::kF64, {count});
  const TensorView& hash = digestTensor(file, prefix + "hash", Dtype::kU8, {count, 16});
  const TensorView& sketch = digestTensor(file, prefix + "sketch", Dtype::kF32, {count, kSketchSize});
  std::vector<GradientDigest> digests(parameters);
  for (std::size_t i = 0; i < parameters; ++i) {
    std::memcpy(&digests[i].l2, l2.data + i * sizeof(double), sizeof(double));
    std::memcpy(&digests[i].max, max.data + i * sizeof(double), sizeof(double));
    digests[i].hash = hexDigits(hash.data + i * 16, 16);
    std::memcpy(digests[i].sketch.data(), sketch.data + i * sizeof(digests[i].sketch), sizeof(digests[i].sketch));
  }
  return digests;
}

void readDigests(const std::string& folder, Record& record) {
  const std::string path = joinPath(folder, "digests.bin");
  if (!fileExists(path)) throwBadInput(path, "the run kept no digests", "run the scenario again");
  const SafetensorsFile file = SafetensorsFile::open(path);
  const auto& metadata = file.metadata();
  const auto schema = metadata.find("schema");
  if (schema == metadata.end() || schema->second != "redraft.digests/1") {
    throwBadInput(path, "its schema is not redraft.digests/1", "run the scenario again with this version");
  }
  const auto names = metadata.find("parameters");
  if (names == metadata.end()) throwBadInput(path, "its metadata lacks 'parameters'", "run the scenario again");
  const JsonDocument list = JsonDocument::parse(names->second, path + ": parameters", JsonDocument::Comments::kRefuse);
  if (!list.root().is_array()) throwBadInput(path, "its 'parameters' is not a list", "run the scenario again");
  for (const Json& name : list.root()) {
    if (!name.is_string()) throwBadInput(path, "a parameter's name is not a string", "run the scenario again");
    record.parameters.push_back(name.get<std::string>());
  }
  for (const StepMetrics& step : record.steps) {
    record.gradients.push_back(step.keptDigests ? readStepDigests(file, step.step, record.parameters.size())
                                                : std::vector<GradientDigest>());
  }
}

void readMemory(const std::string& folder, Record& record) {
  const JsonDocument document = JsonDocument::load(joinPath(folder, "memory.json"), JsonDocument::Comments::kRefuse);
  JsonReader reader(document);
  for (JsonReader& device : reader.objects("devices")) {
    const auto index = static_cast<int>(device.integer("device", 0, 1 << 16));
    record.peakBytes[index] = device.integer("peak", 0, std::int64_t{1} << 60);
  }
}

void readEnvironment(const std::string& folder, Record& record) {
  const std::string path = joinPath(folder, "environment.json");
  if (!fileExists(path) || record.performanceClass) return;
  const JsonDocument document = JsonDocument::load(path, JsonDocument::Comments::kRefuse);
  JsonReader reader(document);
  if (!reader.has("performance_class")) return;
  record.performanceClass = PerformanceClass{readTexts(reader.object("performance_class"))};
}

}  // namespace

Record loadMetrics(const std::string& folder) {
  Record record;
  record.origin = folder;
  readMetrics(folder, record);
  readEnvironment(folder, record);
  return record;
}

Record loadRun(const std::string& folder) {
  Record record;
  record.origin = folder;
  readMetrics(folder, record);
  readDigests(folder, record);
  readMemory(folder, record);
  readEnvironment(folder, record);
  return record;
}

}  // namespace redraft::golden
