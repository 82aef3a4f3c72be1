#pragma once
// Comparators: pure functions of two records.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "golden/record.h"

namespace redraft::golden {

/// Distance in units in the last place: of float32 when both values are float32 values, else of float64. NaN against
/// NaN is 0, NaN or infinity against a number is the largest value.
std::uint64_t ulpDistance(double a, double b);

struct MetricDifference {
  std::int64_t step = 0;
  std::string metric;  // "loss", "parameters_hash", "evaluation.text_hash", "peak_bytes[6]", …
  std::string expected, actual;
  std::optional<std::uint64_t> ulp;  // numbers only
};

struct GradientDifference {
  std::int64_t step = 0;
  std::string parameter;
  double relative =
      0;  // estimated ‖Δ‖ / ‖expected‖ from the sketches; 0 when only the hash differs below its resolution
  double l2Expected = 0, l2Actual = 0;
};

enum class Outcome { kEqual, kDifferent, kIncomparable };

struct NumericsComparison {
  Outcome outcome = Outcome::kEqual;
  std::string reason;                     // why incomparable: which class field differs, or what one side lacks
  std::optional<std::int64_t> firstStep;  // first step at which anything differs
  std::vector<MetricDifference> metrics;
  /// Parameters whose gradients differ at the first step where any gradient does, largest relative difference first.
  std::vector<GradientDifference> gradients;
};

NumericsComparison compareNumerics(const Record& expected, const Record& actual);

/// The fields in which two classes differ: "isa AVX2 against DEFAULT, threads 1 against 2".
std::string classDifference(const NumericsClass& expected, const NumericsClass& actual);

/// Ratio actual / expected of the median tokens/s of a role, with the spread of both sides.
struct ThroughputRatio {
  std::string role;
  double expectedMedian = 0, actualMedian = 0;  // tokens/s
  double ratio = 0;
  double low = 0, high = 0;  // ratio of the quartiles against each other: (q1a/q3e, q3a/q1e)
};

struct ThroughputComparison {
  Outcome outcome = Outcome::kEqual;  // kEqual: comparable; the verdict is the reader's
  std::string reason;
  std::vector<ThroughputRatio> roles;
};

/// Informs only. Incomparable across performance classes, or where one side has fewer than two samples.
ThroughputComparison compareThroughput(const Record& expected, const Record& actual);

/// A few lines for people: first differing step, by how many ULP, which gradients first.
std::string describe(const NumericsComparison& comparison);
std::string describe(const ThroughputComparison& comparison);

}  // namespace redraft::golden
