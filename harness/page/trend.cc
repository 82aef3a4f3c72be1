// The suites beside this one, from their own records.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "harness/page/parts.h"
#include "harness/suite_folder.h"
#include "harness/suite_record.h"

namespace redraft::harness {
namespace {

namespace fs = std::filesystem;

constexpr double kNotThere = std::numeric_limits<double>::quiet_NaN();

/// Folders of suites beside `own` and not newer than it, the oldest first; at most `most`, the newest.
std::vector<fs::path> olderSuites(const fs::path& own, std::size_t most) {
  std::vector<fs::path> suites;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(own.parent_path(), error)) {
    if (entry.is_symlink() || !entry.is_directory() || !fs::exists(entry.path() / kSuiteFile)) continue;
    if (entry.path().filename() < own.filename()) suites.push_back(entry.path());
  }
  std::sort(suites.begin(), suites.end());
  if (suites.size() > most) suites.erase(suites.begin(), suites.end() - static_cast<std::ptrdiff_t>(most));
  return suites;
}

double rateOf(const reports::CaseResult& result) {
  const auto all = result.figures.tokensPerSecond.find("all");
  return all == result.figures.tokensPerSecond.end() ? kNotThere : reports::rounded(all->second, 6);
}

void add(const reports::SuiteResult& suite, const std::string& name, reports::Trend& trend) {
  trend.suites.push_back({name, suite.started, suite.commit, suite.complete});
  for (const reports::CaseResult& result : suite.cases) {
    const auto own = trend.cases.find(result.name);
    if (own == trend.cases.end()) continue;
    own->second.verdicts.back() = enumName(result.verdict);
    own->second.expected.back() = result.asExpected();
    own->second.tokensPerSecond.back() = rateOf(result);
    own->second.lastLoss.back() = reports::rounded(result.figures.lastLoss.value_or(kNotThere), 7);
  }
}

void openColumn(reports::Trend& trend) {
  for (auto& [name, own] : trend.cases) {
    own.verdicts.emplace_back();
    own.expected.push_back(false);
    own.tokensPerSecond.push_back(kNotThere);
    own.lastLoss.push_back(kNotThere);
  }
}

}  // namespace

reports::Trend trendOf(const reports::SuiteResult& suite, const PageLimits& limits) {
  reports::Trend trend;
  for (const reports::CaseResult& result : suite.cases) trend.cases[result.name];
  const fs::path own = fs::absolute(suite.folder).lexically_normal();
  std::size_t unread = 0;
  for (const fs::path& folder : olderSuites(own, limits.suites)) {
    try {
      const reports::SuiteResult older = loadSuite(folder.string());
      openColumn(trend);
      add(older, folder.filename().string(), trend);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kBadInput) throw;
      ++unread;
    }
  }
  openColumn(trend);
  add(suite, own.filename().string(), trend);
  if (unread > 0)
    trend.note = std::to_string(unread) + " older suite" + (unread == 1 ? "" : "s") + " could not be read.";
  return trend;
}

}  // namespace redraft::harness
