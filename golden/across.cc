#include "golden/across.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "golden/distance.h"
#include "golden/student.h"

namespace redraft::golden {

namespace {

/// How often one whole comparison may fail two correct runs: shared out to its values (Bonferroni).
constexpr double kFalseAlarms = 1e-3;

double ulpOf(double value) {
  const double magnitude = std::fabs(value);
  return magnitude == 0 ? std::numeric_limits<float>::denorm_min() : std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

/// One value that both have.
struct Pair {
  std::string series;
  std::int64_t step = 0;
  std::size_t index = 0;  // of the step, in a response
  MetricRule rule;
  double expected = 0, actual = 0;
  double distance = 0;  // of gradients, relative
};

MetricRule ruleOf(const Golden& golden, const std::string& name) {
  const auto found = golden.rules.find(name);
  if (found != golden.rules.end()) return found->second;
  const auto usual = defaultRules().find(name);
  return usual == defaultRules().end() ? MetricRule{} : usual->second;
}

class Comparer {
 public:
  Comparer(const Golden& expected, const Record& actual, const Arithmetic& arithmetic)
      : expected_(expected), actual_(actual), arithmetic_(arithmetic) {}

  AcrossComparison run() {
    out_.classes = classDifference(expected_.record.numericsClass, actual_.numericsClass);
    out_.reason = incomparable();
    if (!out_.reason.empty()) return std::move(out_);
    collect();
    settleBounds();
    for (const Pair& pair : pairs_) judge(pair);
    finish();
    return std::move(out_);
  }

 private:
  std::string incomparable() {
    const Record& golden = expected_.record;
    if (golden.parameters != actual_.parameters || golden.steps.size() != actual_.steps.size())
      return "it has other parameters or steps than " + golden.origin;
    if (!expected_.arithmetic) return golden.origin + " does not say how long its sums are; bless it with --perturb";
    for (const std::string& unit : unitsOf(*expected_.arithmetic, arithmetic_)) {
      if (!expected_.responses.contains(unit))
        return golden.origin + " holds no response to a perturbation of " + unit + "; bless it with --perturb";
      const double own = roundingOf(*expected_.arithmetic, unit), other = roundingOf(arithmetic_, unit);
      out_.parts.push_back({unit, std::hypot(own, other)});
    }
    return "";
  }

  void collect() {
    const Record& golden = expected_.record;
    for (std::size_t s = 0; s < golden.steps.size(); ++s) {
      for (const auto& [name, value] : golden.steps[s].values) {
        const auto other = actual_.steps[s].values.find(name);
        const double given = other == actual_.steps[s].values.end() ? std::nan("") : other->second;
        add({name, golden.steps[s].step, s, ruleOf(expected_, name), value, given, 0});
      }
      for (std::size_t p = 0; p < golden.parameters.size() && kept(s); ++p) collectGradient(s, p);
    }
    if (!golden.evaluation || !actual_.evaluation) return;
    const std::int64_t after = golden.steps.back().step + 1;
    add({"evaluation/mean_accept_length", after, golden.steps.size(),
         ruleOf(expected_, "evaluation/mean_accept_length"), golden.evaluation->meanAcceptLength,
         actual_.evaluation->meanAcceptLength, 0});
  }

  bool kept(std::size_t s) const { return !expected_.record.gradients[s].empty() && !actual_.gradients[s].empty(); }

  void collectGradient(std::size_t s, std::size_t p) {
    const GradientDigest &own = expected_.record.gradients[s][p], &other = actual_.gradients[s][p];
    const std::string& name = expected_.record.parameters[p];
    const std::int64_t step = expected_.record.steps[s].step;
    add({"gradient_norm/" + name, step, s, ruleOf(expected_, "gradient_norm"), own.l2, other.l2, 0});
    add({"gradient/" + name, step, s, ruleOf(expected_, "gradient"), own.l2, other.l2, sketchDistance(own, other)});
  }

  void add(Pair pair) {
    if (pair.rule.kind != MetricKind::kBits) pairs_.push_back(std::move(pair));
  }

  /// Parts are independent: their squares add up, and what fewest runs know of counts for all.
  void settleBounds() {
    int seeds = std::numeric_limits<int>::max();
    std::map<std::string, std::vector<double>> squares;
    for (const RoundingPart& part : out_.parts) {
      const Response& response = expected_.responses.at(part.unit);
      seeds = std::min(seeds, response.seeds);
      for (const auto& [name, values] : response.series) addSquares(part, values, squares[name]);
    }
    out_.falseAlarms = kFalseAlarms;
    const double tail = kFalseAlarms / static_cast<double>(std::max<std::size_t>(1, pairs_.size()));
    const double quantile = studentQuantile(tail, seeds);
    for (auto& [name, values] : squares)
      for (const double square : values) bounds_[name].push_back(quantile * std::sqrt(square));
  }

  /// Of what was moved before the first step alone: roundings add up over the steps done so far, each answered at most
  /// as strongly as the strongest answer so far. What was moved in every step has added up by itself.
  static void addSquares(const RoundingPart& part, const std::vector<double>& response, std::vector<double>& squares) {
    squares.resize(std::max(squares.size(), response.size()));
    const bool everyStep = part.unit == kAttentionUnit;
    double most = 0;
    for (std::size_t s = 0; s < response.size(); ++s) {
      const double answer = response[s];  // NaN in a step without digests: then the bound is, too
      if (!std::isnan(answer)) most = std::max(most, answer);
      const double counted = everyStep || std::isnan(answer) ? answer : most * std::sqrt(static_cast<double>(s + 1));
      squares[s] += part.rounding * part.rounding * counted * counted;
    }
  }

  /// In the metric's own unit, not yet in ULP; NaN where nothing is known.
  double boundOf(const Pair& pair) const {
    if (pair.rule.kind == MetricKind::kExact) return 0;
    if (pair.rule.kind == MetricKind::kStatistical) return statisticalBound(pair);
    const auto found = bounds_.find(pair.series);
    return found == bounds_.end() || pair.index >= found->second.size() ? std::nan("") : found->second[pair.index];
  }

  /// Means of n numbers in [low, high] with this mean have a variance of at most (mean - low)(high - mean) / n (Bhatia
  /// and Davis, "A better bound on the variance", 2000); two of them, as if independent, differ by twice that.
  double statisticalBound(const Pair& pair) const {
    const Arithmetic& a = *expected_.arithmetic;
    const bool accuracy = pair.series == "accuracy";
    const double low = accuracy ? 0 : 1, high = accuracy ? 1 : static_cast<double>(a.blockSize);
    double count = static_cast<double>(accuracy ? a.predictions : a.blocks);
    if (pair.series.starts_with("evaluation/") && expected_.record.evaluation)
      count = static_cast<double>(expected_.record.evaluation->acceptLengths.size());
    const double mean = std::clamp((pair.expected + pair.actual) / 2, low, high);
    if (count < 1 || high <= low) return std::nan("");
    const double tail = kFalseAlarms / static_cast<double>(pairs_.size());
    // One decision more or less is always possible, also where all or none were right.
    return std::max((high - low) / count,
                    studentQuantile(tail, kManyDegrees) * std::sqrt(2 * (mean - low) * (high - mean) / count));
  }

  void judge(const Pair& pair) {
    AcrossSeries& series = seriesOf(pair);
    const bool gradient = pair.rule.kind == MetricKind::kRelative;
    const double scale = gradient ? pair.expected : std::max(std::fabs(pair.expected), std::fabs(pair.actual));
    double bound = boundOf(pair);
    double observed = gradient ? pair.distance : std::fabs(pair.expected - pair.actual);
    if (!std::isfinite(pair.expected) || !std::isfinite(pair.actual)) observed = same(pair) ? 0 : HUGE_VAL;
    if (gradient) bound /= std::fabs(pair.expected);
    const double relative = gradient ? bound : bound / scale;
    if (pair.rule.kind == MetricKind::kUlp && std::isfinite(pair.expected)) {
      observed /= ulpOf(pair.expected);
      bound /= ulpOf(pair.expected);
    }
    allEqual_ = allEqual_ && observed == 0;
    if (pair.rule.kind != MetricKind::kExact && !(relative < 1) && std::isfinite(observed))
      ++series.unresolved;
    else
      count(series, pair, observed, bound, relative);
  }

  static bool same(const Pair& pair) {
    return pair.expected == pair.actual || (std::isnan(pair.expected) && std::isnan(pair.actual));
  }

  void count(AcrossSeries& series, const Pair& pair, double observed, double bound, double relative) {
    const bool first = series.compared++ == 0;
    if (first || relative < series.resolution) series.resolution = relative;
    if (observed > bound) {
      ++series.beyond;
      series.firstBeyond = std::min(series.firstBeyond.value_or(pair.step), pair.step);
    }
    const auto share = [](double part, double whole) { return part == 0 ? 0 : part / whole; };
    if (!first && share(observed, bound) <= series.used()) return;
    series.step = pair.step;
    series.observed = observed;
    series.bound = bound;
  }

  AcrossSeries& seriesOf(const Pair& pair) {
    const auto [place, added] = places_.try_emplace(pair.series, out_.series.size());
    if (added) out_.series.push_back({pair.series, pair.rule.kind, 0, 0, 0, pair.step, 0, 0, std::nullopt, 0});
    return out_.series[place->second];
  }

  void finish() {
    for (const AcrossSeries& each : out_.series)
      if (each.firstBeyond)
        out_.firstBeyond = std::min(out_.firstBeyond.value_or(*each.firstBeyond), *each.firstBeyond);
    std::stable_sort(out_.series.begin(), out_.series.end(),
                     [](const AcrossSeries& a, const AcrossSeries& b) { return a.used() > b.used(); });
    out_.outcome = out_.firstBeyond ? Outcome::kDifferent : Outcome::kEqual;
    if (out_.firstBeyond || resolves() || allEqual_) return;
    out_.outcome = Outcome::kIncomparable;
    out_.reason = "every bound is as large as what it bounds: such a comparison could not fail";
  }

  /// Some number that rounding moves was held to a bound below itself.
  bool resolves() const {
    return std::any_of(out_.series.begin(), out_.series.end(), [](const AcrossSeries& each) {
      return each.compared > 0 && (each.kind == MetricKind::kUlp || each.kind == MetricKind::kRelative);
    });
  }

  static constexpr int kManyDegrees = 1000;  // a normal distribution, nearly

  const Golden& expected_;
  const Record& actual_;
  const Arithmetic& arithmetic_;
  bool allEqual_ = true;
  std::vector<Pair> pairs_;
  std::map<std::string, std::vector<double>> bounds_;
  std::map<std::string, std::size_t> places_;
  AcrossComparison out_;
};

}  // namespace

double AcrossSeries::used() const {
  if (observed == 0) return 0;
  return bound > 0 ? observed / bound : HUGE_VAL;
}

std::size_t AcrossComparison::compared() const {
  std::size_t count = 0;
  for (const AcrossSeries& each : series) count += each.compared;
  return count;
}

std::size_t AcrossComparison::unresolved() const {
  std::size_t count = 0;
  for (const AcrossSeries& each : series) count += each.unresolved;
  return count;
}

AcrossComparison compareAcross(const Golden& expected, const Record& actual, const Arithmetic& actualArithmetic) {
  return Comparer(expected, actual, actualArithmetic).run();
}

}  // namespace redraft::golden
