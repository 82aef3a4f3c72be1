#pragma once
// Pages of one run, or of traces, without a suite.

#include <optional>
#include <string>
#include <vector>

#include "harness/case_plan.h"
#include "harness/page/page.h"

namespace redraft::harness {

/// The page of a run folder, with the verdict that lies in it, if any. `options.planOf` is not asked.
std::string runPage(const std::string& folder, const CasePlan& plan, const PageOptions& options);

/// Of traces, by any tool that writes Kineto JSON, or of ours: timeline, attribution, and which device did what.
/// `paths`: files or folders. Throws Error(kBadInput).
std::string tracePage(const std::string& name, const std::vector<std::string>& paths,
                      const std::optional<PageReference>& reference, const PageLimits& limits);

}  // namespace redraft::harness
