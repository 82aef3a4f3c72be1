#pragma once
// Failures that are known: who looks after each, why it is borne, and until when. A known failure does not fail a
// suite, is never counted as passed, and comes back when its entry expires. docs/ci.md, "Known failures".

#include <string>
#include <vector>

#include "reports/result.h"

namespace redraft::reports {

inline constexpr const char* kKnownFailuresSchema = "redraft.known-failures/1";

/// The file.
struct KnownFailureList {
  std::string schema = kKnownFailuresSchema;
  std::vector<KnownFailure> failures;
  std::string jsonSchema = "";  // where an editor finds the JSON Schema
  template <class Visitor>
  void fields(Visitor& visit) {
    visit.unless("$schema", jsonSchema, "");
    visit("schema", schema);
    visit("failures", failures);
  }
};

/// Throws Error(kBadInput) when an entry lacks a key, names neither or both of finding and fingerprint, says nothing as
/// owner or reason, or expires on no date of the calendar.
KnownFailureList loadKnownFailures(const std::string& path);

/// `today` is a date as in "2026-11-30", in UTC. An entry holds through the day on which it expires.
bool isExpired(const KnownFailure& entry, const std::string& today);

/// Sets result.known: the entries that cover what is wrong with a case that is not as expected, when together they
/// cover all of it; else none, so that a new finding is never hidden behind a known one. Expired entries cover nothing.
void markKnown(const KnownFailureList& list, const std::string& today, CaseResult& result);

/// What became of each entry in a suite.
std::vector<KnownFailureUse> usesOf(const KnownFailureList& list, const std::string& today, const SuiteResult& suite);

/// "dual-drafter/* replicas/drift (owner @a, until 2026-12-31: flaky link)".
std::string describe(const KnownFailure& entry);

/// "… matched nothing"; "" for an entry that did its work or whose scenario was not run.
std::string problemOf(const KnownFailureUse& use);

}  // namespace redraft::reports
