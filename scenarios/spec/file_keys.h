#pragma once
// The keys that a scenario file has beside the scenario's own, and that are gone once it is resolved. They are not
// inherited.

#include <string>

#include "scenarios/spec/scenario.h"

namespace redraft::scenarios {

struct FileKeys {
  std::string extends;
  bool isAbstract = false;
  bool inSuite = true;
};

template <class Visitor>
void visitFileKeys(Visitor& visit, FileKeys& keys) {
  visit.constant("schema", kScenarioSchema, "format and version of this file");
  visit.text("extends", keys.extends, "name of the scenario that this one starts from; null takes a key away");
  visit.boolean("abstract", keys.isAbstract, "true: only to be extended, not run");
  visit.boolean("suite", keys.inSuite, "false: run only where a filter selects it");
  visit.matrix("matrix", "key.path → values: one scenario for each combination");
}

}  // namespace redraft::scenarios
