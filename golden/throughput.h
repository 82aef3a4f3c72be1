#pragma once
// Which of two is faster, from blocks that were run in turns: pure functions. docs/throughput.md derives them.
//
// A block is one run; its time is the median of its steps. A pair is a block of A and one of B side by side, or by
// turns of a few steps, in an order that a fair coin chose. Of two identical builds the logarithm of a pair's ratio is
// then as likely positive as negative, whatever the machine did meanwhile: that, and no distribution of times, is what
// the error rests on.

#include <optional>
#include <string>
#include <vector>

namespace redraft::golden {

enum class ThroughputVerdict { kFaster, kSlower, kSame, kAmbiguous };
const char* verdictName(ThroughputVerdict verdict);  // "FASTER", … ; of B

/// Time of B over time of A.
struct RatioInterval {
  double ratio = 1;
  double low = 0, high = 0;  // high may be infinite: too few pairs
  bool operator==(const RatioInterval&) const = default;
};

/// "1.021 [1.013, 1.029]".
std::string ratioText(const RatioInterval& interval);

struct Block {
  double seconds = 0;              // of a step, or of a token: the median of the block
  double meanSeconds = 0;          // the mean, which slow steps that are few move too
  std::optional<double> clockMhz;  // of the multiprocessors while the steps ran; nullopt: not known
  std::string slowdown;            // why the GPU says that it slowed its clock: "thermal"; "": it does not
};

/// Time of B over time of A in a pair whose blocks ran at once, by turns: from turns side by side alone.
struct TurnRatio {
  double seconds = 1, mean = 1;  // of the turns' medians, and of their means
};

struct BlockPair {
  Block a, b;
  std::optional<TurnRatio> turns = std::nullopt;  // nullopt: they ran one after the other
};

/// Time of B over time of A.
double timeRatio(const BlockPair& pair);

/// Hodges and Lehmann's centre of the ratios of each turn to the two of the other one before and after it. `a[i]` and
/// `b[i]` are the times of the i-th turns; A's came first, or B's. What the machine does to neighbours alike, and a
/// drift, are not in it, and A and B with their names exchanged give its reciprocal. At least one turn each, of equal
/// number.
double turnRatio(const std::vector<double>& a, const std::vector<double>& b, bool aFirst);

/// Why a pair is left out; "": it is not. A block is throttled where its GPU says so, or its clock is below the median
/// of all blocks by more than 2 % and by more than five times their spread (the median deviation from it, scaled to a
/// standard deviation). Builds that differ in their clock spread the clocks, so that none of them is left out for that.
std::vector<std::string> throttledPairs(const std::vector<BlockPair>& pairs);

struct PairedAnswer {
  ThroughputVerdict verdict = ThroughputVerdict::kAmbiguous;
  std::string reason;                   // why it is ambiguous, or what the verdict does not cover; "": nothing to say
  int pairs = 0;                        // that count
  std::vector<std::string> excluded;    // a pair, as throttledPairs()
  std::optional<RatioInterval> time;    // nullopt: no pair is left
  std::optional<RatioInterval> cycles;  // time × clock; nullopt: no clock is known
  std::optional<RatioInterval> mean;    // of the steps' means: informs
};

/// FASTER or SLOWER where the interval excludes 1, the ratio is beyond the margin, and cycles agree where clocks are
/// known; SAME where the whole interval is within the margin; else AMBIGUOUS. `margin` 0.01: ratios from 1/1.01 to 1.01
/// make no difference to anybody. The interval misses the true ratio with a probability of at most `error`.
PairedAnswer answerOf(const std::vector<BlockPair>& pairs, double margin, double error);

/// The rule alone, for any interval.
ThroughputVerdict verdictOf(const RatioInterval& interval, double margin);

/// When a bench looks at what it has, and what error that look may spend.
struct Look {
  int pairs = 0;
  double error = 0;
};

inline constexpr int kFewestPairs = 12;

/// Of `pairs` (at least kFewestPairs) in all: at the end, and after a half, a quarter and an eighth of them where those
/// are enough. The last look spends half of the error, or all that is left. The errors add up to `error`, so that all
/// intervals hold together with a probability of 1 − error, however the looks depend on each other (Bonferroni): the
/// one at which a bench stops is as good as any.
std::vector<Look> planLooks(int pairs, double error);

}  // namespace redraft::golden
