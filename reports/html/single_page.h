#pragma once
// The page of one thing that is no suite: a run or trace, a bench, a divergence. It is made like a suite's page.

#include <string>

#include "base/json.h"
#include "reports/result.h"

namespace redraft::reports {

/// The keys that assets/app.js knows a view for, and what each holds.
namespace single {
inline constexpr const char* kRun = "run";                // name, about, details (CaseDetails), result (of caseForPage)
inline constexpr const char* kBench = "bench";            // record (redraft.bench/1 without samples), pairs
inline constexpr const char* kDivergence = "divergence";  // redraft.divergence/1
}  // namespace single

struct SinglePage {
  std::string kind;   // of the above
  std::string title;  // of the document
  std::string plain;  // what it says without scripts
  Json data;
};

/// A case as the page shows it: redraft.case/1 and `shown`, words that every printer has.
Json caseForPage(const CaseResult& result);

/// One HTML document, as printPage().
std::string printSinglePage(const SinglePage& page);

}  // namespace redraft::reports
