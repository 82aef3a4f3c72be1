// SARIF 2.1.0 (OASIS), with what GitHub's code scanning asks for beyond it: a rule's texts, a physical location, and
// its own key among the partial fingerprints. A known failure is a suppressed result.
#include <algorithm>

#include "reports/issue.h"
#include "reports/known_failures.h"
#include "reports/layout.h"
#include "reports/printers.h"

namespace redraft::reports {
namespace {

constexpr const char* kSchemaUri = "https://json.schemastore.org/sarif-2.1.0.json";

/// "kernel-cache/shared-handle" → "kernel cache: shared handle".
std::string spokenId(const std::string& id) {
  std::string text;
  for (const char c : id) {
    if (c == '/')
      text += ": ";
    else
      text += c == '-' ? ' ' : c;
  }
  return text;
}

Json textOf(const std::string& text) { return {{"text", text}}; }

Json ruleOf(const std::string& id) {
  return {{"id", id},
          {"shortDescription", textOf(spokenId(id))},
          {"fullDescription", textOf("Redraft: " + spokenId(id) + ". See docs/formats.md, \"Findings\".")},
          {"help", textOf("docs/formats.md, \"Findings\", says what was seen and what it excludes.")},
          {"defaultConfiguration", {{"level", "error"}}}};
}

Json propertiesOf(const Issue& issue) {
  Json properties = {{"verdict", enumName(issue.result->verdict)}, {"scenario", issue.result->name}};
  if (issue.count > 1) properties["count"] = issue.count;
  if (!issue.result->replay.empty()) properties["replay"] = issue.result->replay;
  if (issue.finding == nullptr) return properties;
  if (issue.finding->step >= 0) properties["step"] = issue.finding->step;
  if (!issue.finding->phase.empty()) properties["phase"] = issue.finding->phase;
  if (issue.finding->device) properties["device"] = *issue.finding->device;
  return properties;
}

Json locationOf(const Issue& issue) {
  Json location = Json::object();
  if (!issue.path.empty())
    location["physicalLocation"] = {{"artifactLocation", {{"uri", uriOfPath(issue.path)}}},
                                    {"region", {{"startLine", 1}}}};
  if (issue.result == nullptr) return location;
  const std::string role = issue.finding == nullptr ? "" : issue.finding->role;
  Json logical = {{"fullyQualifiedName", issue.result->name + (role.empty() ? "" : ":" + role)}, {"kind", "scenario"}};
  if (!role.empty()) logical["name"] = role;
  location["logicalLocations"] = Json::array({logical});
  return location;
}

Json resultOf(const Issue& issue, std::size_t rule) {
  const std::string scenario = issue.result == nullptr ? "" : issue.result->name + ": ";
  Json result = {{"ruleId", issue.id},
                 {"ruleIndex", rule},
                 {"kind", "fail"},
                 {"level", enumName(issue.level)},
                 {"message", textOf(scenario + issue.title)},
                 {"locations", Json::array({locationOf(issue)})},
                 {"partialFingerprints",
                  {{"redraftFinding/v1", issue.fingerprint}, {"primaryLocationLineHash", issue.fingerprint + ":1"}}}};
  if (issue.known != nullptr)
    result["suppressions"] = Json::array({{{"kind", "external"}, {"justification", describe(*issue.known)}}});
  if (issue.result != nullptr) result["properties"] = propertiesOf(issue);
  return result;
}

}  // namespace

std::string printSarif(const SuiteResult& suite) {
  std::vector<std::string> ids;
  Json results = Json::array(), rules = Json::array();
  for (const Issue& issue : issuesOf(suite)) {
    const auto known = std::find(ids.begin(), ids.end(), issue.id);
    results.push_back(resultOf(issue, static_cast<std::size_t>(known - ids.begin())));
    if (known != ids.end()) continue;
    ids.push_back(issue.id);
    rules.push_back(ruleOf(issue.id));
  }
  Json invocation = {{"executionSuccessful", suite.complete}};
  if (!suite.started.empty()) invocation["startTimeUtc"] = suite.started;
  const Json driver = {
      {"name", "Redraft"}, {"version", suite.version}, {"rules", rules}, {"properties", {{"commit", suite.commit}}}};
  const Json run = {{"tool", {{"driver", driver}}},
                    {"automationDetails", {{"id", "redraft/"}}},
                    {"invocations", Json::array({invocation})},
                    {"results", results}};
  return pretty({{"$schema", kSchemaUri}, {"version", "2.1.0"}, {"runs", Json::array({run})}});
}

}  // namespace redraft::reports
