#pragma once
// What the harness found, as every printer shows it. One model: a printer is a pure function from it to text. The JSON
// keys are declared here, once.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/record.h"
#include "reports/pace.h"

namespace redraft::reports {

inline constexpr const char* kCaseSchema = "redraft.case/1";
inline constexpr const char* kReportSchema = "redraft.report/1";

enum class Verdict { kPassed, kFailed, kCrashed, kHung, kIncomparable, kSkipped, kAborted, kError };

/// What the audit of a run's trace came to. Invalid: what it did not find, it could not have found. Absent: the run
/// ended before it wrote one.
enum class AuditOutcome { kClean, kFound, kInvalid, kAbsent };

/// What became of an entry of the known failures. Matched: it covers something of this suite. Passes: its scenarios
/// ran, and all were as expected. Unmatched: they ran, and failed otherwise. Not run: this suite has none of them.
enum class KnownState { kMatched, kPasses, kUnmatched, kNotRun, kExpired };

}  // namespace redraft::reports

template <>
struct redraft::NameTable<redraft::reports::AuditOutcome> {
  using Outcome = reports::AuditOutcome;
  static constexpr std::pair<Outcome, const char*> kNames[] = {{Outcome::kClean, "clean"},
                                                               {Outcome::kFound, "found"},
                                                               {Outcome::kInvalid, "invalid"},
                                                               {Outcome::kAbsent, "absent"}};
};

template <>
struct redraft::NameTable<redraft::reports::KnownState> {
  using State = reports::KnownState;
  static constexpr std::pair<State, const char*> kNames[] = {{State::kMatched, "matched"},
                                                             {State::kPasses, "passes"},
                                                             {State::kUnmatched, "unmatched"},
                                                             {State::kNotRun, "not run"},
                                                             {State::kExpired, "expired"}};
};

template <>
struct redraft::NameTable<redraft::reports::Verdict> {
  using Verdict = reports::Verdict;
  static constexpr std::pair<Verdict, const char*> kNames[] = {{Verdict::kPassed, "PASSED"},
                                                               {Verdict::kFailed, "FAILED"},
                                                               {Verdict::kCrashed, "CRASHED"},
                                                               {Verdict::kHung, "HUNG"},
                                                               {Verdict::kIncomparable, "INCOMPARABLE"},
                                                               {Verdict::kSkipped, "SKIPPED"},
                                                               {Verdict::kAborted, "ABORTED"},
                                                               {Verdict::kError, "ERROR"}};
};

namespace redraft::reports {

/// A look-alike that the evidence excludes.
struct RuledOut {
  std::string id, because;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("id", id);
    visit("because", because);
  }
};

/// A record of the run's trace that proves a finding.
struct TraceProof {
  std::string check;    // "A9"
  std::string message;  // what is wrong with it
  std::string record;   // file, number, kind, name and where it ran
  bool operator==(const TraceProof&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("check", check);
    visit("message", message);
    visit("record", record);
  }
};

struct Finding {
  std::string id;     // docs/formats.md, "Findings"
  std::string title;  // one line: what happened, with names and numbers
  std::string role;
  std::int64_t step = -1;
  std::string phase;
  std::optional<int> device;
  std::vector<std::string> details;    // lines: the exception's text, last sync points, parameters that differ …
  std::vector<std::int64_t> evidence;  // sequence numbers in events.jsonl
  std::vector<TraceProof> proofs;      // records of the trace
  std::vector<RuledOut> ruledOut;
  std::string signature;  // what a replay has to bring back
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("id", id);
    visit("title", title);
    visit.unless("role", role, "");
    visit.unless("step", step, -1);
    visit.unless("phase", phase, "");
    visit("device", device);
    visit.unless("details", details, std::vector<std::string>());
    visit("evidence", evidence);
    visit.unless("proofs", proofs, std::vector<TraceProof>());
    visit("ruled_out", ruledOut);
    visit("signature", signature);
  }
};

/// A check of the audit that the trace or the contract does not hold enough for.
struct NotComputable {
  std::string id, name, reason;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("id", id);
    visit("name", name);
    visit("reason", reason);
  }
};

/// The audit of a run's trace (docs/audit.md), in one place for every printer.
struct AuditSummary {
  AuditOutcome outcome = AuditOutcome::kAbsent;
  std::string reason;                        // why it is invalid or absent
  std::vector<std::string> found;            // "A9 host-sync (2)"
  std::vector<std::string> clean;            // "A1"
  std::vector<NotComputable> notComputable;  // never passed over in silence
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("outcome", outcome);
    visit.unless("reason", reason, "");
    visit("found", found);
    visit("clean", clean);
    visit("not_computable", notComputable);
  }
};

/// "found A9 host-sync (2); clean A1, A4; not computable A2, A7".
std::string auditLine(const AuditSummary& audit);
/// For a cell of a table: "7 clean", "A9", "invalid"; "–": there was no trace.
std::string auditCell(const std::optional<AuditSummary>& audit);

struct Expectation {
  Verdict verdict = Verdict::kPassed;
  std::string finding;  // id of the first finding; "": none asked for
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("verdict", verdict);
    visit.unless("finding", finding, "");
  }
};

