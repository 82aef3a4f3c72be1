#include "base/error.h"
#include "reports/issue.h"
#include "reports/printers.h"

namespace redraft::reports {
namespace {

/// What is wrong with a case, with the name that it has in every format.
Json issuesJson(const CaseResult& result) {
  Json list = Json::array();
  for (const Issue& issue : issuesOf(result))
    list.push_back({{"id", issue.id},
                    {"fingerprint", issue.fingerprint},
                    {"level", enumName(issue.level)},
                    {"known", issue.known != nullptr}});
  return list;
}

}  // namespace

const Format* findFormat(std::string_view name) {
  for (const Format& format : kFormats)
    if (format.name == name) return &format;
  return nullptr;
}

std::string printJson(const SuiteResult& suite) {
  Json json = recordToJson(suite);
  for (std::size_t i = 0; i < suite.cases.size(); ++i) {
    json["cases"][i]["as_expected"] = suite.cases[i].asExpected();
    const Json issues = issuesJson(suite.cases[i]);
    if (!issues.empty()) json["cases"][i]["issues"] = issues;
  }
  return pretty(json);
}

SuiteResult loadReport(const std::string& path) {
  Json json = JsonDocument::load(path, JsonDocument::Comments::kRefuse).root();
  if (!json.is_object() || json.value("schema", "") != kReportSchema)
    throwBadInput(path, "not a report", std::string("expected the schema ") + kReportSchema);
  if (json.contains("cases") && json["cases"].is_array())
    for (Json& each : json["cases"])
      if (each.is_object())
        for (const char* derived : {"as_expected", "issues"}) each.erase(derived);
  return recordFromJson<SuiteResult>(json, path);
}

}  // namespace redraft::reports
