#pragma once
// The HTML report: one file that needs no network. What it shows beyond the result model reaches it as the plain
// structs below, made from run folders by harness/page; a part that a run left nothing for is absent, and `notices`
// says why, under the part's key. printPage embeds all of it as JSON with the keys declared here.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/record.h"
#include "reports/html/timing_view.h"
#include "reports/result.h"

namespace redraft::reports {

inline constexpr const char* kPageSchema = "redraft.page/1";

/// The parts of a case that the page has a section for: keys of CaseDetails::notices.
namespace part {
inline constexpr const char* kCurves = "curves";
inline constexpr const char* kGradients = "gradients";
inline constexpr const char* kThroughput = "throughput";
inline constexpr const char* kTimeline = "timeline";
inline constexpr const char* kAttribution = "attribution";
inline constexpr const char* kAffinity = "affinity";
inline constexpr const char* kEnding = "ending";
inline constexpr const char* kEnvironment = "environment";
}  // namespace part

/// One metric, a value for each of Curves::steps; NaN where that side has none.
struct MetricCurve {
  std::string metric;  // "loss"
  std::vector<double> run, golden;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("metric", metric);
    visit("run", run);
    visit.unless("golden", golden, std::vector<double>());
  }
};

struct Curves {
  std::vector<std::int64_t> steps;  // those shown
  std::vector<MetricCurve> metrics;
  std::string golden;                          // which it is compared with; "": none
  std::optional<std::int64_t> firstDifferent;  // step at which any metric differs from the golden's
  std::string note;                            // what was left out; "": nothing
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("steps", steps);
    visit("metrics", metrics);
    visit.unless("golden", golden, "");
    visit("first_different", firstDifferent);
    visit.unless("note", note, "");
  }
};

/// Parameter × step: how far a gradient is from the golden's, ‖Δ‖ / ‖golden‖ by the sketches; its L2 norm where there
/// is no golden, or nothing differs from it.
struct GradientMap {
  std::vector<std::int64_t> steps;
  std::vector<std::string> parameters;    // the largest first
  bool distances = false;                 // else norms
  std::vector<std::vector<double>> rows;  // [parameter][step]
  std::string note;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("steps", steps);
    visit("parameters", parameters);
    visit("distances", distances);
    visit("rows", rows);
    visit.unless("note", note, "");
  }
};

/// tokens/s of one role, a sample a step.
struct RateSamples {
  std::string role;  // or "all"
  std::vector<double> run, golden;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("role", role);
    visit("run", run);
    visit.unless("golden", golden, std::vector<double>());
  }
};

struct Throughput {
  std::vector<double> stepSeconds;  // of the run, in its order
  std::vector<RateSamples> roles;
  std::string note;  // why there is no golden's side
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("step_seconds", stepSeconds);
    visit("roles", roles);
    visit.unless("note", note, "");
  }
};

/// What happened on one stream, or what one role's threads waited for: bars in order, a value a bar in each column.
struct Lane {
  int rank = 0;
  std::int64_t device = -1;       // -1: the host
  std::string name;               // "device 6, stream 8, drafter[0]"; "host, drafter[0]"
  std::vector<std::int64_t> gap;  // ns from the end of the bar before, of the first from Timeline's begin; may be < 0
  std::vector<std::int64_t> length;  // ns
  std::vector<std::int64_t> label;   // of Timeline::labels
  std::vector<std::int64_t> step;    // -1: none
  std::vector<std::int64_t> count;   // records that the bar stands for; empty: one each
  template <class Visitor>
  void fields(Visitor& visit) {
    visit.unless("rank", rank, 0);
    visit("device", device);
    visit("name", name);
    visit("gap", gap);
    visit("length", length);
    visit("label", label);
    visit("step", step);
    visit.unless("count", count, std::vector<std::int64_t>());
  }
};

struct BarLabel {
  std::string kind;  // "kernel", "collective", "copy", "peer copy", "set", "wait", "call"
  std::string name, role, phase;
  bool operator<(const BarLabel& other) const {
    return std::tie(kind, name, role, phase) < std::tie(other.kind, other.name, other.role, other.phase);
  }
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("kind", kind);
    visit("name", name);
    visit.unless("role", role, "");
    visit.unless("phase", phase, "");
  }
};