struct Figures {
  std::int64_t steps = 0;
  double seconds = 0;                             // wall time of the child
  std::map<std::string, double> tokensPerSecond;  // role, and "all": median over the steps
  std::optional<double> firstLoss, lastLoss;
  std::optional<double> acceptLength;             // mean accepted length of the evaluation
  std::map<std::string, std::int64_t> peakBytes;  // device → bytes
  std::map<std::string, double> throughputRatio;  // role → this run / golden, of the medians
  Pace pace = {};
  std::map<std::string, std::string> numericsClass = {};     // golden::NumericsClass::fields; empty: not known
  std::map<std::string, std::string> performanceClass = {};  // golden::PerformanceClass::fields, likewise
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("steps", steps);
    visit("seconds", seconds);
    visit("tokens_per_second", tokensPerSecond);
    visit("first_loss", firstLoss);
    visit("last_loss", lastLoss);
    visit("accept_length", acceptLength);
    visit("peak_bytes", peakBytes);
    visit("throughput_ratio", throughputRatio);
    visit.unless("pace", pace, Pace());
    visit.unless("numerics_class", numericsClass, std::map<std::string, std::string>());
    visit.unless("performance_class", performanceClass, std::map<std::string, std::string>());
  }
};

/// An entry of the known failures (docs/ci.md).
struct KnownFailure {
  std::string scenario;     // a whole name or a glob; '*' crosses '/'
  std::string finding;      // id; or
  std::string fingerprint;  // of one finding
  std::string owner, reason;
  std::string expires;  // "2026-12-31": the last day on which it holds
  bool operator==(const KnownFailure&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("scenario", scenario);
    visit.unless("finding", finding, "");
    visit.unless("fingerprint", fingerprint, "");
    visit("owner", owner);
    visit("reason", reason);
    visit("expires", expires);
  }
};

struct KnownFailureUse {
  KnownFailure entry;
  KnownState state = KnownState::kNotRun;
  bool operator==(const KnownFailureUse&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("entry", entry);
    visit("state", state);
  }
};

struct CaseResult {
  std::string schema = kCaseSchema;
  std::string name, description;
  std::string source;  // the scenario's file, relative to the working folder where it is below it; "": none known
  Verdict verdict = Verdict::kAborted;
  Expectation expected;
  std::string reason;  // why the verdict is not PASSED or FAILED: what ended the child, what the golden lacks
  std::string golden;  // what it was compared with, and how that came out; "": nothing
  std::string ended;   // "exited 0", "signal 11 (SIGSEGV)"; "": never started
  std::vector<Finding> findings;      // the cause first
  std::optional<AuditSummary> audit;  // of its trace; nullopt: never started
  std::string runFolder, replay;      // the command that runs it again
  std::string digest;                 // over everything that has to come back bit for bit; "": the record is not whole
  Figures figures;
  std::vector<KnownFailure> known;  // that cover all that is wrong with it; empty: it is no known failure

  /// Verdict and first finding are those of the scenario.
  bool asExpected() const;
  bool isKnownFailure() const { return !asExpected() && !known.empty(); }

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("name", name);
    visit("description", description);
    visit.unless("source", source, "");
    visit("verdict", verdict);
    visit("expected", expected);
    visit.unless("reason", reason, "");
    visit.unless("golden", golden, "");
    visit.unless("ended", ended, "");
    visit("findings", findings);
    visit("audit", audit);
    visit("run_folder", runFolder);
    visit("replay", replay);
    visit.unless("digest", digest, "");
    visit("figures", figures);
    visit.unless("known_failures", known, std::vector<KnownFailure>());
  }
};

struct SuiteResult {
  std::string schema = kReportSchema;
  std::string version, commit, started, folder;
  double seconds = 0;
  bool complete = false;          // every planned case has ended
  std::vector<CaseResult> cases;  // in the order of the plan; not yet ended: ABORTED
  std::string knownFile;          // the list of known failures; "": none
  std::vector<KnownFailureUse> known;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("version", version);
    visit("commit", commit);
    visit("started", started);
    visit("folder", folder);
    visit("seconds", seconds);
    visit("complete", complete);
    visit("cases", cases);
    visit.unless("known_failures_file", knownFile, "");
    visit.unless("known_failures", known, std::vector<KnownFailureUse>());
  }
};

/// "24 cases: 17 as expected (11 PASSED, 7 FAILED, 5 SKIPPED, 1 HUNG), 1 known failure, 5 skipped, 1 not".
std::string summaryLine(const SuiteResult& suite);

/// "ok", "NOT" or "known": how a table marks a case.
const char* markOf(const CaseResult& result);

/// What does not fail a suite.
struct Allowances {
  bool skipped = false;    // a case that this machine cannot run
  bool staleKnown = true;  // an entry of the known failures that matched nothing or whose scenarios pass
};

/// Every case ended as its scenario expects, is a known failure, or is allowed; and no entry of the known failures has
/// expired.
bool isGreen(const SuiteResult& suite, const Allowances& allowances = {});

}  // namespace redraft::reports
