// How often are verdicts of `redraft bench` wrong? Recorded pairs of real blocks are drawn again, thousands of times,
// and judged as a bench judges them. docs/throughput.md has what it prints.
//
// usage: throughput_study BLOCKS.json [RESAMPLINGS [PAIRS]]
//
// Pairs are drawn in stretches of eight that were recorded one after another, so that drift and disturbances that last
// stay as they were. Of identical builds, which of a pair's blocks is called A is drawn too: that is what the order of
// a real bench does. With --check in place of RESAMPLINGS: exit 1 unless at most 1 % of benches of identical builds,
// and at least 90 % of those of builds that are 2 % or more apart, say so.
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/formatted.h"
#include "base/json.h"
#include "base/philox.h"
#include "golden/throughput.h"

namespace redraft {
namespace {

constexpr const char* kSchema = "redraft.bench-blocks/1";
constexpr double kMargin = 0.01, kError = 0.01;
constexpr std::size_t kStretch = 8;
constexpr int kResamplings = 4000, kPairs = 48;

struct RecordedSet {
  std::string name;
  double planted = 0;  // part that B is slower by
  std::vector<golden::BlockPair> pairs;
};

std::vector<RecordedSet> loadSets(const std::string& path) {
  const JsonDocument document = JsonDocument::load(path, JsonDocument::Comments::kRefuse);
  const Json& root = document.root();
  if (root.value("schema", "") != kSchema) throwBadInput(path, std::string("is no ") + kSchema);
  std::vector<RecordedSet> sets;
  for (const Json& json : root.at("sets")) {
    RecordedSet set{json.at("name"), json.at("planted_percent").get<double>() / 100, {}};
    for (const Json& pair : json.at("pairs")) {
      const double a = pair.at(0), b = pair.at(1);
      set.pairs.push_back({{a, a, std::nullopt, ""}, {b, b, std::nullopt, ""}});
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

/// Draws the pairs of one bench, one by one.
class Draw {
 public:
  Draw(const RecordedSet& set, double factor, std::uint64_t round)
      : set_(set), factor_(factor), random_(round, "throughput study") {}

  golden::BlockPair next() {
    if (taken_++ % kStretch == 0) at_ = random_.below(set_.pairs.size());
    golden::BlockPair pair = set_.pairs[at_++ % set_.pairs.size()];
    if (set_.planted == 0 && random_.below(2) == 1) std::swap(pair.a, pair.b);
    pair.b.seconds *= factor_;
    return pair;
  }

 private:
  const RecordedSet& set_;
  double factor_;
  CounterRng random_;
  std::size_t at_ = 0, taken_ = 0;
};

struct Judged {
  golden::ThroughputVerdict verdict = golden::ThroughputVerdict::kAmbiguous;
  int pairs = 0;
};

Judged judge(Draw draw, int planned) {
  std::vector<golden::BlockPair> pairs;
  Judged judged;
  for (const golden::Look& look : golden::planLooks(planned, kError)) {
    while (static_cast<int>(pairs.size()) < look.pairs) pairs.push_back(draw.next());
    judged = {golden::answerOf(pairs, kMargin, look.error).verdict, look.pairs};
    if (judged.verdict != golden::ThroughputVerdict::kAmbiguous) break;
  }
  return judged;
}

/// P(X ≤ k) of `n` trials with probability p.
double binomialBelow(int k, int n, double p) {
  double sum = 0;
  for (int i = 0; i <= k; ++i)
    sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) + i * std::log(p) +
                    (n - i) * std::log1p(-p));
  return sum;
}

/// The p at which `tail`, which falls with p, is 2.5 %.
double solve(const std::function<double(double)>& tail) {
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (tail(middle) > 0.025 ? low : high) = middle;
  }
  return low;
}

/// Clopper and Pearson's interval of 95 %.
std::string rateText(int count, int n) {
  const double low = count == 0 ? 0 : 1 - solve([&](double q) { return binomialBelow(n - count, n, q); });
  const double high = count == n ? 1 : solve([&](double p) { return binomialBelow(count, n, p); });
  return formatted("%6.2f %% [%.2f, %.2f]", 100.0 * count / n, 100 * low, 100 * high);
}

/// Prints a line; true when the rates are as they should be.
bool study(const RecordedSet& set, double factor, int resamplings, int planned) {
  std::map<golden::ThroughputVerdict, int> counts;
  double pairs = 0;
  for (int round = 0; round < resamplings; ++round) {
    const Judged judged = judge(Draw(set, factor, static_cast<std::uint64_t>(round)), planned);
    ++counts[judged.verdict];
    pairs += static_cast<double>(judged.pairs) / resamplings;
  }
  const double truth = (1 + set.planted) * factor;
  const int different = counts[golden::ThroughputVerdict::kSlower] + counts[golden::ThroughputVerdict::kFaster];
  const int slower = counts[golden::ThroughputVerdict::kSlower];
  std::printf("%-28s %zu blocks  B %+.0f %%  %s %s   SAME %d, AMBIGUOUS %d, FASTER %d; %.0f of %d pairs used\n",
              (set.name + (factor == 1 ? "" : ", times " + std::to_string(factor).substr(0, 4))).c_str(),
              2 * set.pairs.size(), 100 * (truth - 1), truth == 1 ? "false alarm" : "found      ",
              rateText(truth == 1 ? different : slower, resamplings).c_str(), counts[golden::ThroughputVerdict::kSame],
              counts[golden::ThroughputVerdict::kAmbiguous], counts[golden::ThroughputVerdict::kFaster], pairs,
              planned);
  return truth == 1 ? different <= 0.01 * resamplings : slower >= 0.9 * resamplings;
}

int mainOf(const std::vector<std::string>& words) {
  if (words.empty() || words.size() > 3) throwBadInput("usage", "throughput_study BLOCKS.json [RESAMPLINGS [PAIRS]]");
  const bool check = words.size() > 1 && words[1] == "--check";
  const int resamplings = words.size() > 1 && !check ? std::stoi(words[1]) : kResamplings;
  const int planned = words.size() > 2 ? std::stoi(words[2]) : kPairs;
  bool fine = true;
  for (const RecordedSet& set : loadSets(words[0]))
    for (const double factor : {1.0, 1.02, 1.05})
      if (factor == 1 || set.planted == 0) fine = study(set, factor, resamplings, planned) && fine;
  return fine || !check ? 0 : 1;
}

}  // namespace
}  // namespace redraft

int main(int argc, char** argv) {
  try {
    return redraft::mainOf(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
