// What capturing a run by CUPTI costs: steps of one drafter at full size (bench/drafter_step.h), in blocks by turns
// recorded and not (harness/probe), in an order that alternates.
//
// With --ablation, what each kind of record costs: blocks that record all, all but one part, kernels alone, and
// nothing.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/philox.h"
#include "base/pinned_environment.h"
#include "bench/drafter_step.h"
#include "harness/probe/captured_run.h"
#include "harness/trace/binary_trace.h"
#include "scenarios/spec/store.h"

namespace redraft::bench {
namespace {

using harness::CapturePart;

constexpr int kFileSteps = 8;
constexpr std::size_t kShownKernels = 40;

struct Options {
  std::string scenario = "scaling/one-drafter", scenarios;
  int pairs = 20, steps = 20, warmup = 1, flushEvery = 1;
  bool ablation = false, pinned = false;
};

/// Null: nothing is recorded.
using LeftOut = std::optional<std::set<CapturePart>>;

void check(bool done, const std::string& error) {
  if (!done) throw std::runtime_error(error);
}

class Blocks {
 public:
  Blocks(const scenarios::Scenario& scenario, const Options& options) : step_(scenario), options_(options) {}

  void capture(harness::DeviceCapture& capture) { capture_ = &capture; }

  /// Milliseconds a step, over a block; the first steps are not timed.
  double run(const LeftOut& leftOut) {
    record(leftOut);
    for (int i = 0; i < options_.warmup; ++i) one(leftOut.has_value());
    step_.finish();
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < options_.steps; ++i) one(leftOut.has_value());
    step_.finish();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count() / options_.steps;
  }
  std::int64_t stepsDone() const { return done_; }
  double loss() const { return loss_; }

 private:
  void record(const LeftOut& leftOut) {
    if (capture_ == nullptr) return;
    std::string error;
    check(capture_->pause(error), error);
    if (!leftOut) return;
    capture_->leaveOut(*leftOut);
    check(capture_->resume(error), error);
  }
  void one(bool recorded) {
    loss_ = step_.run(done_);
    if (recorded && done_ % options_.flushEvery == 0) capture_->flush(done_);
    ++done_;
  }

  DrafterStep step_;
  const Options& options_;
  harness::DeviceCapture* capture_ = nullptr;
  std::int64_t done_ = 0;
  double loss_ = 0;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Mean of the pairs' ratios, and the bounds that 95 % of 10,000 resamples of the pairs lie within.
void printRatio(const char* what, const std::vector<double>& numerators, const std::vector<double>& denominators) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < numerators.size(); ++i) ratios.push_back(numerators[i] / denominators[i]);
  constexpr int kResamples = 10000;
  std::vector<double> means;
  for (int i = 0; i < kResamples; ++i) {
    CounterRng rng(1, "bootstrap", static_cast<std::uint64_t>(i));
    double sum = 0;
    for (std::size_t j = 0; j < ratios.size(); ++j) sum += ratios[static_cast<std::size_t>(rng.below(ratios.size()))];
    means.push_back(sum / static_cast<double>(ratios.size()));
  }
  std::sort(means.begin(), means.end());
  std::printf("%-28s %.4f  [%.4f, %.4f]  (%zu pairs; %.2f and %.2f ms a step)\n", what, mean(ratios), means[250],
              means[9749], ratios.size(), mean(numerators), mean(denominators));
}

std::vector<double> firstOf(const std::vector<double>& values, std::size_t count) {
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

/// The newest steps of a trace alone.
harness::Trace newestSteps(const harness::Trace& trace, std::int64_t from) {
  harness::Trace part;
  part.strings = trace.strings;
  part.files = trace.files;
  std::copy_if(trace.records.begin(), trace.records.end(), std::back_inserter(part.records),
               [from](const harness::TraceRecord& record) { return record.step >= from; });
  return part;
}

void describe(const harness::Trace& trace) {
  std::map<std::string, int> kinds, kernels;
  std::map<std::int64_t, std::int64_t> threadOf;
  for (const harness::TraceRecord& record : trace.records) {
    ++kinds[harness::recordKindName(record.kind)];
    if (record.kind == harness::RecordKind::kApi) threadOf[record.correlation] = record.thread;
  }
  for (const harness::TraceRecord& record : trace.records) {
    if (record.kind != harness::RecordKind::kKernel) continue;
    const auto thread = threadOf.find(record.correlation);
    ++kernels["thread " + (thread == threadOf.end() ? "?" : std::to_string(thread->second)) + ", " +
              trace.text(record.role) + ", " + trace.text(record.phase)];
  }
  for (const auto& [kind, count] : kinds) std::printf("  %-12s %d\n", kind.c_str(), count);
  std::printf("kernels by calling thread, role and phase:\n");
  for (const auto& [who, count] : kernels) std::printf("  %-48s %d\n", who.c_str(), count);
}

/// The kernels that take the most time.
void describeKernels(const harness::Trace& trace, double steps) {
  struct Total {
    double count = 0, nanos = 0;
  };
  std::map<std::string, Total> totals;
  for (const harness::TraceRecord& record : trace.records) {
    if (record.kind != harness::RecordKind::kKernel) continue;
    Total& total = totals[trace.text(record.name)];
    total.count += 1 / steps;
    total.nanos += static_cast<double>(record.durationNs) / steps;
  }
  std::vector<std::pair<std::string, Total>> order(totals.begin(), totals.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second.nanos > b.second.nanos; });
  order.resize(std::min<std::size_t>(order.size(), kShownKernels));
  std::printf("kernels that take the most time: ms and launches a step\n");
  for (const auto& [name, total] : order)
    std::printf("  %8.3f %6.1f  %.100s\n", total.nanos / 1e6, total.count, name.c_str());
}

