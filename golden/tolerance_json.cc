#include "golden/tolerance_json.h"

#include <charconv>
#include <cmath>

#include "base/formatted.h"
#include "base/text.h"

namespace redraft::golden {

namespace {

constexpr const char* kNone = "-";  // a step without digests
constexpr std::int64_t kMost = std::int64_t{1} << 40;

std::string lineOf(const std::vector<double>& values) {
  std::vector<std::string> parts;
  for (const double value : values) parts.push_back(std::isnan(value) ? kNone : formatted("%.3g", value));
  return join(parts, " ");
}

std::vector<double> valuesIn(JsonReader& reader, const std::string& key) {
  std::vector<double> values;
  const std::string line = reader.string(key);
  for (const std::string& part : line.empty() ? std::vector<std::string>() : split(line, ' ')) {
    double value = std::nan("");
    const auto [stop, status] = std::from_chars(part.data(), part.data() + part.size(), value);
    const bool number =
        status == std::errc() && stop == part.data() + part.size() && std::isfinite(value) && value >= 0;
    if (!number && part != kNone) reader.fail(key, "'" + printable(part) + "' is no number of 0 or more");
    values.push_back(number ? value : std::nan(""));
  }
  return values;
}

MetricRule readRule(JsonReader& reader, const std::string& metric) {
  const std::string text = reader.string(metric);
  const std::size_t colon = text.find(": ");
  const auto kind = enumFromName<MetricKind>(text.substr(0, colon));
  if (colon == std::string::npos || !kind || colon + 2 == text.size())
    reader.fail(metric, "'" + printable(text) + "' is no rule",
                "write \"KIND: REASON\", KIND being exact, ulp, relative, statistical or bits");
  return {*kind, text.substr(colon + 2)};
}

Arithmetic readArithmetic(JsonReader reader) {
  Arithmetic arithmetic;
  arithmetic.reductionLength = reader.integer("reduction_length", 0, kMost);
  arithmetic.bfloat16Roundings = reader.integer("bfloat16_roundings", 0, kMost);
  arithmetic.predictions = reader.integer("predictions", 0, kMost);
  arithmetic.blocks = reader.integer("blocks", 0, kMost);
  arithmetic.blockSize = reader.integer("block_size", 0, kMost);
  arithmetic.attentionRoundings = reader.integer("attention_roundings", 0, kMost, 0);
  reader.finish();
  return arithmetic;
}

Response readResponse(JsonReader reader) {
  Response response;
  response.seeds = static_cast<int>(reader.integer("seeds", kFewestSeeds, 1 << 16));
  response.commit = reader.string("commit");
  JsonReader series = reader.object("series");
  for (const auto& [key, unused] : series.json().items()) response.series[key] = valuesIn(series, key);
  reader.finish();
  return response;
}

}  // namespace

void addTolerance(const Golden& golden, Json& json) {
  json["rules"] = Json::object();
  for (const auto& [metric, rule] : golden.rules.empty() ? defaultRules() : golden.rules)
    json["rules"][metric] = std::string(enumName(rule.kind)) + ": " + rule.reason;
  if (!golden.arithmetic) return;
  json["arithmetic"] = recordToJson(*golden.arithmetic);
  json["responses"] = Json::object();
  for (const auto& [unit, response] : golden.responses) {
    Json& one = json["responses"][unit];
    one = {{"seeds", response.seeds}, {"commit", response.commit}};
    one["series"] = Json::object();
    for (const auto& [key, values] : response.series) one["series"][key] = lineOf(values);
  }
}

void readTolerance(JsonReader& reader, Golden& golden) {
  if (reader.has("rules")) {
    JsonReader rules = reader.object("rules");
    for (const auto& [metric, unused] : rules.json().items()) golden.rules[metric] = readRule(rules, metric);
  }
  if (!reader.has("arithmetic")) return;
  golden.arithmetic = readArithmetic(reader.object("arithmetic"));
  JsonReader responses = reader.object("responses");
  for (const auto& [unit, unused] : responses.json().items())
    golden.responses[unit] = readResponse(responses.object(unit));
}

}  // namespace redraft::golden
