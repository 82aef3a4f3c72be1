#pragma once
// Where two runs part, down to the operation: what they stored says the step, and one further run of each at most says
// the rest.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "golden/divergence.h"
#include "harness/case_plan.h"
#include "harness/case_runner.h"

namespace redraft::harness {

inline constexpr const char* kDivergenceSchema = "redraft.divergence/1";
/// The report, beside the further runs.
inline constexpr const char* kDivergenceFile = "divergence.json";

/// One of the two: a run folder, or a golden.
struct DivergenceInput {
  std::string path;
  bool golden = false;
  golden::Record record;
  std::string commit;            // of the build that made it; "": not known
  std::optional<CasePlan> plan;  // how to run it again; absent: that cannot be done
  std::string runner;            // the program that does
  std::string why;               // where there is no plan: what is missing
};

struct DivergencePlan {
  DivergenceInput a, b;
  std::string out = "runs";
  std::int64_t window =
      8;  // steps before the first difference that may be recorded, where parameters were not compared
  CaseOptions options;
};

struct DivergenceSide {
  std::string path, kind;                // "run", "golden"
  std::string commit;                    // of the build that made it
  std::string again;                     // folder of the further run; "": none was made
  std::optional<std::int64_t> unlikeAt;  // step from which the further run has other numbers than the first
  std::string problem;                   // why its operations are not known
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("path", path);
    visit("kind", kind);
    visit.unless("commit", commit, "");
    visit.unless("again", again, "");
    visit("unlike_at", unlikeAt);
    visit.unless("problem", problem, "");
  }
};

/// `redraft divergence --json`.
struct DivergenceReport {
  std::string schema = kDivergenceSchema;
  DivergenceSide a, b;
  bool same = false;
  std::string incomparable;                  // why; "": they were compared
  std::optional<std::int64_t> step;          // the first that differs in what they stored
  std::string stage;                         // what differs first there (golden::StepDivergence)
  std::string parameter;                     // whose gradient is furthest off, where gradients differ
  int furtherRuns = 0;                       // of the training, of both sides together: two at most
  std::vector<std::int64_t> recorded;        // first and last step whose operations were compared; empty: none
  std::optional<golden::OpVerdict> verdict;  // of the operations; absent: not compared
  std::optional<golden::OpRecord> ofA, ofB;  // the operation, on both sides
  std::vector<std::size_t> inputs, outputs;  // those of it that differ
  std::vector<golden::OpPlace> others;       // further operations with equal inputs and another result
  std::int64_t compared = 0, differing = 0, unmatched = 0;  // operations
  std::vector<std::string> text;                            // the answer in words
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("a", a);
    visit("b", b);
    visit("same", same);
    visit.unless("incomparable", incomparable, "");
    visit("step", step);
    visit.unless("stage", stage, "");
    visit.unless("parameter", parameter, "");
    visit("further_runs", furtherRuns);
    visit.unless("recorded", recorded, std::vector<std::int64_t>());
    visit("verdict", verdict);
    visit("of_a", ofA);
    visit("of_b", ofB);
    visit.unless("inputs", inputs, std::vector<std::size_t>());
    visit.unless("outputs", outputs, std::vector<std::size_t>());
    visit.unless("others", others, std::vector<golden::OpPlace>());
    visit("compared", compared);
    visit("differing", differing);
    visit("unmatched", unmatched);
    visit("text", text);
  }
};

/// Throws Error(kEnvironment) where a further run cannot be started or does not come to its end.
DivergenceReport findDivergence(const DivergencePlan& plan);

/// Of a divergence.json. Throws Error(kBadInput).
DivergenceReport loadDivergence(const std::string& path);

/// The HTML page of a report. Pure.
std::string divergencePage(const DivergenceReport& report);

/// The report's `text` from its other members (divergence_text.cc).
std::vector<std::string> divergenceText(const DivergenceReport& report);

}  // namespace redraft::harness
