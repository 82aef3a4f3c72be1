#pragma once
// Runs one child, or one for each process, over a prepared run folder, and watches it: its output, its event log, its
// time. Says what happened; what that means is decided elsewhere (attribution.h, judge.h).

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/case_plan.h"
#include "harness/child_process.h"
#include "harness/events.h"

namespace redraft::harness {

/// Why the supervisor ended the child.
enum class Stop { kNone, kNoProgress, kTimeLimit, kInterrupted, kBrokenRecord };

/// What is to be seen while it runs. `step` counts finished steps.
struct RunProgress {
  std::int64_t step = 0;
  std::int64_t tokens = 0;  // trained on so far
  double seconds = 0;
};
using ProgressCallback = std::function<void(const RunProgress&)>;

struct SupervisorOptions {
  std::string runner;                     // path of redraft-runner
  std::vector<std::string> wrapper = {};  // put before it: a debugger's command line
  std::vector<std::string> options = {};  // of `redraft-runner run`, behind the folder
  int keepFd = -1;                        // a descriptor that the only child takes over, under the same number
  std::function<bool()> held = {};        // true while it is made to wait: that it shows no progress is no hang
  std::chrono::milliseconds look{25};     // how often the event log is looked at
  std::chrono::milliseconds grace{2000};  // from one signal to the next, harsher one
  ProgressCallback onProgress;            // on the calling thread, at most every 200 ms
};

struct Observation {
  EventLog log;
  ChildEnd end;
  Stop stop = Stop::kNone;
  double seconds = 0;                // wall time of the child
  std::vector<std::string> threads;  // at a stop for time: each thread's name, state and kernel wait channel

  // Where several processes share the run out.
  int rank = 0;
  int order = 0;                    // in which the ranks ended
  bool endedForPeers = false;       // by the supervisor, because another rank was gone
  bool suspended = false;           // at a stop for time: no thread of it may run (SIGSTOP)
  std::vector<Observation> others;  // ranks 1, 2, …; on rank 0's alone
};

/// Starts a child a process of the plan, each with torchrun's variables, and returns when all have ended; they always
/// do: when one ends badly, the others have a grace to say so themselves. Throws Error(kEnvironment) when it cannot be
/// started or its output cannot be kept; the child is gone then too.
Observation supervise(const std::string& folder, const CasePlan& plan, const SupervisorOptions& options);

/// The program beside this one. Throws Error(kEnvironment) with the remedy when it is not there.
std::string findRunner(const std::string& given);

}  // namespace redraft::harness
