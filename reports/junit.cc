#include <cmath>

#include "base/formatted.h"
#include "base/text.h"
#include "reports/issue.h"
#include "reports/known_failures.h"
#include "reports/layout.h"
#include "reports/printers.h"

namespace redraft::reports {
namespace {

/// Never with an exponent, which readers of the format refuse.
std::string seconds(double value) { return formatted("%.3f", std::isfinite(value) && value > 0 ? value : 0.0); }

std::string attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + escapeXml(value) + "\"";
}

enum class Kind { kSuccess, kFailure, kError, kSkipped };

Kind kindOf(const CaseResult& result) {
  if (result.asExpected()) return Kind::kSuccess;
  if (result.isKnownFailure()) return Kind::kSkipped;
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
  std::string message = verdictText(result);
  if (!result.findings.empty())
    message += ": " + result.findings.front().id + ": " + result.findings.front().title;
  else if (!result.reason.empty())
    message += ": " + result.reason;
  if (!result.isKnownFailure()) return message;
  std::vector<std::string> entries;
  for (const KnownFailure& entry : result.known) entries.push_back(describe(entry));
  return "known failure: " + join(entries, "; ") + ": " + message;
}

/// A suite that fails for an entry alone must not look green.
std::string expiredCase(const KnownFailureUse& use) {
  const std::string name = use.entry.scenario + " " + use.entry.finding + use.entry.fingerprint;
  return "  <testcase" + attribute("name", name) + attribute("classname", "redraft.known-failures") +
         attribute("time", seconds(0)) + ">\n    <failure" + attribute("message", problemOf(use)) +
         attribute("type", "known-failures/expired") + "/>\n  </testcase>\n";
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
  std::size_t expired = 0;
  for (const KnownFailureUse& use : suite.known) {
    if (use.state != KnownState::kExpired) continue;
    ++expired;
    ++counts[Kind::kFailure];
    cases += expiredCase(use);
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite" + attribute("name", "redraft") +
         attribute("tests", std::to_string(suite.cases.size() + expired)) +
         attribute("failures", std::to_string(counts[Kind::kFailure])) +
         attribute("errors", std::to_string(counts[Kind::kError])) +
         attribute("skipped", std::to_string(counts[Kind::kSkipped])) + attribute("time", seconds(suite.seconds)) +
         attribute("timestamp", suite.started) + ">\n" + cases + "</testsuite>\n";
}

}  // namespace redraft::reports
