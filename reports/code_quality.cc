// GitLab's code-quality report: what its merge requests compare between two branches, by fingerprint.
#include "reports/issue.h"
#include "reports/known_failures.h"
#include "reports/printers.h"

namespace redraft::reports {
namespace {

constexpr const char* kNoPath = "scenarios";  // the format wants one

const char* severityOf(Level level) {
  switch (level) {
    case Level::kError:
      return "critical";
    case Level::kWarning:
      return "minor";
    case Level::kNote:
      break;
  }
  return "info";
}

}  // namespace

std::string printCodeQuality(const SuiteResult& suite) {
  Json list = Json::array();
  for (const Issue& issue : issuesOf(suite)) {
    std::string text = (issue.result == nullptr ? "" : issue.result->name + ": ") + issue.title;
    if (issue.known != nullptr) text += " [known failure: " + describe(*issue.known) + "]";
    list.push_back({{"description", text},
                    {"check_name", issue.id},
                    {"fingerprint", issue.fingerprint},
                    {"severity", severityOf(issue.level)},
                    {"location", {{"path", issue.path.empty() ? kNoPath : issue.path}, {"lines", {{"begin", 1}}}}}});
  }
  return pretty(list);
}

}  // namespace redraft::reports
