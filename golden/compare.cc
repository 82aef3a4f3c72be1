#include "golden/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "base/json.h"
#include "golden/distance.h"
#include "golden/quantile.h"

namespace redraft::golden {

namespace {

template <class Bits, class Value>
std::uint64_t latticeDistance(Value a, Value b) {
  // Maps the sign-magnitude order of floats to a monotone order of integers, so that neighbours differ by one.
  const auto ordered = [](Value value) {
    const auto bits = std::bit_cast<Bits>(value);
    const Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
    return (bits & sign) != 0 ? static_cast<Bits>(~bits + 1) : static_cast<Bits>(bits | sign);
  };
  const Bits x = ordered(a), y = ordered(b);
  return x > y ? x - y : y - x;
}

bool isFloat32(double value) { return static_cast<double>(static_cast<float>(value)) == value; }

bool sameBits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

void addNumber(NumericsComparison& out, std::int64_t step, const std::string& metric, double expected, double actual) {
  if (sameBits(expected, actual)) return;
  out.metrics.push_back({step, metric, toHexFloat(expected), toHexFloat(actual), ulpDistance(expected, actual)});
}

void addText(NumericsComparison& out, std::int64_t step, const std::string& metric, const std::string& expected,
             const std::string& actual) {
  if (expected != actual) out.metrics.push_back({step, metric, expected, actual, std::nullopt});
}

void compareStep(NumericsComparison& out, const StepMetrics& expected, const StepMetrics& actual) {
  for (const auto& [name, value] : expected.values) {
    const auto other = actual.values.find(name);
    if (other == actual.values.end()) {
      addText(out, expected.step, name, toHexFloat(value), "absent");
    } else {
      addNumber(out, expected.step, name, value, other->second);
    }
  }
  for (const auto& [name, value] : actual.values) {
    if (!expected.values.contains(name)) addText(out, expected.step, name, "absent", toHexFloat(value));
  }
  addText(out, expected.step, "parameters_hash", expected.parametersHash, actual.parametersHash);
}

/// Of what is expected; the difference itself where that is 0.
double relativeDifference(const GradientDigest& expected, const GradientDigest& actual) {
  const double difference = sketchDifference(expected, actual);
  return expected.l2 > 0 ? difference / expected.l2 : difference;
}

void compareGradients(NumericsComparison& out, const Record& expected, const Record& actual) {
  const std::size_t steps = std::min(expected.gradients.size(), actual.gradients.size());
  for (std::size_t s = 0; s < steps && out.gradients.empty(); ++s) {
    const bool kept = !expected.gradients[s].empty();
    addText(out, expected.steps[s].step, "gradients", kept ? "kept" : "not kept",
            !actual.gradients[s].empty() ? "kept" : "not kept");
    if (!kept || actual.gradients[s].empty()) continue;
    for (std::size_t p = 0; p < expected.parameters.size(); ++p) {
      const GradientDigest& e = expected.gradients[s][p];
      const GradientDigest& a = actual.gradients[s][p];
      if (e.hash == a.hash && sameBits(e.l2, a.l2) && sameBits(e.max, a.max)) continue;
      out.gradients.push_back({expected.steps[s].step, expected.parameters[p], relativeDifference(e, a), e.l2, a.l2});
    }
  }
  std::stable_sort(out.gradients.begin(), out.gradients.end(),
                   [](const auto& x, const auto& y) { return x.relative > y.relative; });
}

/// Last metrics, which belong to no step: they count as after the last one.
void compareWhole(NumericsComparison& out, const Record& expected, const Record& actual) {
  const std::int64_t after = expected.steps.empty() ? 0 : expected.steps.back().step + 1;
  addText(out, after, "steps", std::to_string(expected.steps.size()), std::to_string(actual.steps.size()));
  addText(out, after, "evaluation", expected.evaluation ? "present" : "absent",
          actual.evaluation ? "present" : "absent");
  if (expected.evaluation && actual.evaluation) {
    addNumber(out, after, "evaluation.mean_accept_length", expected.evaluation->meanAcceptLength,
              actual.evaluation->meanAcceptLength);
    addText(out, after, "evaluation.text_hash", expected.evaluation->textHash, actual.evaluation->textHash);
    if (expected.evaluation->acceptLengths != actual.evaluation->acceptLengths) {
      addText(out, after, "evaluation.accept_lengths",
              std::to_string(expected.evaluation->acceptLengths.size()) + " rounds",
              std::to_string(actual.evaluation->acceptLengths.size()) + " rounds, of other lengths");
    }
  }
}

bool incomparable(NumericsComparison& out, const Record& expected, const Record& actual) {
  if (!(expected.numericsClass == actual.numericsClass)) {
    out.reason = "another numerics class: " + classDifference(expected.numericsClass, actual.numericsClass);
  } else if (expected.steps.empty() || actual.steps.empty()) {
    out.reason = (expected.steps.empty() ? expected.origin : actual.origin) + " holds no step";
  } else if (expected.parameters != actual.parameters) {
    out.reason = "the parameters are not the same ones: " + std::to_string(expected.parameters.size()) + " against " +
                 std::to_string(actual.parameters.size()) + " names";
  } else if (expected.gradients.size() != expected.steps.size() || actual.gradients.size() != actual.steps.size()) {
    out.reason = "one side lacks gradient digests";
  }
  return !out.reason.empty();
}

ThroughputRatio ratioOf(const std::string& role, const std::vector<double>& expected,
                        const std::vector<double>& actual) {
  ThroughputRatio out;
  out.role = role;
  out.expectedMedian = quantileOf(expected, 0.5);
  out.actualMedian = quantileOf(actual, 0.5);
  out.ratio = out.actualMedian / out.expectedMedian;
  out.low = quantileOf(actual, 0.25) / quantileOf(expected, 0.75);
  out.high = quantileOf(actual, 0.75) / quantileOf(expected, 0.25);
  return out;
}

}  // namespace

std::uint64_t ulpDistance(double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (a == b) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<std::uint64_t>::max();
  if (isFloat32(a) && isFloat32(b)) {
    return latticeDistance<std::uint32_t>(static_cast<float>(a), static_cast<float>(b));
  }
  return latticeDistance<std::uint64_t>(a, b);
}

std::string classDifference(const NumericsClass& expected, const NumericsClass& actual) {
  std::set<std::string> keys;
  for (const auto& [key, value] : expected.fields) keys.insert(key);
  for (const auto& [key, value] : actual.fields) keys.insert(key);
  const auto get = [](const NumericsClass& from, const std::string& key) {
    const auto found = from.fields.find(key);
    return found == from.fields.end() ? std::string("absent") : found->second;
  };
  std::string text;
  for (const std::string& key : keys) {
    if (get(expected, key) == get(actual, key)) continue;
    text += (text.empty() ? "" : ", ") + key + " " + get(expected, key) + " against " + get(actual, key);
  }
  return text;
}

NumericsComparison compareNumerics(const Record& expected, const Record& actual) {
  NumericsComparison out;
  if (incomparable(out, expected, actual)) {
    out.outcome = Outcome::kIncomparable;
    return out;
  }
  const std::size_t steps = std::min(expected.steps.size(), actual.steps.size());
  for (std::size_t i = 0; i < steps; ++i) compareStep(out, expected.steps[i], actual.steps[i]);
  compareWhole(out, expected, actual);
  compareGradients(out, expected, actual);
  for (const MetricDifference& difference : out.metrics) {
    out.firstStep = std::min(out.firstStep.value_or(difference.step), difference.step);
  }
  if (!out.gradients.empty()) {
    out.firstStep = std::min(out.firstStep.value_or(out.gradients[0].step), out.gradients[0].step);
  }
  out.outcome = out.firstStep ? Outcome::kDifferent : Outcome::kEqual;
  return out;
}

ThroughputComparison compareThroughput(const Record& expected, const Record& actual) {
  ThroughputComparison out;
  if (!expected.performanceClass || !actual.performanceClass) {
    out.reason = "one side does not say on which machine it was measured";
  } else if (!(*expected.performanceClass == *actual.performanceClass)) {
    out.reason =
        "another machine: " + expected.performanceClass->name() + " against " + actual.performanceClass->name();
  }
  if (!out.reason.empty()) {
    out.outcome = Outcome::kIncomparable;
    return out;
  }
  constexpr std::size_t kFewest = 2;
  for (const auto& [role, samples] : expected.samples) {
    const auto other = actual.samples.find(role);
    if (other == actual.samples.end()) continue;
    if (samples.tokensPerSecond.size() < kFewest || other->second.tokensPerSecond.size() < kFewest) continue;
    out.roles.push_back(ratioOf(role, samples.tokensPerSecond, other->second.tokensPerSecond));
  }
  if (out.roles.empty()) {
    out.outcome = Outcome::kIncomparable;
    out.reason = "no role has two samples on both sides";
  }
  return out;
}

}  // namespace redraft::golden
