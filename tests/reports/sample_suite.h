#pragma once
// A suite with a passed case, a caught fault and a crash, for the tests of printers.

#include "reports/result.h"

namespace redraft::reports {

inline SuiteResult sampleSuite() {
  CaseResult passed;
  passed.name = "dual-drafter";
  passed.description = "Two drafters";
  passed.verdict = Verdict::kPassed;
  passed.golden = "dual-drafter (cpu): equal bit for bit";
  passed.ended = "exited 0";
  passed.runFolder = "runs/s/dual-drafter";
  passed.replay = "redraft replay 'runs/s/dual-drafter'";
  passed.digest = "00ff";
  passed.audit = {AuditOutcome::kClean, "", {}, {"A1", "A9"}, {{"A2", "wrong-stream", "no streams are named"}}};
  passed.figures = {12, 1.5, {{"all", 19400}}, 5.5, 2.25, 3.5, {{"6", 1024}}, {}};

  CaseResult caught = passed;
  caught.name = "dual-drafter/shared-kernel-cache";
  caught.verdict = Verdict::kFailed;
  caught.expected = {Verdict::kFailed, "kernel-cache/shared-handle"};
  caught.golden = caught.digest = "";
  caught.ended = "exited 1";
  caught.audit = {AuditOutcome::kFound, "", {"A9 host-sync (2)"}, {"A1"}, {}};
  caught.figures = {0, 0.75, {}, {}, {}, {}, {}, {}};
  Finding finding;
  finding.id = "kernel-cache/shared-handle";
  finding.title = "kernel attention was loaded on device 6 and launched on device 7";
  finding.role = "drafter[1]";
  finding.step = 0;
  finding.phase = "drafter_forward";
  finding.device = 7;
  finding.details = {"one handle serves several devices"};
  finding.evidence = {212, 240};
  finding.ruledOut = {{"kernel-cache/device-not-passed", "the call site passed device 7 (event 211)"}};
  finding.signature = "kernel-cache/shared-handle|refused|drafter[1]|0|drafter_forward|400";
  Finding waits;
  waits.id = "affinity/host-sync";
  waits.title = "wait 2 of step 3, of 1 allowed";
  waits.proofs = {{"A9", "wait 2 of step 3, of 1 allowed", "trace/run.rdtrace record 17: api cuCtxSynchronize"}};
  waits.signature = "affinity/host-sync|silent|drafter[0]|3||0";
  caught.findings = {finding, waits};

  CaseResult crashed = passed;
  crashed.name = "single-drafter";
  crashed.verdict = Verdict::kCrashed;
  crashed.reason = "signal 11 (SIGSEGV), without run.end";
  crashed.golden = crashed.digest = "";
  crashed.ended = "signal 11 (SIGSEGV)";
  crashed.audit = {AuditOutcome::kAbsent, "the run ended before it wrote a trace", {}, {}, {}};
  crashed.figures = {};

  SuiteResult suite;
  suite.version = "0.1.0";
  suite.commit = "abc";
  suite.started = "2026-11-29T20:00:00Z";
  suite.folder = "runs/s";
  suite.seconds = 2.25;
  suite.complete = true;
  suite.cases = {passed, caught, crashed};
  return suite;
}

}  // namespace redraft::reports
