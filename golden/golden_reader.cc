// Reads golden files of both versions.
#include <algorithm>
#include <set>

#include "base/characters.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "golden/common_fields.h"
#include "golden/conflict.h"
#include "golden/golden_file.h"
#include "golden/tolerance_json.h"
#include "golden/values.h"

namespace redraft::golden {

namespace {

constexpr std::size_t kMaxBytes = 64u << 20;

void readProvenance(JsonReader reader, Provenance& provenance) {
  provenance.reason = reader.string("reason");
  provenance.commit = reader.string("commit");
  provenance.version = reader.string("version");
  provenance.date = reader.string("date");
  provenance.command = reader.string("command");
  provenance.accepted = reader.string("accepted", "");
  provenance.environment = readTexts(reader.object("environment"));
  reader.finish();
}

void readParameters(JsonReader& reader, Record& record) {
  record.parameters = reader.strings("parameters");
  std::set<std::string> names(record.parameters.begin(), record.parameters.end());
  if (names.size() != record.parameters.size()) reader.fail("parameters", "a name stands there twice");
}

// Version 1: an object a step.

void readSteps(JsonReader& reader, Record& record) {
  for (JsonReader& one : reader.objects("steps")) {
    StepMetrics step;
    step.step = one.integer("step", 0, 1 << 24);
    if (!record.steps.empty() && record.steps.back().step >= step.step)
      one.fail("step", "it stands behind a later one", "bless the scenario again");
    JsonReader values = one.object("values");
    for (const auto& [name, value] : values.json().items()) {
      if (name.find('/') != std::string::npos || name == "parameters_hash") values.fail(name, "no metric's name");
      step.values[name] = readHexFloat(values, name);
    }
    step.parametersHash = one.string("parameters_hash");
    one.finish();
    record.steps.push_back(std::move(step));
  }
}

void readGradients(JsonReader& reader, Record& record) {
  std::vector<JsonReader> steps = reader.objects("gradients");
  if (steps.size() != record.steps.size()) {
    reader.fail("gradients",
                std::to_string(steps.size()) + " entries for " + std::to_string(record.steps.size()) + " steps",
                "bless the scenario again");
  }
  for (JsonReader& step : steps) {
    std::vector<GradientDigest> digests;
    const bool kept = !step.json().empty();  // or an empty object stands for the step
    for (const std::string& name : kept ? record.parameters : std::vector<std::string>()) {
      const std::string text = step.string(name);
      try {
        digests.push_back(parseDigest(text));
      } catch (const std::invalid_argument&) {
        step.fail(name, "not a gradient digest: L2, max, hash, sketch", "bless the scenario again");
      }
    }
    step.finish();
    record.gradients.push_back(std::move(digests));
  }
}

int deviceIndex(JsonReader& peaks, const std::string& key) {
  const bool digits = key.size() <= 4 && isDigits(key);
  if (!digits) peaks.fail(key, "'" + key + "' is not a device index");
  return std::stoi(key);
}

void readFirstVersion(JsonReader& reader, Record& record) {
  readSteps(reader, record);
  readParameters(reader, record);
  readGradients(reader, record);
  if (reader.has("evaluation")) {
    JsonReader evaluation = reader.object("evaluation");
    record.evaluation = readEvaluation(evaluation);
    evaluation.finish();
  }
  JsonReader peaks = reader.object("peak_bytes");
  for (const auto& [key, value] : peaks.json().items())
    record.peakBytes[deviceIndex(peaks, key)] = peaks.integer(key, 0, std::int64_t{1} << 60);
}

// Version 2: a line a value.

void readValues(JsonReader& reader, Record& record) {
  readParameters(reader, record);
  const JsonReader lines = reader.object("values");
  std::vector<Value> values;
  for (const auto& [key, value] : lines.json().items()) {
    if (!value.is_string()) lines.fail(key, "not a string");
    values.push_back({key, value.get<std::string>()});
  }
  try {
    setValues(values, record);
  } catch (const BadValue& bad) {
    lines.fail(bad.key(), bad.what());
  }
}

std::map<std::string, std::vector<double>> readRates(JsonReader roles) {
  std::map<std::string, std::vector<double>> rates;
  for (const auto& [role, unused] : roles.json().items()) {
    const Json& list = roles.value(role);
    if (!list.is_array()) roles.fail(role, "not a list of numbers");
    for (const Json& one : list) {
      if (!one.is_number() || one.get<double>() <= 0) roles.fail(role, "not a list of positive numbers");
      rates[role].push_back(one.get<double>());
    }
  }
  return rates;
}

void readPerformance(JsonReader& reader, Golden& golden) {
  golden.record.performanceClass = PerformanceClass{readTexts(reader.object("class"))};
  for (auto& [role, rates] : readRates(reader.object("tokens_per_second")))
    golden.record.samples[role].tokensPerSecond = std::move(rates);
  if (reader.has("runs_tokens_per_second")) golden.runRates = readRates(reader.object("runs_tokens_per_second"));
}

}  // namespace

Golden parseGolden(const std::string& text, const std::string& place) {
  const JsonDocument document = JsonDocument::parse(text, place, JsonDocument::Comments::kRefuse);
  JsonReader reader(document);
  const std::string schema = reader.string("schema");
  const bool first = schema == "redraft.golden/1";
  if (!first && schema != "redraft.golden/2")
    reader.fail("schema", "'" + printable(schema) + "' is not known here; this program reads redraft.golden/2 and 1");
  Golden golden;
  golden.record.origin = place;
  golden.record.scenario = reader.string("scenario");
  readProvenance(reader.object("provenance"), golden.provenance);
  if (!first) golden.history = reader.strings("history");
  if (reader.choice("kind", {"numerics", "performance"}, "") == "numerics") {
    golden.record.numericsClass.fields = readTexts(reader.object("class"));
    if (first) {
      readFirstVersion(reader, golden.record);
    } else {
      readTolerance(reader, golden);
      readValues(reader, golden.record);
    }
  } else {
    readPerformance(reader, golden);
  }
  reader.finish();
  return golden;
}

Golden loadGolden(const std::string& path) {
  const std::string text = readFile(path, kMaxBytes);
  if (const auto conflict = findConflict(text)) refuseConflict(*conflict, path);
  return parseGolden(text, path);
}

}  // namespace redraft::golden
