#include "tests/golden/fake_run.h"

#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/safetensors.h"

namespace redraft::golden {

void overwrite(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  REDRAFT_CHECK(out.good(), "cannot write " + path);
}

Record exampleRecord() {
  Record record;
  record.scenario = "single-drafter";
  record.origin = "example";
  record.numericsClass.fields = {
      {"isa", "avx2"}, {"libtorch", "2.11.0"}, {"threads", "1"}, {"kernels", "1"}, {"device", "cpu"}};
  record.performanceClass = PerformanceClass{{{"cpu", "Example 3000"}, {"cores", "2"}}};
  record.parameters = {"fc.weight", "norm.weight"};
  for (int step = 0; step < 3; ++step) {
    StepMetrics metrics;
    metrics.step = step;
    metrics.values = {{"loss", 4.5 - step * 0.25}, {"accuracy", 0.125 * step}, {"prefix_acceptance", 1.0},
                      {"grad_norm", 2.0},          {"learning_rate", 0.001},   {"tokens", 64}};
    metrics.parametersHash = std::string(32, static_cast<char>('a' + step));
    record.steps.push_back(metrics);
    GradientDigest digest;
    digest.l2 = 1.0;
    digest.max = 0.5;
    digest.hash = std::string(32, static_cast<char>('1' + step));
    for (int i = 0; i < kSketchSize; ++i) digest.sketch[i] = 0.25f;
    record.gradients.push_back({digest, digest});
    record.samples["all"].tokensPerSecond.push_back(64 / 0.5);
    record.samples["drafter[0]"].tokensPerSecond.push_back(64 / 0.25);
  }
  record.evaluation = Evaluation{{2, 3, 1}, 2.0, std::string(32, 'e')};
  record.peakBytes = {{6, 4096}};
  return record;
}

namespace {

std::string metricsText(const Record& record) {
  Json header{{"schema", "redraft.metrics/1"}, {"scenario", record.scenario}};
  for (const auto& [key, value] : record.numericsClass.fields) header["numerics_class"][key] = value;
  std::string text = header.dump() + "\n";
  for (const StepMetrics& step : record.steps) {
    Json line{{"step", step.step}};
    for (const auto& [name, value] : step.values) {
      if (name == "tokens") {
        line[name] = value;
      } else {
        line[name] = toHexFloat(value);
      }
    }
    line["seconds"] = 0.5;
    line["parameters_hash"] = step.parametersHash;
    if (!step.keptDigests) line["digests"] = false;
    line["roles"]["drafter[0]"] = {{"tokens", 64},
                                   {"busy_seconds", 0.25},
                                   {"wait_seconds", 0.0},
                                   {"feature_wait_seconds", 0.125},
                                   {"gradient_wait_seconds", 0.0625}};
    text += line.dump() + "\n";
  }
  if (record.evaluation) {
    Json line;
    line["evaluation"] = {{"accept_lengths", record.evaluation->acceptLengths},
                          {"mean_accept_length", toHexFloat(record.evaluation->meanAcceptLength)},
                          {"text_hash", record.evaluation->textHash}};
    text += line.dump() + "\n";
  }
  return text;
}

/// The tensors of one step, and the bytes that they view.
struct StepTensors {
  std::vector<double> l2, max;
  std::vector<std::uint8_t> hash;
  std::vector<float> sketch;
};

StepTensors tensorsOf(const std::vector<GradientDigest>& digests) {
  StepTensors out;
  for (const GradientDigest& digest : digests) {
    out.l2.push_back(digest.l2);
    out.max.push_back(digest.max);
    for (int i = 0; i < 16; ++i) {
      out.hash.push_back(static_cast<std::uint8_t>(std::stoi(digest.hash.substr(2 * i, 2), nullptr, 16)));
    }
    out.sketch.insert(out.sketch.end(), digest.sketch.begin(), digest.sketch.end());
  }
  return out;
}

template <class T>
NamedTensor named(const std::string& name, Dtype dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  return {name,
          {dtype, std::move(shape), reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)}};
}

void writeDigests(const std::string& path, const Record& record) {
  std::vector<StepTensors> storage;
  for (const auto& step : record.gradients) storage.push_back(tensorsOf(step));
  const auto count = static_cast<std::int64_t>(record.parameters.size());
  std::vector<NamedTensor> tensors;
  for (std::size_t s = 0; s < storage.size(); ++s) {
    if (storage[s].l2.empty()) continue;
    const std::string prefix = "step." + std::to_string(record.steps[s].step) + ".grad.";
    tensors.push_back(named(prefix + "l2", Dtype::kF64, {count}, storage[s].l2));
    tensors.push_back(named(prefix + "max", Dtype::kF64, {count}, storage[s].max));
    tensors.push_back(named(prefix + "hash", Dtype::kU8, {count, 16}, storage[s].hash));
    tensors.push_back(named(prefix + "sketch", Dtype::kF32, {count, kSketchSize}, storage[s].sketch));
  }
  writeSafetensors(path, tensors, {{"schema", "redraft.digests/1"}, {"parameters", Json(record.parameters).dump()}});
}

}  // namespace

void writeRun(const std::string& folder, const Record& record) {
  makeDirectories(folder);
  writeFileAtomically(joinPath(folder, "metrics.jsonl"), metricsText(record));
  writeDigests(joinPath(folder, "digests.bin"), record);
  Json memory{{"schema", "redraft.memory/1"}, {"devices", Json::array()}};
  for (const auto& [device, peak] : record.peakBytes) memory["devices"].push_back({{"device", device}, {"peak", peak}});
  writeFileAtomically(joinPath(folder, "memory.json"), memory.dump());
  Json environment{{"schema", "redraft.environment/1"}};
  if (record.performanceClass) {
    for (const auto& [key, value] : record.performanceClass->fields) environment["performance_class"][key] = value;
  }
  writeFileAtomically(joinPath(folder, "environment.json"), environment.dump());
}

}  // namespace redraft::golden
