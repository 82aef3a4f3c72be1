#include "scenarios/cli/pages.h"

#include "scenarios/cli/plan.h"

namespace redraft::scenarios {

harness::PageOptions pageOptions(const std::string& goldens) {
  harness::PageOptions options;
  options.planOf = [](const reports::CaseResult& result) { return planOfRun(result.runFolder); };
  options.goldens = goldens;
  return options;
}

}  // namespace redraft::scenarios
