#pragma once
// A suite with the details that a page shows, for the tests of the HTML report: "wide" has 8 devices × 200 steps,
// "caught" and "hung" what failing runs have, and "hostile" texts that try to become markup.

#include <cmath>
#include <string>

#include "reports/html/page.h"

namespace redraft::reports {

inline const std::string kHostile =
    "</script><script>window.broken=1</script><img src=x "
    "onerror=\"window.broken=2\"><!--<script>{{data}}\xe2\x80\xa8&amp;]]>";

inline CaseResult sampleCase(const std::string& name, Verdict verdict, std::int64_t steps) {
  CaseResult result;
  result.name = name;
  result.description = "Two drafters";
  result.verdict = verdict;
  result.expected.verdict = verdict;
  result.ended = "exited 0";
  result.runFolder = "runs/s/" + name;
  result.replay = "redraft replay 'runs/s/" + name + "'";
  result.audit = {AuditOutcome::kClean, "", {}, {"A1", "A9"}, {{"A2", "wrong-stream", "no streams are named"}}};
  result.figures = {steps, 1.5, {{"all", 19400}}, 5.5, 2.25, 3.5, {{"6", 1024}}, {}};
  return result;
}

inline Finding sampleFinding() {
  Finding finding;
  finding.id = "kernel-cache/shared-handle";
  finding.title = "kernel attention was loaded on device 6 and launched on device 7";
  finding.role = "drafter[1]";
  finding.step = 0;
  finding.phase = "drafter_forward";
  finding.device = 7;
  finding.details = {"one handle serves several devices"};
  finding.evidence = {212, 240};
  finding.proofs = {{"A9", "wait 2 of step 3, of 1 allowed", "trace/run.rdtrace record 17: api cuCtxSynchronize"}};
  finding.ruledOut = {{"kernel-cache/device-not-passed", "the call site passed device 7 (event 211)"}};
  finding.signature = "kernel-cache/shared-handle|refused|drafter[1]|0|drafter_forward|400";
  return finding;
}

inline Curves sampleCurves(std::int64_t steps, std::int64_t differentFrom) {
  Curves curves;
  MetricCurve loss{"loss", {}, {}}, norm{"grad_norm", {}, {}};
  for (std::int64_t step = 0; step < steps; ++step) {
    const double value =
        1.5 + 4.5 * std::exp(-static_cast<double>(step) / 8) + 0.08 * std::sin(static_cast<double>(step) * 1.7);
    curves.steps.push_back(step);
    loss.golden.push_back(value);
    loss.run.push_back(step < differentFrom ? value : value + 0.3);
    norm.run.push_back(value * 2);
    norm.golden.push_back(value * 2);
  }
  curves.metrics = {norm, loss};
  curves.golden = "dual-drafter (sim-avx2)";
  if (differentFrom < steps) curves.firstDifferent = differentFrom;
  return curves;
}

inline GradientMap sampleGradients(std::int64_t steps, std::int64_t differentFrom) {
  GradientMap map;
  map.distances = true;
  for (std::int64_t step = 0; step < steps; ++step) map.steps.push_back(step);
  for (int layer = 0; layer < 6; ++layer) {
    for (const char* name : {"self_attn.q_proj", "self_attn.o_proj", "mlp.up_proj", "mlp.down_proj"}) {
      map.parameters.push_back("layers." + std::to_string(layer) + "." + name + ".weight");
      std::vector<double>& row = map.rows.emplace_back();
      for (std::int64_t step = 0; step < steps; ++step)
        row.push_back(step < differentFrom ? 0 : 1e-6 * std::pow(2.0, static_cast<double>(step % 12 + layer)));
    }
  }
  return map;
}

inline Throughput sampleThroughput(std::int64_t steps) {
  Throughput view;
  for (const char* role : {"all", "drafter[0]"}) {
    RateSamples samples{role, {}, {}};
    for (std::int64_t step = 0; step < steps; ++step) {
      samples.run.push_back(2500 + 40 * std::sin(static_cast<double>(step) * 2.3));
      samples.golden.push_back(2520 + 30 * std::sin(static_cast<double>(step) * 1.9));
    }
    view.roles.push_back(samples);
  }
  for (std::int64_t step = 0; step < steps; ++step)
    view.stepSeconds.push_back(0.1 + 0.004 * std::sin(static_cast<double>(step)));
  return view;
}

/// A wait at the end of each step.
inline Lane sampleHostLane(std::int64_t steps, std::int64_t stepLength) {
  Lane host;
  host.name = "host, drafter[0]";
  for (std::int64_t step = 0; step < steps; ++step) {
    host.gap.push_back(stepLength - 20'000);
    host.length.push_back(20'000);
    host.label.push_back(5);
    host.step.push_back(step);
  }
  return host;
}

/// `perStep` bars a device and step.
inline Timeline sampleTimeline(int devices, std::int64_t steps, int perStep) {
  Timeline timeline;
  timeline.source = "cupti";
  timeline.labels = {{"kernel", "attention_forward", "drafter[0]", "drafter_forward"},
                     {"kernel", "gemm", "drafter[0]", "backward"},
                     {"copy", "Memcpy HtoD (Pinned -> Device)", "drafter[0]", ""},
                     {"peer copy", "Memcpy PtoP", "drafter[0]", "hand_off"},
                     {"collective", "ncclDevKernel_AllReduce", "drafter[0]", ""},
                     {"wait", "Stream Sync", "drafter[0]", ""}};
  const std::int64_t each = 30'000, stepLength = each * perStep + 100'000;
  for (int device = 0; device < devices; ++device) {
    Lane lane;
    lane.device = device;
    lane.name = "device " + std::to_string(device) + ", stream 8";
    for (std::int64_t step = 0; step < steps; ++step) {
      for (int i = 0; i < perStep; ++i) {
        const std::int64_t gap = 500 + 37 * ((device * 7 + i * 13) % 29);
        lane.gap.push_back(i == 0 && step > 0 ? gap + 100'000 : gap);
        lane.length.push_back(each - gap);
        lane.label.push_back((i * 5 + device) % 5);
        lane.step.push_back(step);
      }
    }
    timeline.records += static_cast<std::int64_t>(lane.gap.size());
    timeline.lanes.push_back(std::move(lane));
  }
  timeline.length = stepLength * steps;
  for (std::int64_t step = 0; step < steps; ++step)
    timeline.steps.push_back({step, step * stepLength, (step + 1) * stepLength});
  timeline.lanes.push_back(sampleHostLane(steps, stepLength));
  timeline.records += steps;
  timeline.marks = {{devices, stepLength * 3, "A9 host-sync", "wait 2 of step 3, of 1 allowed",
                     "trace/run.rdtrace record 17", "drafter[0]", 3},
                    {devices - 1, stepLength * 4, "A1 wrong-device", "a kernel of drafter[0] on its device",
                     "trace/run.rdtrace record 19", "drafter[0]", 4}};
  return timeline;
}

inline Affinity sampleAffinity() {
  Affinity affinity;
  affinity.source = "trace";
  affinity.roles = {"drafter[0]", "drafter[1]", "target[0]"};
  affinity.devices = {0, 6, 7};
  affinity.cells = {{"drafter[0]", 6, 96, 566, 123'456'789, "yes", {}},
                    {"drafter[1]", 7, 96, 566, 123'456'789, "yes", {}},
                    {"drafter[1]", 6, 2, 0, 4'000'000, "no", {"A1 wrong-device"}},
                    {"target[0]", 0, 0, 0, 0, "yes", {}}};
  affinity.copies = {{"drafter[0]", 0, 6, 12, 393'216, false, "yes"},
                     {"drafter[0]", -1, 6, 500, 39'321'600, false, "host"},
                     {"drafter[1]", 0, 7, 2, 4096, true, "no"}};
  return affinity;
}

inline Ending sampleEnding() {
  Ending ending;
  ending.roles = {{0, "drafter[1]", 7, "layer_end", "backward", 3, 2, 754, 3.1, false, false},
                  {0, "drafter[0]", 6, "collective_enter", "all_reduce", 3, 2, 756, 3.0, true, false}};
  FailureView failure;
  failure.what = "CUDA_ERROR_INVALID_HANDLE: launch of attention_forward";
  failure.exception = "redraft::devices::DeviceError";
  failure.call = "launch";
  failure.status = "400";
  failure.role = "drafter[1]";
  failure.device = 7;
  failure.launch = "attention_forward on device 7, loaded on device 6";
  failure.tensors = {"block_mask.row_offsets (device 6, 4096 bytes, read)"};
  failure.frames = {"redraft::model::DrafterWorker::step(long)", "redraft::model::DrafterWorker::run()"};
  ending.failures = {failure};
  ending.stacks = {{0, "drafter[1]", true, {"redraft::scenarios::RunEvents::syncPoint()", "start_thread"}}};
  ending.log = {"redraft: info: begun", "redraft: error: ended by SIGSEGV"};
  return ending;
}

inline EnvironmentView sampleEnvironment() {
  return {"dual-drafter (sim-avx2), blessed 2026-11-29 at commit 1a2b3c: first",
          {{"program", "commit", "abc", std::nullopt},
           {"numerics class", "isa", "AVX2", "AVX2"},
           {"variable", "MKL_CBWR", "COMPATIBLE", "AUTO"}}};
}

/// Two devices, the second slower than in the reference; a name that is too long for its column.
inline Attribution sampleAttribution() {
  Attribution view;
  for (const char* key : {"compute", "communication", "copies", "late_launch", "host_sync", "after_host_sync",
                          "event_wait", "launch_latency", "unknown"})
    view.parts.push_back({key, std::string("part ") + key});
  view.steps = "2–6";
  view.leftOut = "0–1, 7";
  view.reference = "runs/2026-11-28T20-00-00Z";
  view.notes = {"events and waits were not recorded: a stream's wait for an event is launch latency or unknown"};
  for (int i = 0; i < 2; ++i) {
    DeviceTime device;
    device.title = "device " + std::to_string(i + 6);
    device.roles = {"drafter[" + std::to_string(i) + "]", "target[" + std::to_string(i + 4) + "]"};
    device.steps = 5;
    device.parts = {80e6, 6e6, 2e6, 4e6, 3e6, 1e6, 2e6, 1e6 + i * 20e6, 1e6};
    device.wallNs = 100e6 + i * 20e6;
    device.spreadNs = 1.2e6;
    device.lines = {
        {"compute", "drafter[0] backward own stream", "attention_backward", "", "grid 66x2x1 block 384x1x1", 18, 60e6,
         50e6},
        {"compute", "Optimizer.step#AdamW.step stream #1", "multi_tensor_apply_kernel<FusedOptim…e, bool>",
         "multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, " + kHostile + ">", "", 25, 30e6, 30e6}};
    device.others = 40;
    device.otherNs = device.wallNs - 80e6;
    DeviceTimeBefore before;
    before.parts = {78e6, 6e6, 2e6, 4e6, 3e6, 1e6, 2e6, 1e6, 1e6};
    before.wallNs = 98e6;
    before.errorNs = 0.4e6;
    before.clear = i == 1;
    before.changes = {{"launch_latency", "drafter[1] backward", "", "", "", "", 0, 0, 0, 0, 21e6},
                      {"compute", "drafter[1] backward own stream", "attention_backward", "", "", "was grid 66x1x1", 18,
                       18, 3.1e6, 3.3e6, 0.8e6}};
    before.residualNs = device.wallNs - before.wallNs - 21.8e6;
    device.before = before;
    view.devices.push_back(device);
  }
  view.waits = {{"drafter[0]", "cudaStreamSynchronize", 2, 70.5e6, 1, 60e6},
                {"target[0]", "cudaMemcpyAsync", 1, 1.5e4, 1, 1.5e4}};
  return view;
}

struct SamplePage {
  SuiteResult suite;
  PageDetails details;
};

inline Trend sampleTrend(const SuiteResult& suite) {
  Trend trend;
  for (int i = 0; i < 5; ++i)
    trend.suites.push_back({"2026-11-2" + std::to_string(i) + "T10-00-00Z", "2026-11-20T10:00:00Z", "abc", true});
  for (const CaseResult& each : suite.cases)
    trend.cases[each.name] = {std::vector<std::string>(5, enumName(each.verdict)),
                              std::vector<bool>(5, true),
                              {2400, 2410, 2390, 2500, 2520},
                              {2.3, 2.3, 2.3, 2.25, 2.25}};
  return trend;
}

inline SamplePage samplePage() {
  SamplePage page;
  SuiteResult& suite = page.suite;
  suite.version = "0.1.0";
  suite.commit = "abc";
  suite.started = "2026-11-29T20:00:00Z";
  suite.folder = "runs/s";
  suite.seconds = 2.25;
  suite.complete = true;
  CaseResult caught = sampleCase("caught", Verdict::kFailed, 24), hung = sampleCase("hung", Verdict::kHung, 3);
  caught.expected = {Verdict::kFailed, "kernel-cache/shared-handle"};
  caught.findings = {sampleFinding()};
  hung.findings = {sampleFinding()};
  hung.findings.front().id = "hang/no-progress";
  CaseResult hostile = sampleCase("hostile" + kHostile, Verdict::kCrashed, 0);
  hostile.expected.verdict = Verdict::kPassed;
  hostile.reason = hostile.description = kHostile;
  hostile.findings = {sampleFinding()};
  hostile.findings.front().title = hostile.findings.front().details.front() = kHostile;
  suite.cases = {sampleCase("wide", Verdict::kPassed, 200), caught, hung, hostile};

  CaseDetails wide{sampleCurves(200, 200),     sampleGradients(200, 200), sampleThroughput(200),
                   sampleTimeline(8, 200, 30), sampleAffinity(),          {},
                   sampleEnvironment(),        sampleAttribution()};
  CaseDetails failed{sampleCurves(24, 8), sampleGradients(24, 8), sampleThroughput(24), sampleTimeline(8, 24, 12),
                     sampleAffinity(),    sampleEnding(),         sampleEnvironment(),  sampleAttribution()};
  CaseDetails absent;
  absent.ending = sampleEnding();
  for (const char* each : {part::kCurves, part::kGradients, part::kThroughput, part::kTimeline, part::kAttribution,
                           part::kAffinity, part::kEnvironment})
    absent.notices[each] = std::string("metrics.jsonl is missing: ") + kHostile;
  page.details.cases = {{"wide", wide}, {"caught", failed}, {"hung", absent}, {hostile.name, absent}};
  page.details.trend = sampleTrend(suite);
  return page;
}

}  // namespace redraft::reports
