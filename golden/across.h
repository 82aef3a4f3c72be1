#pragma once
// A run beside a golden of another numerics class: within what rounding explains, or not. Weaker than bit for bit, and
// says by how much.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "golden/compare.h"
#include "golden/golden.h"

namespace redraft::golden {

/// One metric, or one parameter's gradient, over all steps.
struct AcrossSeries {
  std::string series;  // "loss", "gradient/fc.weight"
  MetricKind kind = MetricKind::kBits;
  std::size_t compared = 0;    // values that were held to a bound that is smaller than they are
  std::size_t unresolved = 0;  // whose bound is as large as they are, or unknown: they say nothing
  std::size_t beyond = 0;
  // At the step where most of the bound is used; the first where all are equal.
  std::int64_t step = 0;
  double observed = 0, bound = 0;  // ULP of float32 (kUlp), relative (kRelative), absolute (kStatistical)
  std::optional<std::int64_t> firstBeyond;
  /// The smallest relative error that would have been seen in some step: the smallest bound / |value|.
  double resolution = 0;

  double used() const;  // observed / bound; 0 where nothing was compared
};

/// What of a bound comes from one of a golden's responses.
struct RoundingPart {
  std::string unit;     // golden/tolerance.h
  double rounding = 0;  // of both classes, in units of its move
};

struct AcrossComparison {
  /// kEqual: every value is within its bound. kIncomparable: `reason`.
  Outcome outcome = Outcome::kIncomparable;
  std::string reason;
  std::string classes;               // what differs: "isa AVX2 against DEFAULT"
  std::vector<RoundingPart> parts;   // of every bound: independent, so that their squares add up
  double falseAlarms = 0;            // how often all this may fail two correct runs, at most
  std::vector<AcrossSeries> series;  // most used first
  std::optional<std::int64_t> firstBeyond;

  std::size_t compared() const;
  std::size_t unresolved() const;
};

/// `actual` has the golden's scenario, and another class. Incomparable where the golden has no response, or the two are
/// no runs of one training. Bounds hold for the worse of the two classes' arithmetic in each part.
AcrossComparison compareAcross(const Golden& expected, const Record& actual, const Arithmetic& actualArithmetic);

/// The golden of another class that `key` differs least from, among those that have a response.
std::optional<Golden> findNearestClass(const std::string& root, const std::string& scenario, const NumericsClass& key);

/// One line: "within the bound from cpu-…, weaker than bit for bit: at most 12 % of it used (gradient/fc.weight, step
/// 0)…".
std::string summaryOf(const AcrossComparison& comparison);
/// And a table of the series.
std::string describe(const AcrossComparison& comparison);

}  // namespace redraft::golden