/// A violation of the contract, at its record.
struct TimelineMark {
  std::int64_t lane = 0, at = 0;  // of Timeline::lanes; ns
  std::string check, message, record, role;
  std::int64_t step = -1;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("lane", lane);
    visit("at", at);
    visit("check", check);
    visit("message", message);
    visit("record", record);
    visit.unless("role", role, "");
    visit.unless("step", step, -1);
  }
};

struct StepSpan {
  std::int64_t step = 0, begin = 0, end = 0;  // ns
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("step", step);
    visit("begin", begin);
    visit("end", end);
  }
};

/// Times are nanoseconds from the first record.
struct Timeline {
  std::string source;        // "sim": a record says when a call was made, not how long it took; "cupti"
  std::int64_t length = 0;   // ns
  std::int64_t records = 0;  // that the bars stand for
  std::vector<BarLabel> labels;
  std::vector<Lane> lanes;
  std::vector<StepSpan> steps;
  std::vector<TimelineMark> marks;
  std::string note;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("source", source);
    visit("length", length);
    visit("records", records);
    visit("labels", labels);
    visit("lanes", lanes);
    visit("steps", steps);
    visit("marks", marks);
    visit.unless("note", note, "");
  }
};

/// Work of one role on one device.
struct AffinityCell {
  std::string role;
  std::int64_t device = 0, kernels = 0, copies = 0, busyNs = 0;
  std::string allowed;              // "yes", "no", "copies": only as an end of a copy; "unknown": no contract
  std::vector<std::string> checks;  // of the audit that found something here: "A1"
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("role", role);
    visit("device", device);
    visit("kernels", kernels);
    visit("copies", copies);
    visit.unless("busy_ns", busyNs, 0);
    visit("allowed", allowed);
    visit.unless("checks", checks, std::vector<std::string>());
  }
};

struct CopyEdge {
  std::string role;
  std::int64_t from = -1, to = -1;  // devices; -1: the host
  std::int64_t count = 0, bytes = 0;
  bool staged = false;  // through the host
  std::string allowed;  // as above; "host": a copy from or to the host, which no contract limits
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("role", role);
    visit("from", from);
    visit("to", to);
    visit("count", count);
    visit("bytes", bytes);
    visit.unless("staged", staged, false);
    visit("allowed", allowed);
  }
};

struct Affinity {
  std::string source;  // "trace", or "events" where the run left no trace
  std::vector<std::string> roles;
  std::vector<std::int64_t> devices;
  std::vector<AffinityCell> cells;  // of pairs that the contract allows, or that were used
  std::vector<CopyEdge> copies;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("source", source);
    visit("roles", roles);
    visit("devices", devices);
    visit("cells", cells);
    visit("copies", copies);
  }
};

/// Where a role of a run that did not end by itself was last seen.
struct RoleEnding {
  int rank = 0;
  std::string role;
  std::int64_t device = -1;
  std::string point, phase;  // the last progress mark: "queue_pop"
  std::int64_t object = -1, step = -1, event = -1;
  double silentSeconds = 0;  // from its last event to the last of its process
  bool waits = false;        // for others, at such a mark
  bool ended = false;        // by itself
  template <class Visitor>
  void fields(Visitor& visit) {
    visit.unless("rank", rank, 0);
    visit("role", role);
    visit("device", device);
    visit.unless("point", point, "");
    visit.unless("phase", phase, "");
    visit.unless("object", object, -1);
    visit.unless("step", step, -1);
    visit.unless("event", event, -1);
    visit("silent_seconds", silentSeconds);
    visit("waits", waits);
    visit("ended", ended);
  }
};

struct StackView {
  int rank = 0;
  std::string thread;
  bool fatal = false;  // of the signal that ended the process
  std::vector<std::string> frames;
  bool operator==(const StackView&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit.unless("rank", rank, 0);
    visit("thread", thread);
    visit("fatal", fatal);
    visit("frames", frames);
  }
};

