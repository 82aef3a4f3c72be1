#include "base/error.h"
#include "reports/printers.h"

namespace redraft::reports {

std::string printJson(const SuiteResult& suite) {
  Json json = recordToJson(suite);
  for (std::size_t i = 0; i < suite.cases.size(); ++i) json["cases"][i]["as_expected"] = suite.cases[i].asExpected();
  return pretty(json);
}

SuiteResult loadReport(const std::string& path) {
  Json json = JsonDocument::load(path, JsonDocument::Comments::kRefuse).root();
  if (!json.is_object() || json.value("schema", "") != kReportSchema)
    throwBadInput(path, "not a report", std::string("expected the schema ") + kReportSchema);
  if (json.contains("cases") && json["cases"].is_array())
    for (Json& each : json["cases"])
      if (each.is_object()) each.erase("as_expected");  // derived
  return recordFromJson<SuiteResult>(json, path);
}

}  // namespace redraft::reports
