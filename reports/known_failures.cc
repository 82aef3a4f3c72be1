#include "reports/known_failures.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/characters.h"
#include "base/error.h"
#include "base/text.h"
#include "reports/issue.h"

namespace redraft::reports {
namespace {

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

bool isDate(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto year = number(text.substr(0, 4)), month = number(text.substr(5, 2)), day = number(text.substr(8, 2));
  if (!year || !month || !day || *month < 1 || *day < 1) return false;
  using namespace std::chrono;
  return year_month_day(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                        std::chrono::day(static_cast<unsigned>(*day)))
      .ok();
}

void check(const KnownFailure& entry, const std::string& place) {
  const auto refuse = [&](const char* key, const std::string& message, const std::string& remedy) {
    throwBadInput(place + "/" + key, message, remedy);
  };
  if (isBlank(entry.scenario)) refuse("scenario", "it is empty", "write a scenario's name, or a glob");
  if (entry.finding.empty() == entry.fingerprint.empty())
    refuse("finding", "an entry names a finding or a fingerprint, one of the two",
           "write the id of the finding, as in the report, or its stable id");
  if (isBlank(entry.owner)) refuse("owner", "it is empty", "write who looks after this failure");
  if (isBlank(entry.reason)) refuse("reason", "it is empty", "write why it is borne");
  if (!isDate(entry.expires))
    refuse("expires", "\"" + printable(entry.expires) + "\" is no date", "write it as in 2026-12-31");
}

bool concerns(const KnownFailure& entry, const CaseResult& result) {
  return entry.scenario == result.name || globMatch(entry.scenario, result.name);
}

KnownState stateOf(const KnownFailure& entry, const SuiteResult& suite) {
  bool ran = false, allAsExpected = true;
  for (const CaseResult& each : suite.cases) {
    if (!concerns(entry, each) || each.verdict == Verdict::kAborted) continue;
    ran = true;
    allAsExpected = allAsExpected && each.asExpected();
    const std::vector<Issue> issues = issuesOf(each);
    if (std::any_of(issues.begin(), issues.end(), [&](const Issue& issue) { return covers(entry, issue); }))
      return KnownState::kMatched;
  }
  if (!ran) return KnownState::kNotRun;
  return allAsExpected ? KnownState::kPasses : KnownState::kUnmatched;
}

}  // namespace

KnownFailureList loadKnownFailures(const std::string& path) {
  const JsonDocument document = JsonDocument::load(path);
  const Json& root = document.root();
  if (!root.is_object() || root.value("schema", Json()) != kKnownFailuresSchema)
    throwBadInput(path, "not a list of known failures", std::string("expected the schema ") + kKnownFailuresSchema);
  KnownFailureList list = recordFromJson<KnownFailureList>(root, path + ": ");
  for (std::size_t i = 0; i < list.failures.size(); ++i) {
    const std::string pointer = "/failures/" + std::to_string(i);
    check(list.failures[i], path + ":" + std::to_string(document.line(pointer)) + ": " + pointer);
  }
  return list;
}

bool isExpired(const KnownFailure& entry, const std::string& today) { return entry.expires < today; }

void markKnown(const KnownFailureList& list, const std::string& today, CaseResult& result) {
  result.known.clear();
  std::vector<KnownFailure> used;
  for (const Issue& issue : issuesOf(result)) {
    const auto fits = [&](const KnownFailure& each) { return !isExpired(each, today) && covers(each, issue); };
    const auto entry = std::find_if(list.failures.begin(), list.failures.end(), fits);
    if (entry == list.failures.end()) return;
    if (std::find(used.begin(), used.end(), *entry) == used.end()) used.push_back(*entry);
  }
  result.known = std::move(used);
}

std::vector<KnownFailureUse> usesOf(const KnownFailureList& list, const std::string& today, const SuiteResult& suite) {
  std::vector<KnownFailureUse> uses;
  for (const KnownFailure& entry : list.failures)
    uses.push_back({entry, isExpired(entry, today) ? KnownState::kExpired : stateOf(entry, suite)});
  return uses;
}

std::string describe(const KnownFailure& entry) {
  return entry.scenario + " " + entry.finding + entry.fingerprint + " (owner " + entry.owner + ", until " +
         entry.expires + ": " + entry.reason + ")";
}

std::string problemOf(const KnownFailureUse& use) {
  switch (use.state) {
    case KnownState::kExpired:
      return "has expired: " + describe(use.entry);
    case KnownState::kPasses:
      return "passes now, remove it: " + describe(use.entry);
    case KnownState::kUnmatched:
      return "matched nothing, its scenario fails otherwise: " + describe(use.entry);
    case KnownState::kMatched:
    case KnownState::kNotRun:
      break;
  }
  return "";
}

}  // namespace redraft::reports
