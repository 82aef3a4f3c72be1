#include "reports/layout.h"
#include "reports/printers.h"

namespace redraft::reports {
namespace {

std::string seconds(double value) { return formatNumber(value, 6); }

std::string attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + escapeXml(value) + "\"";
}

enum class Kind { kSuccess, kFailure, kError, kSkipped };

Kind kindOf(const CaseResult& result) {
  if (result.asExpected()) return Kind::kSuccess;
  switch (result.verdict) {
    case Verdict::kSkipped:
      return Kind::kSkipped;
    case Verdict::kAborted:
    case Verdict::kError:
      return Kind::kError;
    default:
      return Kind::kFailure;
  }
}

std::string messageOf(const CaseResult& result) {
  std::string message = std::string(enumName(result.verdict)) + ", expected " + enumName(result.expected.verdict);
  if (!result.expected.finding.empty()) message += " " + result.expected.finding;
  if (!result.findings.empty())
    message += ": " + result.findings.front().id + ": " + result.findings.front().title;
  else if (!result.reason.empty())
    message += ": " + result.reason;
  return message;
}

std::string testCase(const CaseResult& result) {
  const std::string text = printCase(result);
  std::string out = "  <testcase" + attribute("name", result.name) + attribute("classname", "redraft") +
                    attribute("time", seconds(result.figures.seconds)) + ">\n";
  const auto element = [&](const char* tag) {
    out += std::string("    <") + tag + attribute("message", messageOf(result)) +
           attribute("type", enumName(result.verdict)) + ">" + escapeXml(text) + "</" + tag + ">\n";
  };
  switch (kindOf(result)) {
    case Kind::kSuccess:
      break;
    case Kind::kFailure:
      element("failure");
      break;
    case Kind::kError:
      element("error");
      break;
    case Kind::kSkipped:
      out += "    <skipped" + attribute("message", messageOf(result)) + "/>\n";
      break;
  }
  return out + "    <system-out>" + escapeXml(text) + "</system-out>\n  </testcase>\n";
}

}  // namespace

std::string printJunit(const SuiteResult& suite) {
  std::map<Kind, int> counts;
  std::string cases;
  for (const CaseResult& each : suite.cases) {
    ++counts[kindOf(each)];
    cases += testCase(each);
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite" + attribute("name", "redraft") +
         attribute("tests", std::to_string(suite.cases.size())) +
         attribute("failures", std::to_string(counts[Kind::kFailure])) +
         attribute("errors", std::to_string(counts[Kind::kError])) +
         attribute("skipped", std::to_string(counts[Kind::kSkipped])) + attribute("time", seconds(suite.seconds)) +
         attribute("timestamp", suite.started) + ">\n" + cases + "</testsuite>\n";
}

}  // namespace redraft::reports
