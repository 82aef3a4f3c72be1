#pragma once
// How `run` and `report` draw the HTML report.

#include <string>

#include "harness/page/page.h"

namespace redraft::scenarios {

/// Each case with the plan that its run folder holds. `goldens`: a folder, or "".
harness::PageOptions pageOptions(const std::string& goldens);

}  // namespace redraft::scenarios
