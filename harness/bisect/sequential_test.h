#pragma once
// How often does a run have to be repeated, when runs mislead? Wald's sequential probability ratio test ("Sequential
// Tests of Statistical Hypotheses", 1945) between two hypotheses: a run says "bad" with probability q at a good commit,
// and 1 − q at a bad one. Each run moves the log-likelihood ratio by ± log((1 − q) / q), so all that counts is by how
// many the runs for one side outnumber those for the other.

namespace redraft::harness {

class SequentialTest {
 public:
  enum class Answer { kOpen, kGood, kBad };

  /// `misleading` (q) in [0, 0.5), `error` in (0, 0.5): how often an answer may be wrong.
  SequentialTest(double misleading, double error);

  void add(bool saysBad) { lead_ += saysBad ? 1 : -1; }
  Answer answer() const;

  /// By how many runs one side has to lead.
  int margin() const { return margin_; }
  /// How often an answer at this margin is wrong, where runs mislead as often as assumed: qᵐ / (qᵐ + (1 − q)ᵐ),
  /// exactly, because the ratio moves by whole steps and cannot overshoot. At most `error`.
  double errorRate() const;

 private:
  double misleading_;
  int margin_ = 1;
  int lead_ = 0;
};

/// The error that each of the tests of a bisection over `commits` may have, so that all together exceed `total` no more
/// often: both ends, and log2(commits) in between.
double errorPerCommit(double total, int commits);

}  // namespace redraft::harness
