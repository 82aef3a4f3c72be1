#include "golden/stored_throughput.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/formatted.h"
#include "golden/quantile.h"
#include "golden/student.h"

namespace redraft::golden {
namespace {

constexpr const char* kAll = "all";

double meanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> logsOf(const Rates& rates) {
  std::vector<double> logs;
  for (const double rate : rates) logs.push_back(std::log(rate));
  return logs;
}

/// Sum of squares about the mean, and its degrees of freedom, over all sets.
struct Pooled {
  double squares = 0;
  int degrees = 0;
  void add(const std::vector<double>& logs) {
    if (logs.size() < 2) return;
    const double middle = meanOf(logs);
    for (const double each : logs) squares += (each - middle) * (each - middle);
    degrees += static_cast<int>(logs.size()) - 1;
  }
};

/// Of the differences of runs next to each other, two by two, as a bench would pair them.
struct Neighbours {
  double squares = 0;
  int pairs = 0;
  void add(const std::vector<double>& logs) {
    for (std::size_t i = 0; i + 1 < logs.size(); i += 2, ++pairs) squares += std::pow(logs[i + 1] - logs[i], 2);
  }
};

std::string problemOf(const StoredSide& a, const StoredSide& b) {
  if (!a.performanceClass || !b.performanceClass) return "one side does not say on which machine it was measured";
  if (!(*a.performanceClass == *b.performanceClass))
    return "another machine: " + a.performanceClass->name() + " against " + b.performanceClass->name();
  if (a.rates.empty() || b.rates.empty()) return "one side has no throughput";
  return "";
}

}  // namespace

StoredSide storedSide(const Record& run) {
  StoredSide side{run.performanceClass, {}};
  const auto samples = run.samples.find(kAll);
  if (samples != run.samples.end() && !samples->second.tokensPerSecond.empty())
    side.rates = {medianOf(samples->second.tokensPerSecond)};
  return side;
}

StoredSide storedSide(const Golden& golden) {
  const auto repeated = golden.runRates.find(kAll);
  if (repeated == golden.runRates.end()) return storedSide(golden.record);
  return {golden.record.performanceClass, repeated->second};
}

StoredAnswer compareStored(const StoredSide& a, const StoredSide& b, const std::vector<Rates>& recorded, double margin,
                           double error) {
  StoredAnswer answer;
  answer.reason = problemOf(a, b);
  if (!answer.reason.empty()) return answer;
  Pooled pooled;
  Neighbours neighbours;
  std::vector<Rates> sets = recorded;
  for (const StoredSide* side : {&a, &b})
    if (std::find(sets.begin(), sets.end(), side->rates) == sets.end()) sets.push_back(side->rates);
  for (const Rates& set : sets) {
    pooled.add(logsOf(set));
    neighbours.add(logsOf(set));
  }
  if (pooled.degrees == 0) {
    answer.reason =
        "one run a side, and no golden of this machine holds how far repeated runs are apart: record it by "
        "`redraft bless RUN --repeats RUN…`, or run `redraft bench`";
    return answer;
  }
  answer.degrees = pooled.degrees;
  answer.spread = std::sqrt(pooled.squares / pooled.degrees);
  const double runs = 1.0 / static_cast<double>(a.rates.size()) + 1.0 / static_cast<double>(b.rates.size());
  const double centre = meanOf(logsOf(a.rates)) - meanOf(logsOf(b.rates));  // of times, B over A
  answer.half = studentQuantile(error, pooled.degrees) * answer.spread * std::sqrt(runs);
  answer.time = RatioInterval{std::exp(centre), std::exp(centre - answer.half), std::exp(centre + answer.half)};
  if (neighbours.pairs > 0)
    answer.pairedHalf =
        studentQuantile(error, kFewestPairs - 1) * std::sqrt(neighbours.squares / neighbours.pairs / kFewestPairs);
  answer.verdict = verdictOf(*answer.time, margin);
  if (answer.verdict == ThroughputVerdict::kAmbiguous)
    answer.reason = "the interval does not decide: `redraft bench` runs both in turns";
  return answer;
}

std::string describe(const StoredAnswer& answer) {
  std::string text = std::string("throughput: ") + verdictName(answer.verdict);
  if (answer.time) text += ", time of B over time of A " + ratioText(*answer.time);
  if (!answer.reason.empty()) text += ": " + answer.reason;
  text += "\n";
  if (!answer.time) return text;
  text +=
      formatted("  from stored runs, with a spread of %.2f %% between repeated ones (%d degrees of freedom): ± %.1f %%",
                100 * answer.spread, answer.degrees, 100 * answer.half);
  if (answer.pairedHalf)
    text += formatted("; a bench of %d pairs, by turns, about ± %.1f %%", kFewestPairs, 100 * *answer.pairedHalf);
  return text + "\n";
}

}  // namespace redraft::golden
