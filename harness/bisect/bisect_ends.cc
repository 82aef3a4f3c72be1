#include "harness/bisect/bisect_ends.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "golden/quantile.h"
#include "harness/bisect/bisect_tree.h"
#include "harness/bisect/commit_judge.h"

namespace redraft::harness {
namespace {

constexpr int kLeastRates = 9;  // runs that a median is taken of

int firstRuns(const BisectPlan& plan) {
  const SequentialTest test(plan.misleading, plan.commitError);
  return std::min(plan.repeats, std::max(plan.throughput ? kLeastRates : 1, 2 * test.margin() + 1));
}

/// "": it could be built and run.
std::string runFirst(const BisectPlan& plan, CommitJudge& judge) {
  bool going = judge.prepare();
  for (int i = 0; going && i < firstRuns(plan); ++i) going = judge.runOnce();
  return judge.evidence().reason;
}

/// What the bad commit does most often that is not as expected.
std::string commonestFailure(const CommitEvidence& evidence) {
  std::map<std::string, int> counts;
  for (const Trial& trial : evidence.trials)
    if (trial.reported && !trial.asExpected) ++counts[trial.outcome];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "" : most->first;
}

class EndsLearner {
 public:
  explicit EndsLearner(BisectPlan& plan) : plan_(plan) {}

  BisectEnds byFailure() {
    checkOut(plan_.tree, plan_.bad);
    CommitJudge bad(plan_);
    if (stopped("bad", bad, runFirst(plan_, bad))) return ends_;
    plan_.failure = commonestFailure(bad.evidence());
    if (plan_.failure.empty()) {
      keep(bad);
      ends_.problem = "the bad commit " + bad.evidence().commit.substr(0, 12) + " does not fail: \"" +
                      bad.evidence().trials.back().outcome + "\" in the last of " +
                      std::to_string(bad.evidence().trials.size()) + " runs";
      return ends_;
    }
    if (!isJudged(bad, CommitAnswer::kBad)) return ends_;
    checkOut(plan_.tree, plan_.good);
    CommitJudge good(plan_);
    good.prepare();
    if (!stopped("good", good, good.evidence().reason)) isJudged(good, CommitAnswer::kGood);
    return ends_;
  }

  BisectEnds byThroughput() {
    checkOut(plan_.tree, plan_.good);
    CommitJudge good(plan_);
    if (stopped("good", good, runFirst(plan_, good))) return ends_;
    checkOut(plan_.tree, plan_.bad);
    CommitJudge bad(plan_);
    if (stopped("bad", bad, runFirst(plan_, bad))) return ends_;
    const std::vector<double> before = ratesOf(good.evidence()), after = ratesOf(bad.evidence());
    if (before.empty() || after.empty()) {
      const CommitJudge& silent = before.empty() ? good : bad;
      keep(silent);
      ends_.problem =
          silent.evidence().commit.substr(0, 12) + " left no throughput: " + silent.evidence().trials.back().outcome;
      return ends_;
    }
    plan_.goodTokens = golden::quantileOf(before, 0.5);
    plan_.badTokens = golden::quantileOf(after, 0.5);
    plan_.threshold = plan_.ratio ? *plan_.ratio * *plan_.goodTokens : std::sqrt(*plan_.goodTokens * *plan_.badTokens);
    if (!isJudged(bad, CommitAnswer::kBad)) return ends_;
    checkOut(plan_.tree, plan_.good);  // it may take more runs of it
    good.prepare();
    if (!stopped("good", good, good.evidence().reason)) isJudged(good, CommitAnswer::kGood);
    return ends_;
  }

 private:
  void keep(const CommitJudge& judge) { ends_.commits.push_back(judge.evidence()); }

  bool stopped(const char* end, const CommitJudge& judge, const std::string& reason) {
    if (reason.empty()) return false;
    keep(judge);
    ends_.problem = std::string("the ") + end + " commit cannot be judged: " + reason;
    return true;
  }

  bool isJudged(CommitJudge& judge, CommitAnswer wanted) {
    judge.decide();
    keep(judge);
    if (judge.evidence().answer == wanted) return true;
    ends_.problem = std::string("the ") + enumName(wanted) + " commit is not shown to be " + enumName(wanted) + ": " +
                    lineOf(judge.evidence());
    return false;
  }

  BisectPlan& plan_;
  BisectEnds ends_;
};

}  // namespace

BisectEnds learnEnds(BisectPlan& plan) {
  EndsLearner ends(plan);
  return plan.throughput ? ends.byThroughput() : ends.byFailure();
}

std::vector<double> ratesOf(const CommitEvidence& evidence) {
  std::vector<double> rates;
  for (const Trial& trial : evidence.trials)
    if (trial.tokensPerSecond) rates.push_back(*trial.tokensPerSecond);
  return rates;
}

}  // namespace redraft::harness
