#pragma once
// The part of a golden file that is for comparisons across classes.

#include "base/json.h"
#include "golden/golden.h"

namespace redraft::golden {

/// Adds "rules", and "arithmetic" and "responses" where there are any. A series is one line.
void addTolerance(const Golden& golden, Json& json);

/// Reads what addTolerance() wrote; absent keys leave what they are for empty. Throws Error(kBadInput).
void readTolerance(JsonReader& reader, Golden& golden);

}  // namespace redraft::golden
