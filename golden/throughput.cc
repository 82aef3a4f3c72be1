#include "golden/throughput.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/formatted.h"
#include "golden/quantile.h"
#include "golden/signed_rank.h"

namespace redraft::golden {
namespace {

constexpr double kLeastDrop = 0.02;        // of the clock
constexpr double kDropSpreads = 5;         // standard deviations
constexpr double kNormalScale = 1.4826;    // from a median deviation to a standard deviation
constexpr double kMostExcluded = 1 / 3.0;  // of the pairs
constexpr double kLopsided = 0.01;         // how rarely chance throttles one side so much more often

std::string percent(double ratio) { return formatted("%+.1f %%", 100 * (ratio - 1)); }

/// Below which a clock has dropped; 0 where no clock is known.
double clockFloor(const std::vector<BlockPair>& pairs) {
  std::vector<double> clocks;
  for (const BlockPair& pair : pairs)
    for (const Block* block : {&pair.a, &pair.b})
      if (block->clockMhz) clocks.push_back(*block->clockMhz);
  if (clocks.empty()) return 0;
  const double middle = medianOf(clocks);
  for (double& clock : clocks) clock = std::abs(clock - middle);
  return middle - std::max(kLeastDrop * middle, kDropSpreads * kNormalScale * medianOf(clocks));
}

std::string throttleOf(const char* side, const Block& block, double floor) {
  if (!block.slowdown.empty()) return std::string(side) + " throttled: " + block.slowdown;
  if (!block.clockMhz || *block.clockMhz >= floor) return "";
  return formatted("%s throttled: %.0f MHz, below the %.0f MHz that the others keep", side, *block.clockMhz, floor);
}

double meanRatio(const BlockPair& pair) {
  return pair.turns ? pair.turns->mean : pair.b.meanSeconds / pair.a.meanSeconds;
}

double cyclesRatio(const BlockPair& pair) { return timeRatio(pair) * *pair.b.clockMhz / *pair.a.clockMhz; }

std::optional<RatioInterval> intervalOf(const std::vector<const BlockPair*>& pairs,
                                        double (*ratio)(const BlockPair& pair), double error) {
  std::vector<double> logs;
  for (const BlockPair* pair : pairs) logs.push_back(std::log(ratio(*pair)));
  if (logs.empty()) return std::nullopt;
  const CentreInterval centre = centreOf(logs, error);
  return RatioInterval{std::exp(centre.centre), std::exp(centre.low), std::exp(centre.high)};
}

bool clocksKnown(const std::vector<const BlockPair*>& pairs) {
  return std::all_of(pairs.begin(), pairs.end(),
                     [](const BlockPair* pair) { return pair->a.clockMhz && pair->b.clockMhz; });
}

/// Of `count` tosses of a fair coin: how probable at least `most` of one side are.
double atLeast(int most, int count) {
  double term = std::pow(0.5, count), sum = 0;  // P(k heads), from k = 0
  for (int k = 0; k <= count; ++k) {
    if (k >= most) sum += term;
    term *= static_cast<double>(count - k) / (k + 1);
  }
  return std::min(1.0, 2 * sum);
}

/// Why what is left after throttled pairs says nothing; "": it does.
std::string exclusionProblem(const std::vector<std::string>& excluded) {
  int a = 0, b = 0;
  for (const std::string& why : excluded) {
    a += why.starts_with("A ") ? 1 : 0;
    b += why.starts_with("B ") ? 1 : 0;
  }
  const std::string counts = std::to_string(a + b) + " of " + std::to_string(excluded.size()) + " pairs were throttled";
  if (a + b > kMostExcluded * static_cast<double>(excluded.size()))
    return counts + ": too many to leave out; cool the machine, or lock its clocks";
  if (a + b > 0 && atLeast(std::max(a, b), a + b) < kLopsided)
    return counts + ", " + std::to_string(a) + " by A and " + std::to_string(b) + " by B: that is no accident";
  return "";
}

std::string ambiguityOf(const RatioInterval& interval, double margin) {
  if (std::isinf(interval.high)) return "too few pairs for an interval";
  const bool excludesNone = interval.low <= 1 && interval.high >= 1;
  const std::string limit = percent(1 + margin).substr(1);
  return excludesNone ? "no difference is shown, and one of more than " + limit + " is not excluded"
                      : "there is a difference, and it is not shown on which side of " + limit + " it lies";
}

void confirmInCycles(PairedAnswer& answer, double margin) {
  const bool moved = answer.verdict == ThroughputVerdict::kFaster || answer.verdict == ThroughputVerdict::kSlower;
  if (!moved || !answer.cycles || verdictOf(*answer.cycles, margin) == answer.verdict) return;
  answer.verdict = ThroughputVerdict::kAmbiguous;
  answer.reason = "time moved by " + percent(answer.time->ratio) + ", cycles did not (" +
                  percent(answer.cycles->ratio) + "): the clock moved";
}

}  // namespace

const char* verdictName(ThroughputVerdict verdict) {
  switch (verdict) {
    case ThroughputVerdict::kFaster:
      return "FASTER";
    case ThroughputVerdict::kSlower:
      return "SLOWER";
    case ThroughputVerdict::kSame:
      return "SAME";
    case ThroughputVerdict::kAmbiguous:
      return "AMBIGUOUS";
  }
  checkFailed(__FILE__, __LINE__, "verdictName", "a verdict without a name");
}

std::string ratioText(const RatioInterval& interval) {
  return formatted("%.4f [%.4f, %.4f]", interval.ratio, interval.low, interval.high);
}

std::vector<std::string> throttledPairs(const std::vector<BlockPair>& pairs) {
  const double floor = clockFloor(pairs);
  std::vector<std::string> excluded;
  for (const BlockPair& pair : pairs) {
    const std::string a = throttleOf("A", pair.a, floor), b = throttleOf("B", pair.b, floor);
    excluded.push_back(a.empty() || b.empty() ? a + b : "both: " + a + "; " + b);
  }
  return excluded;
}

ThroughputVerdict verdictOf(const RatioInterval& interval, double margin) {
  if (interval.low >= 1 / (1 + margin) && interval.high <= 1 + margin) return ThroughputVerdict::kSame;
  if (interval.low > 1 && interval.ratio >= 1 + margin) return ThroughputVerdict::kSlower;
  if (interval.high < 1 && interval.ratio <= 1 / (1 + margin)) return ThroughputVerdict::kFaster;
  return ThroughputVerdict::kAmbiguous;
}

double timeRatio(const BlockPair& pair) { return pair.turns ? pair.turns->seconds : pair.b.seconds / pair.a.seconds; }

double turnRatio(const std::vector<double>& a, const std::vector<double>& b, bool aFirst) {
  REDRAFT_CHECK(!a.empty() && a.size() == b.size(), "turns of both");
  std::vector<double> logs;  // of all turns as they came: the first one's are the even ones
  for (std::size_t i = 0; i < a.size(); ++i)
    for (const double seconds : {aFirst ? a[i] : b[i], aFirst ? b[i] : a[i]}) logs.push_back(std::log(seconds));
  std::vector<double> ratios = {logs[1] - logs[0]};  // of the second one to the first
  if (a.size() > 1) ratios.clear();
  for (std::size_t i = 1; i + 1 < logs.size(); ++i) {
    const double ratio = logs[i] - (logs[i - 1] + logs[i + 1]) / 2;
    ratios.push_back(i % 2 == 1 ? ratio : -ratio);
  }
  const double log = centreOf(ratios, 0.5).centre;
  return std::exp(aFirst ? log : -log);
}

PairedAnswer answerOf(const std::vector<BlockPair>& pairs, double margin, double error) {
  PairedAnswer answer;
  answer.excluded = throttledPairs(pairs);
  std::vector<const BlockPair*> kept;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (answer.excluded[i].empty()) kept.push_back(&pairs[i]);
  answer.pairs = static_cast<int>(kept.size());
  answer.time = intervalOf(kept, timeRatio, error);
  answer.mean = intervalOf(kept, meanRatio, error);
  if (clocksKnown(kept)) answer.cycles = intervalOf(kept, cyclesRatio, error);
  answer.reason = exclusionProblem(answer.excluded);
  if (!answer.time || !answer.reason.empty()) return answer;
  answer.verdict = verdictOf(*answer.time, margin);
  if (answer.verdict == ThroughputVerdict::kAmbiguous) answer.reason = ambiguityOf(*answer.time, margin);
  confirmInCycles(answer, margin);
  return answer;
}

std::vector<Look> planLooks(int pairs, double error) {
  REDRAFT_CHECK(pairs >= kFewestPairs, "a bench of too few pairs");
  // Early looks are for differences that nobody could miss, and cost the last one little.
  const std::pair<int, double> kEarly[] = {{8, 0.1}, {4, 0.2}, {2, 0.2}};
  std::vector<Look> looks;
  double left = error;
  for (const auto& [part, share] : kEarly) {
    if (pairs / part < kFewestPairs) continue;
    looks.push_back({pairs / part, share * error});
    left -= looks.back().error;
  }
  looks.push_back({pairs, left});
  return looks;
}

}  // namespace redraft::golden
