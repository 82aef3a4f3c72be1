// GitHub's workflow commands: a line on standard output is shown beside the file in the pull request. GitHub keeps ten
// of a kind for a step and fifty for a job, and drops the others without a word.
#include "base/text.h"
#include "reports/issue.h"
#include "reports/known_failures.h"
#include "reports/printers.h"

namespace redraft::reports {
namespace {

constexpr std::size_t kMaxTitle = 200, kMaxMessage = 2000;  // bytes

/// What would end the line, or start an escape of GitHub's own.
std::string escaped(const std::string& text, bool property) {
  std::string out;
  for (const char c : text) {
    if (c == '%')
      out += "%25";
    else if (c == '\r')
      out += "%0D";
    else if (c == '\n')
      out += "%0A";
    else if (property && c == ':')
      out += "%3A";
    else if (property && c == ',')
      out += "%2C";
    else
      out += c;
  }
  return out;
}

const char* commandOf(Level level) {
  return level == Level::kError ? "error" : level == Level::kWarning ? "warning" : "notice";
}

std::string lineOf(const Issue& issue) {
  const std::string scenario = issue.result == nullptr ? "" : issue.result->name + ": ";
  std::string message = printable(issue.title, kMaxMessage) + "\nstable id " + issue.fingerprint;
  if (issue.known != nullptr) message += "\nknown failure: " + describe(*issue.known);
  if (issue.result != nullptr && !issue.result->replay.empty()) message += "\n" + issue.result->replay;
  std::string line = std::string("::") + commandOf(issue.level) + " ";
  if (!issue.path.empty()) line += "file=" + escaped(issue.path, true) + ",line=1,";
  return line + "title=" + escaped(printable(scenario + issue.id, kMaxTitle), true) + "::" + escaped(message, false) +
         "\n";
}

}  // namespace

std::string printAnnotations(const SuiteResult& suite) {
  const std::vector<Issue> issues = byLevel(issuesOf(suite));
  const std::size_t shown = issues.size() <= kMaxAnnotations ? issues.size() : kMaxAnnotations - 1;
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) out += lineOf(issues[i]);
  if (shown < issues.size())
    out += std::string("::") + commandOf(issues[shown].level) +
           " title=Redraft::" + std::to_string(issues.size() - shown) + " more; the report has all. " +
           escaped(summaryLine(suite), false) + "\n";
  return out;
}

}  // namespace redraft::reports