struct Variant {
  std::string name;
  LeftOut leftOut;
};

std::vector<Variant> ablations() {
  constexpr std::pair<CapturePart, const char*> kNames[] = {{CapturePart::kKernels, "kernels"},
                                                            {CapturePart::kCopies, "copies"},
                                                            {CapturePart::kWaits, "waits"},
                                                            {CapturePart::kEvents, "events"},
                                                            {CapturePart::kAllocations, "allocations"},
                                                            {CapturePart::kOverheads, "overheads"},
                                                            {CapturePart::kCalls, "calls"},
                                                            {CapturePart::kCallbacks, "callbacks"}};
  static_assert(std::size(kNames) == harness::kCaptureParts);
  std::vector<Variant> variants = {{"nothing", {}}, {"all", LeftOut{std::in_place}}};
  std::set<CapturePart> others;
  for (const auto& [part, name] : kNames) {
    variants.push_back({std::string("all but ") + name, LeftOut{std::in_place, {part}}});
    if (part != CapturePart::kKernels) others.insert(part);
  }
  variants.push_back({"kernels alone", others});
  return variants;
}

/// Each variant once a round, in an order that moves on by one.
void runAblation(Blocks& blocks, int rounds) {
  const std::vector<Variant> variants = ablations();
  std::vector<std::vector<double>> times(variants.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const std::size_t at = (i + static_cast<std::size_t>(round)) % variants.size();
      times[at].push_back(blocks.run(variants[at].leftOut));
    }
  }
  for (std::size_t i = 1; i < variants.size(); ++i)
    printRatio((variants[i].name + " / nothing").c_str(), times[i], times[0]);
}

struct Sides {
  std::vector<double> never, on, off;
};

void runPairs(Blocks& blocks, int pairs, Sides& sides) {
  for (int pair = 0; pair < pairs; ++pair)
    for (const bool recorded : {pair % 2 == 0, pair % 2 != 0})
      (recorded ? sides.on : sides.off).push_back(blocks.run(recorded ? LeftOut{std::in_place} : LeftOut{}));
}

void report(const Sides& sides, const harness::Trace& last, const harness::Trace& whole,
            const harness::DeviceCapture& capture) {
  printRatio("captured / paused", sides.on, sides.off);
  const std::size_t count = std::min(sides.never.size(), sides.off.size());
  if (count > 0) printRatio("paused / never captured", firstOf(sides.off, count), firstOf(sides.never, count));
  const auto kernels = std::count_if(last.records.begin(), last.records.end(), [](const harness::TraceRecord& record) {
    return record.kind == harness::RecordKind::kKernel;
  });
  const double perStep = static_cast<double>(kernels) / kFileSteps;
  std::printf("%.1f kernels a step; %.3f us a kernel\n", perStep,
              1000 * (mean(sides.on) - mean(sides.off)) / std::max(1.0, perStep));
  std::printf("compact file of %d steps: %zu bytes; records:\n", kFileSteps, harness::binaryTraceBytes(last).size());
  describe(last);
  describeKernels(last, kFileSteps);
  std::printf("capture of all steps: %s; %lld lost\n", harness::costText(capture.cost()).c_str(),
              static_cast<long long>(whole.files.front().capture.dropped.value_or(-1)));
}

void run(const Options& options) {
  const std::string root = scenarios::findScenarios(options.scenarios, ".");
  const auto variants = scenarios::loadVariants(root, options.scenario);
  const scenarios::Scenario& scenario = scenarios::findScenario(variants, options.scenario).scenario;
  harness::CaptureOptions capturing;
  capturing.pinnedDeviceBuffers = options.pinned;
  std::optional<harness::CapturedRun> captured;
  if (options.pinned) captured.emplace(capturing);  // before the first context
  Blocks blocks(scenario, options);
  Sides sides;
  if (!captured) {
    for (int i = 0; i < 2; ++i) sides.never.push_back(blocks.run({}));
    captured.emplace(capturing);
  }
  blocks.capture(captured->capture());
  std::printf("%s, %d steps a block, %d steps a side%s\n", options.scenario.c_str(), options.steps,
              options.steps * options.pairs, options.pinned ? ", CUPTI's device buffers in pinned memory" : "");
  if (options.ablation) return runAblation(blocks, options.pairs);
  runPairs(blocks, options.pairs, sides);
  blocks.run(LeftOut{std::in_place});
  const harness::Trace whole = captured->stop(harness::StopMode::kWaitForDevices);
  report(sides, newestSteps(whole, blocks.stepsDone() - kFileSteps), whole, captured->capture());
  std::printf("loss after %lld steps: %.4f\n", static_cast<long long>(blocks.stepsDone()), blocks.loss());
}

}  // namespace
}  // namespace redraft::bench

int main(int argc, char** argv) {
  redraft::bench::Options options;
  CLI::App app("What capturing a run by CUPTI costs a step: blocks by turns recorded and not");
  app.add_option("--scenario", options.scenario, "whose drafter is trained, on one GPU")->capture_default_str();
  app.add_option("--scenarios", options.scenarios, "folder of scenario files");
  app.add_option("--pairs", options.pairs, "blocks a side (of an ablation: a variant)")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  app.add_option("--steps", options.steps, "timed steps a block")->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--warmup", options.warmup, "steps before them")->check(CLI::Range(0, 1000))->capture_default_str();
  app.add_option("--flush", options.flushEvery, "records are asked for every so many steps")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_flag("--ablation", options.ablation, "what each kind of record costs");
  app.add_flag("--pinned", options.pinned, "CUPTI's buffers of device times in pinned host memory");
  CLI11_PARSE(app, argc, argv);
  try {
    redraft::restartPinned(argv);
    redraft::bench::run(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "capture_bench: %s\n", error.what());
    return 1;
  }
}
