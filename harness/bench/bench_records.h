#pragma once
// What `redraft bench` keeps (bench.json, redraft.bench/1): the plan, every sample, and what came of it. Keys are
// declared here, once (docs/formats.md).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "golden/throughput.h"

namespace redraft::harness {

inline constexpr const char* kBenchSchema = "redraft.bench/1";
inline constexpr const char* kBenchFile = "bench.json";

/// How a bench ended. Running: it was killed, or still runs.
enum class BenchEnd { kRunning, kDecided, kBudget, kFailed, kInterrupted };

}  // namespace redraft::harness

template <>
struct redraft::NameTable<redraft::harness::BenchEnd> {
  using End = harness::BenchEnd;
  static constexpr std::pair<End, const char*> kNames[] = {{End::kRunning, "running"},
                                                           {End::kDecided, "decided"},
                                                           {End::kBudget, "budget spent"},
                                                           {End::kFailed, "a run failed"},
                                                           {End::kInterrupted, "interrupted"}};
};

template <>
struct redraft::NameTable<redraft::golden::ThroughputVerdict> {
  using Verdict = golden::ThroughputVerdict;
  static constexpr std::pair<Verdict, const char*> kNames[] = {{Verdict::kFaster, "FASTER"},
                                                               {Verdict::kSlower, "SLOWER"},
                                                               {Verdict::kSame, "SAME"},
                                                               {Verdict::kAmbiguous, "AMBIGUOUS"}};
};

namespace redraft::harness {

/// One of the two that are compared.
struct BenchSide {
  std::string name;      // as the user gave it
  std::string scenario;  // its whole name
  std::string runner;    // the program
  std::string commit;    // that the program says it is of
  std::string program;   // hash of the program's file
  std::string numbers;   // hash of all metrics and parameters; "": blocks disagree
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("name", name);
    visit("scenario", scenario);
    visit("runner", runner);
    visit("commit", commit);
    visit("program", program);
    visit("numbers", numbers);
  }
};

/// One run.
struct BenchBlock {
  double startSeconds = 0;            // since the bench began
  double wallSeconds = 0;             // of the child
  std::vector<double> seconds;        // of each step, those of the warm-up too
  std::vector<double> tokens;         // of each step
  std::optional<double> clockMhz;     // mean over the GPUs that work, while steps ran
  std::vector<std::string> throttle;  // reasons that GPUs gave meanwhile
  std::string numbers;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("start_seconds", startSeconds);
    visit("wall_seconds", wallSeconds);
    visit("seconds", seconds);
    visit("tokens", tokens);
    visit("clock_mhz", clockMhz);
    visit.unless("throttle", throttle, std::vector<std::string>());
    visit("numbers", numbers);
  }
};

struct BenchPair {
  std::string order;  // "AB" or "BA"
  BenchBlock a, b;
  double ratio = 0;      // time of B over time of A, as it counts
  std::string excluded;  // why it does not count; "": it does
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("order", order);
    visit("a", a);
    visit("b", b);
    visit.unless("ratio", ratio, 0.0);
    visit.unless("excluded", excluded, "");
  }
};

struct BenchRatio {
  double ratio = 1, low = 0, high = 0;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("ratio", ratio);
    visit("low", low);
    visit("high", high);
  }
};

struct BenchLook {
  int pairs = 0;     // run by then
  int counted = 0;   // of them
  double error = 0;  // that it spent
  golden::ThroughputVerdict verdict = golden::ThroughputVerdict::kAmbiguous;
  std::string reason;
  std::optional<BenchRatio> time, cycles, mean;  // B / A
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("pairs", pairs);
    visit("counted", counted);
    visit("error", error);
    visit("verdict", verdict);
    visit.unless("reason", reason, "");
    visit("time", time);
    visit("cycles", cycles);
    visit("mean", mean);
  }
};

struct BenchOptions {
  double margin = 0.01;       // what a difference has to reach to matter
  double confidence = 0.99;   // of all looks together
  double budgetMinutes = 10;  // for all of it
  int pairs = 0;              // so many, whatever the budget; 0: as many as fit
  int warmup = 0;             // steps at the head of each block that do not count; 0: a quarter of them
  int turn = 0;               // both blocks of a pair run at once, by turns of so many steps; 0: one after the other
  std::uint64_t seed = 0;     // of the order within pairs
  bool keep = false;          // run folders
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("margin", margin);
    visit("confidence", confidence);
    visit("budget_minutes", budgetMinutes);
    visit("pairs", pairs);
    visit("warmup", warmup);
    visit.unless("turn", turn, 0);
    visit("seed", seed);
    visit("keep", keep);
  }
};

struct BenchReport {
  std::string schema = kBenchSchema;
  std::string version, commit, started, folder;
  BenchEnd end = BenchEnd::kRunning;
  std::string problem;  // what failed, and where; "": nothing
  double seconds = 0;
  std::map<std::string, std::string> performanceClass;  // PerformanceClass::fields
  std::string clock;                                    // "NVML", or why no clock is known
  std::string measure;                                  // "seconds a step", "seconds a token"
  BenchOptions options;
  BenchSide a, b;
  std::optional<BenchPair> first;  // the first pair, which does not count
  int planned = 0;                 // pairs
  std::vector<BenchPair> pairs;
  std::vector<BenchLook> looks;
  golden::ThroughputVerdict verdict = golden::ThroughputVerdict::kAmbiguous;  // of the last look
  std::string reason;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("version", version);
    visit("commit", commit);
    visit("started", started);
    visit("folder", folder);
    visit("end", end);
    visit.unless("problem", problem, "");
    visit("seconds", seconds);
    visit("performance_class", performanceClass);
    visit("clock", clock);
    visit("measure", measure);
    visit("options", options);
    visit("a", a);
    visit("b", b);
    visit("first", first);
    visit("planned", planned);
    visit("pairs", pairs);
    visit("looks", looks);
    visit("verdict", verdict);
    visit.unless("reason", reason, "");
  }
};

/// For people: verdict first, then how sure it is, and what it rests on.
std::string describe(const BenchReport& report);

/// Of a bench.json. Throws Error(kBadInput).
BenchReport loadBench(const std::string& path);

}  // namespace redraft::harness
