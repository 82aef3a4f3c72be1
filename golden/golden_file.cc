#include "golden/golden_file.h"

#include "base/error.h"
#include "base/json.h"
#include "golden/tolerance_json.h"
#include "golden/values.h"

namespace redraft::golden {

namespace {

Json stringsOf(const std::map<std::string, std::string>& fields) {
  Json out = Json::object();
  for (const auto& [key, value] : fields) out[key] = value;
  return out;
}

Json header(const Golden& golden, const char* kind, const std::map<std::string, std::string>& classFields) {
  const Provenance& p = golden.provenance;
  Json out;
  out["schema"] = "redraft.golden/2";
  out["kind"] = kind;
  out["scenario"] = golden.record.scenario;
  out["class"] = stringsOf(classFields);
  out["provenance"] = {{"reason", p.reason}, {"commit", p.commit},   {"version", p.version},
                       {"date", p.date},     {"command", p.command}, {"accepted", p.accepted}};
  out["provenance"]["environment"] = stringsOf(p.environment);
  out["history"] = golden.history;
  return out;
}

}  // namespace

std::string numericsText(const Golden& golden) {
  Json out = header(golden, "numerics", golden.record.numericsClass.fields);
  addTolerance(golden, out);
  out["parameters"] = golden.record.parameters;
  Json values = Json::object();
  // A thousand keys: appended as they come, for a look-up of each would go through all before it.
  for (Value& value : valuesOf(golden.record))
    values.get_ref<Json::object_t&>().Container::emplace_back(std::move(value.key), std::move(value.text));
  out["values"] = std::move(values);
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

}  // namespace redraft::golden
