#include "golden/golden_file.h"

#include <bit>
#include <cstdio>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace redraft::golden {

namespace {

constexpr const char* kSchema = "redraft.golden/1";

std::string sketchHex(const std::array<float, kSketchSize>& sketch) {
  std::string out;
  for (float value : sketch) {
    char digits[16];
    std::snprintf(digits, sizeof digits, "%08x", std::bit_cast<std::uint32_t>(value));
    out += digits;
  }
  return out;
}

std::string digestText(const GradientDigest& digest) {
  return toHexFloat(digest.l2) + " " + toHexFloat(digest.max) + " " + digest.hash + " " + sketchHex(digest.sketch);
}

std::uint32_t hexWord(std::string_view digits) {
  std::uint32_t word = 0;
  for (char c : digits) {
    const bool digit = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'f';
    if (!digit && !letter) throw std::invalid_argument("not a hex digit");
    word = word << 4 | static_cast<std::uint32_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return word;
}

GradientDigest parseDigest(const std::string& text) {
  const std::vector<std::string> parts = split(text, ' ');
  if (parts.size() != 4 || parts[2].size() != 32 || parts[3].size() != 8 * kSketchSize) {
    throw std::invalid_argument("not a digest");
  }
  GradientDigest digest;
  digest.l2 = fromHexFloat(parts[0]);
  digest.max = fromHexFloat(parts[1]);
  digest.hash = parts[2];
  for (int i = 0; i < 4; ++i) hexWord(std::string_view(digest.hash).substr(8 * i, 8));
  for (int i = 0; i < kSketchSize; ++i) {
    digest.sketch[i] = std::bit_cast<float>(hexWord(std::string_view(parts[3]).substr(8 * i, 8)));
  }
  return digest;
}

Json stringsOf(const std::map<std::string, std::string>& fields) {
  Json out = Json::object();
  for (const auto& [key, value] : fields) out[key] = value;
  return out;
}

Json header(const Golden& golden, const char* kind, const std::map<std::string, std::string>& classFields) {
  const Provenance& p = golden.provenance;
  Json out;
  out["schema"] = kSchema;
  out["kind"] = kind;
  out["scenario"] = golden.record.scenario;
  out["class"] = stringsOf(classFields);
  out["provenance"] = {{"reason", p.reason}, {"commit", p.commit},   {"version", p.version},
                       {"date", p.date},     {"command", p.command}, {"environment", stringsOf(p.environment)}};
  return out;
}

Json stepsJson(const Record& record) {
  Json steps = Json::array();
  for (const StepMetrics& step : record.steps) {
    Json one;
    one["step"] = step.step;
    for (const auto& [name, value] : step.values) one["values"][name] = toHexFloat(value);
    one["parameters_hash"] = step.parametersHash;
    steps.push_back(std::move(one));
  }
  return steps;
}

Json gradientsJson(const Record& record) {
  Json gradients = Json::array();
  for (const auto& step : record.gradients) {
    Json one = Json::object();
    for (std::size_t p = 0; p < step.size(); ++p) one[record.parameters[p]] = digestText(step[p]);
    gradients.push_back(std::move(one));
  }
  return gradients;
}

std::map<std::string, std::string> readStrings(JsonReader reader) {
  std::map<std::string, std::string> fields;
  for (const auto& [key, value] : reader.json().items()) fields[key] = reader.string(key);
  return fields;
}

double readHex(JsonReader& reader, const std::string& key) {
  const std::string text = reader.string(key);
  try {
    return fromHexFloat(text);
  } catch (const std::invalid_argument&) {
    reader.fail(key, "'" + text + "' is not a hex float", "write it as \"0x1.8p+1\"");
  }
}

void readProvenance(JsonReader reader, Provenance& provenance) {
  provenance.reason = reader.string("reason");
  provenance.commit = reader.string("commit");
  provenance.version = reader.string("version");
  provenance.date = reader.string("date");
  provenance.command = reader.string("command");
  provenance.environment = readStrings(reader.object("environment"));
  reader.finish();
}

void readSteps(JsonReader& reader, Record& record) {
  for (JsonReader& one : reader.objects("steps")) {
    StepMetrics step;
    step.step = one.integer("step", 0, 1 << 24);
    JsonReader values = one.object("values");
    for (const auto& [name, value] : values.json().items()) step.values[name] = readHex(values, name);
    step.parametersHash = one.string("parameters_hash");
    one.finish();
    record.steps.push_back(std::move(step));
  }
}

void readGradients(JsonReader& reader, Record& record) {
  record.parameters = reader.strings("parameters");
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

void readEvaluation(JsonReader reader, Record& record) {
  Evaluation evaluation;
  evaluation.acceptLengths = reader.integers("accept_lengths", 0, 1 << 20);
  evaluation.meanAcceptLength = readHex(reader, "mean_accept_length");
  evaluation.textHash = reader.string("text_hash");
  reader.finish();
  record.evaluation = std::move(evaluation);
}

int deviceIndex(JsonReader& peaks, const std::string& key) {
  const bool digits = !key.empty() && key.size() <= 4 && key.find_first_not_of("0123456789") == std::string::npos;
  if (!digits) peaks.fail(key, "'" + key + "' is not a device index");
  return std::stoi(key);
}

void readNumerics(JsonReader& reader, Golden& golden) {
  Record& record = golden.record;
  record.numericsClass.fields = readStrings(reader.object("class"));
  readSteps(reader, record);
  readGradients(reader, record);
  if (reader.has("evaluation")) readEvaluation(reader.object("evaluation"), record);
  JsonReader peaks = reader.object("peak_bytes");
  for (const auto& [key, value] : peaks.json().items()) {
    record.peakBytes[deviceIndex(peaks, key)] = peaks.integer(key, 0, std::int64_t{1} << 60);
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
  golden.record.performanceClass = PerformanceClass{readStrings(reader.object("class"))};
  for (auto& [role, rates] : readRates(reader.object("tokens_per_second")))
    golden.record.samples[role].tokensPerSecond = std::move(rates);
  if (reader.has("runs_tokens_per_second")) golden.runRates = readRates(reader.object("runs_tokens_per_second"));
}

}  // namespace

std::string numericsText(const Golden& golden) {
  const Record& record = golden.record;
  Json out = header(golden, "numerics", record.numericsClass.fields);
  out["steps"] = stepsJson(record);
  out["parameters"] = record.parameters;
  out["gradients"] = gradientsJson(record);
  if (record.evaluation) {
    out["evaluation"] = {{"accept_lengths", record.evaluation->acceptLengths},
                         {"mean_accept_length", toHexFloat(record.evaluation->meanAcceptLength)},
                         {"text_hash", record.evaluation->textHash}};
  }
  out["peak_bytes"] = Json::object();
  for (const auto& [device, bytes] : record.peakBytes) out["peak_bytes"][std::to_string(device)] = bytes;
  return out.dump(1) + "\n";
}

std::string performanceText(const Golden& golden) {
  REDRAFT_CHECK(golden.record.performanceClass.has_value(), "a performance golden needs its machine");
  Json out = header(golden, "performance", golden.record.performanceClass->fields);
  out["tokens_per_second"] = Json::object();
  for (const auto& [role, samples] : golden.record.samples) out["tokens_per_second"][role] = samples.tokensPerSecond;
  if (!golden.runRates.empty()) out["runs_tokens_per_second"] = golden.runRates;
  return out.dump(1) + "\n";
}

Golden loadGolden(const std::string& path) {
  const JsonDocument document = JsonDocument::load(path, JsonDocument::Comments::kRefuse);
  JsonReader reader(document);
  const std::string schema = reader.string("schema");
  if (schema != kSchema)
    reader.fail("schema", "'" + schema + "' is not known here; this program reads redraft.golden/1");
  Golden golden;
  golden.record.origin = path;
  golden.record.scenario = reader.string("scenario");
  readProvenance(reader.object("provenance"), golden.provenance);
  if (reader.choice("kind", {"numerics", "performance"}, "") == "numerics") {
    readNumerics(reader, golden);
  } else {
    readPerformance(reader, golden);
  }
  reader.finish();
  return golden;
}

}  // namespace redraft::golden
