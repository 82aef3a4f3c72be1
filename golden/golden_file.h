#pragma once
// The JSON form of goldens (redraft.golden/2): a line a value, and its whole key in that line, so that a diff and a
// merge conflict can be read without what is around them. Goldens of version 1 are read too.

#include <string>

#include "golden/golden.h"

namespace redraft::golden {

std::string numericsText(const Golden& golden);
std::string performanceText(const Golden& golden);

/// `place` stands for the file in messages. Throws Error(kBadInput) with place, line and key on anything malformed.
Golden parseGolden(const std::string& text, const std::string& place);

}  // namespace redraft::golden