/// An exception or a refused call, with the launch before it.
struct FailureView {
  int rank = 0;
  std::string what, exception, call, status;
  std::string role, phase;
  std::int64_t step = -1, device = -1, event = -1;
  std::int64_t blames = -1;          // the rank whose loss it reports; -1: it is a failure of its own
  std::string launch;                // the last of the role: "attention_forward on device 7, loaded on device 6"
  std::vector<std::string> tensors;  // that it used of other devices: "block_mask (device 6, 4096 bytes, read)"
  std::vector<std::string> frames;
  bool operator==(const FailureView&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit.unless("rank", rank, 0);
    visit("what", what);
    visit.unless("exception", exception, "");
    visit.unless("call", call, "");
    visit.unless("status", status, "");
    visit.unless("role", role, "");
    visit.unless("phase", phase, "");
    visit.unless("step", step, -1);
    visit.unless("device", device, -1);
    visit.unless("event", event, -1);
    visit.unless("blames", blames, -1);
    visit.unless("launch", launch, "");
    visit.unless("tensors", tensors, std::vector<std::string>());
    visit.unless("frames", frames, std::vector<std::string>());
  }
};

/// How a run ended that was not to end so: what each role waited in, what failed, and the stacks.
struct Ending {
  std::vector<RoleEnding> roles;
  std::vector<FailureView> failures;
  std::vector<StackView> stacks;
  std::vector<std::string> log;  // last lines of runner.log
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("roles", roles);
    visit.unless("failures", failures, std::vector<FailureView>());
    visit.unless("stacks", stacks, std::vector<StackView>());
    visit.unless("log", log, std::vector<std::string>());
  }
};

struct EnvironmentRow {
  std::string group, key;  // "numerics class", "isa"
  std::string run;
  std::optional<std::string> golden;  // absent: the golden does not say
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("group", group);
    visit("key", key);
    visit("run", run);
    visit("golden", golden);
  }
};

struct EnvironmentView {
  std::string golden;  // the file, with its commit and date; "": there is none
  std::vector<EnvironmentRow> rows;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit.unless("golden", golden, "");
    visit("rows", rows);
  }
};

struct CaseDetails {
  std::optional<Curves> curves;
  std::optional<GradientMap> gradients;
  std::optional<Throughput> throughput;
  std::optional<Timeline> timeline;
  std::optional<Affinity> affinity;
  std::optional<Ending> ending;
  std::optional<EnvironmentView> environment;
  std::optional<Attribution> attribution = {};
  std::map<std::string, std::string> notices = {};  // part → why it is absent
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("curves", curves);
    visit("gradients", gradients);
    visit("throughput", throughput);
    visit("timeline", timeline);
    visit("affinity", affinity);
    visit("ending", ending);
    visit("environment", environment);
    visit("attribution", attribution);
    visit("notices", notices);
  }
};

/// One suite of the trend; the last is this one.
struct TrendSuite {
  std::string name, started, commit;
  bool complete = false;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("name", name);
    visit("started", started);
    visit("commit", commit);
    visit("complete", complete);
  }
};

/// A case over the suites of the trend, a value each; "": not part of that suite.
struct TrendCase {
  std::vector<std::string> verdicts;
  std::vector<bool> expected;
  std::vector<double> tokensPerSecond, lastLoss;  // NaN: not measured
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("verdicts", verdicts);
    visit("expected", expected);
    visit("tokens_per_second", tokensPerSecond);
    visit("last_loss", lastLoss);
  }
};

struct Trend {
  std::vector<TrendSuite> suites;
  std::map<std::string, TrendCase> cases;
  std::string note;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("suites", suites);
    visit("cases", cases);
    visit.unless("note", note, "");
  }
};

/// What a page shows beside the result model.
struct PageDetails {
  std::map<std::string, CaseDetails> cases;  // by name
  Trend trend;
  std::string notice;  // why there are no details; "": there are
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("cases", cases);
    visit("trend", trend);
    visit.unless("notice", notice, "");
  }
};

/// One HTML document. Pure. No text of the suite's or of a detail's can end the element that it is in, and the
/// document's own policy (CSP) lets nothing be loaded and no script run but those it was built with.
std::string printPage(const SuiteResult& suite, const PageDetails& details);

/// The page without its data: what every report carries.
std::size_t pageFrameBytes();

/// A value for the page's data: with this many significant digits.
double rounded(double value, int digits);

}  // namespace redraft::reports
