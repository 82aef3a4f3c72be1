#pragma once
// A run beside the golden that it would replace, change by change, and a golden made of those that were accepted. Pure
// but for reading the golden; scenarios/cli asks the questions.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "golden/golden.h"
#include "golden/values.h"

namespace redraft::golden {

/// One value that a run would change (golden/values.h says which keys there are). Peaks of memory are none: they are no
/// part of a verdict, and go with whatever else is accepted.
struct Change {
  std::string key;
  std::optional<std::string> before, after;  // absent: the golden, or the run, has no such value
  std::optional<std::string> theirs;         // of a merge conflict in this line: the other side's
  std::optional<std::uint64_t> ulp;          // between numbers; of gradients, between their L2 norms
  std::optional<double> relative;            // |Δ| / |before|; of gradients about, from the sketches
};

/// Changes of one metric, or of one parameter's gradient, in the steps that differ.
struct ChangeSeries {
  std::string series;  // "step/*/loss"
  std::vector<Change> changes;

  /// The change that is furthest off; the first where none has a number.
  const Change& furthest() const;
};

/// What a merge left beside our side of a golden.
struct MergedSide {
  std::string ours, theirs;  // what git calls them
  Golden golden;             // theirs
};

struct Review {
  std::string scenario, file;
  std::optional<Golden> golden;  // nullopt: there is none yet; of a merge conflict, our side
  std::optional<MergedSide> merged;
  Record run;
  std::vector<ChangeSeries> series;
  std::string whole;  // why it can be accepted as a whole alone; "": value by value too

  std::size_t changes() const;
  bool equal() const { return golden && !merged && series.empty(); }
};

/// Throws Error(kBadInput) when the run is not complete, or a golden is malformed but for a merge conflict.
Review reviewOf(const Record& run, const std::string& root, const std::string& scenario);

/// The golden with these keys as the run has them and all others as they were. Throws Error(kBadInput) when the two do
/// not go together (half of a new step), or nothing is accepted.
Golden accepted(const Review& review, const std::set<std::string>& keys, const Provenance& provenance,
                const AcrossMeans& means = {});

/// A change in a line: "1 → 1.5 (4.2e+06 ULP, 0.5 relative)".
std::string describe(const Change& change);
/// A series in a line: where it begins, how many steps, and the furthest.
std::string describe(const ChangeSeries& series);

}  // namespace redraft::golden
