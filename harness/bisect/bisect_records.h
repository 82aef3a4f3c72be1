#pragma once
// What a bisection keeps in its folder: plan.json, a line of commits.jsonl for every commit that was judged, and
// bisect.json. Keys are declared here, once (docs/formats.md).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"

namespace redraft::harness {

inline constexpr const char* kBisectPlanSchema = "redraft.bisect-plan/1";
inline constexpr const char* kBisectSchema = "redraft.bisect/1";
inline constexpr const char* kBisectPlanFile = "plan.json";
inline constexpr const char* kBisectCommitsFile = "commits.jsonl";
inline constexpr const char* kBisectFile = "bisect.json";
inline constexpr std::size_t kShortHash = 12;  // digits of a commit as it is shown

/// What one run says of its commit. Unusable: neither; the run failed otherwise, or left no throughput or report.
enum class Sign { kGood, kBad, kUnusable };
enum class CommitAnswer { kGood, kBad, kSkipped };

}  // namespace redraft::harness

template <>
struct redraft::NameTable<redraft::harness::Sign> {
  using Sign = harness::Sign;
  static constexpr std::pair<Sign, const char*> kNames[] = {
      {Sign::kGood, "good"}, {Sign::kBad, "bad"}, {Sign::kUnusable, "unusable"}};
};

template <>
struct redraft::NameTable<redraft::harness::CommitAnswer> {
  using Answer = harness::CommitAnswer;
  static constexpr std::pair<Answer, const char*> kNames[] = {
      {Answer::kGood, "good"}, {Answer::kBad, "bad"}, {Answer::kSkipped, "skipped"}};
};

namespace redraft::harness {

struct BisectPlan {
  std::string schema = kBisectPlanSchema;
  std::int64_t pid = 0;          // of the program that drives it: its steps end with it
  std::string folder;            // this record's, absolute
  std::string tree;              // the clone
  std::string good, bad;         // full hashes
  std::string build;             // shell command, run in the tree
  std::string program;           // redraft, relative to the tree
  std::vector<std::string> run;  // SCENARIO and further options of `redraft run`
  bool throughput = false;       // bad: slower; else: the failure of the bad commit
  std::optional<double> ratio;   // bad below this part of good's tokens/s; none: halfway to bad's
  double misleading = 0.1;       // how often a run may mislead
  double error = 0.01;           // how often the culprit may be wrong
  int repeats = 100;             // most runs of one commit
  std::int64_t buildSeconds = 7200, runSeconds = 1800;
  // Found at the two ends, before the others are judged.
  double commitError = 0;                                  // `error`, shared out
  std::string failure;                                     // "FAILED replicas/drift": what the bad commit does
  std::optional<double> goodTokens, badTokens, threshold;  // tokens/s: medians, and the limit between them
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("pid", pid);
    visit("folder", folder);
    visit("tree", tree);
    visit("good", good);
    visit("bad", bad);
    visit("build", build);
    visit("program", program);
    visit("run", run);
    visit("throughput", throughput);
    visit("ratio", ratio);
    visit("misleading", misleading);
    visit("error", error);
    visit("repeats", repeats);
    visit("build_seconds", buildSeconds);
    visit("run_seconds", runSeconds);
    visit("commit_error", commitError);
    visit.unless("failure", failure, "");
    visit("good_tokens_per_second", goodTokens);
    visit("bad_tokens_per_second", badTokens);
    visit("threshold", threshold);
  }
};

struct Trial {
  std::string outcome;  // "PASSED", "FAILED replicas/drift", or why there is none
  bool asExpected = false;
  bool reported = false;  // the run left a report of the one case
  std::optional<double> tokensPerSecond;
  Sign sign = Sign::kUnusable;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("outcome", outcome);
    visit("as_expected", asExpected);
    visit("reported", reported);
    visit("tokens_per_second", tokensPerSecond);
    visit("sign", sign);
  }
};

struct CommitEvidence {
  std::string commit, subject;
  CommitAnswer answer = CommitAnswer::kSkipped;
  std::string reason;    // why it was skipped
  std::string embedded;  // the commit that the built program says it is of
  std::vector<Trial> trials;
  double seconds = 0;
  int count(Sign sign) const;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("commit", commit);
    visit("subject", subject);
    visit("answer", answer);
    visit.unless("reason", reason, "");
    visit.unless("embedded_commit", embedded, "");
    visit("trials", trials);
    visit("seconds", seconds);
  }
};

struct BisectReport {
  std::string schema = kBisectSchema;
  BisectPlan plan;
  int margin = 0;                     // by how many runs one side had to lead
  double errorRate = 0;               // of one answer
  std::vector<std::string> suspects;  // one: the culprit; several: skipped commits hide which; none: see `problem`
  std::string problem;
  int candidates = 0;                   // commits between good and bad, bad included
  std::vector<CommitEvidence> commits;  // that were judged, oldest first
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("plan", plan);
    visit("margin", margin);
    visit("error_rate", errorRate);
    visit("suspects", suspects);
    visit.unless("problem", problem, "");
    visit("candidates", candidates);
    visit("commits", commits);
  }
};

}  // namespace redraft::harness
