#pragma once
// What goldens and run folders say in the same words.

#include <map>
#include <string>

#include "base/json.h"
#include "golden/record.h"

namespace redraft::golden {

/// A number written as a hex float. Throws Error(kBadInput), with the place.
double readHexFloat(JsonReader& reader, const std::string& key);
/// All keys, whose values are texts.
std::map<std::string, std::string> readTexts(JsonReader reader);
Evaluation readEvaluation(JsonReader& reader);

}  // namespace redraft::golden
