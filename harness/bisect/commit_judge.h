#pragma once
// Builds what is checked out, proves that the built program is of that commit, and runs it until a sequential test
// decides.

#include <chrono>
#include <string>

#include "harness/bisect/bisect_records.h"
#include "harness/bisect/sequential_test.h"

namespace redraft::harness {

class CommitJudge {
 public:
  /// Of the commit that is checked out in plan.tree. The plan must outlive it; its failure or threshold may be set
  /// later, before decide().
  explicit CommitJudge(const BisectPlan& plan);

  /// Builds it and asks the program for its commit. False: evidence() says why nothing can be said of this commit.
  bool prepare();

  /// One run more, without a sign. False: the program is not the commit's any more; see evidence().
  bool runOnce();

  /// Gives every run its sign by the plan's failure or threshold, and goes on running until the sequential test
  /// decides. Skipped when it does not within plan.repeats runs, or when four of five say nothing.
  void decide();

  const CommitEvidence& evidence() const { return evidence_; }

 private:
  bool skip(std::string reason);
  bool isOfCommit(const std::string& embedded) const;
  bool checkPrograms();
  Trial readTrial(const std::string& out, const std::string& ended);

  void noteTime();

  const BisectPlan& plan_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::string runs_;  // folder of its runs
  CommitEvidence evidence_;
};

/// What a run says under a plan whose failure or threshold is known.
Sign signOf(const BisectPlan& plan, const Trial& trial);

/// One line: "3f2a91c04d1b bad: 12 runs, 11 bad, 1 good".
std::string lineOf(const CommitEvidence& evidence);

}  // namespace redraft::harness
