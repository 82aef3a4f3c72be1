#pragma once
// What `redraft compare` takes of a scenario, wherever it is stored: in a report, a suite's folder, a run folder or a
// golden. Reports hold no gradients: of numbers they say whether they are the same, not by how much they differ.

#include <string>
#include <vector>

#include "golden/record.h"
#include "golden/stored_throughput.h"

namespace redraft::scenarios {

struct ComparedCase {
  std::string name;
  std::string outcome;                  // "FAILED numerics/golden-mismatch"; "": a golden has none
  std::string digest;                   // of all numbers; "": none are stored
  golden::NumericsClass numericsClass;  // no fields: not known
  golden::StoredSide throughput;        // no rates: none is stored
};

/// All cases of a report or a suite's folder; the one of a run folder or a golden. Throws Error(kBadInput).
std::vector<ComparedCase> comparedCases(const std::string& path);

/// Of those in `cases` the one of this name; nullptr when there is none.
const ComparedCase* findCase(const std::vector<ComparedCase>& cases, const std::string& name);

/// What changed from one to the other but time; "" when nothing did.
std::string changeOf(const ComparedCase& before, const ComparedCase& now);

/// "19.4 Ktok/s → 19.2 Ktok/s (0.99 ×) SAME 1.0040 [0.9981, 1.0099]"; "" where one has no throughput.
std::string throughputText(const ComparedCase& before, const ComparedCase& now, const golden::StoredAnswer& answer);

}  // namespace redraft::scenarios
