#pragma once

#include "base/json.h"

namespace redraft::scenarios {

/// The JSON Schema (2020-12) of scenario files, made from the fields that the parser reads. Published as
/// scenarios/schema/scenario.schema.json; a test keeps the two equal.
Json scenarioSchema();

}  // namespace redraft::scenarios
