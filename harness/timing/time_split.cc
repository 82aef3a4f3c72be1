#include "harness/timing/time_split.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/error.h"
#include "harness/affinity/trace_index.h"
#include "harness/timing/host_ranges.h"
#include "harness/timing/idle_causes.h"
#include "harness/timing/lane_splitter.h"
#include "harness/timing/lanes.h"

namespace redraft::harness {
namespace {

constexpr std::int64_t kMostSkipped = 4;  // steps that compile, load and allocate

// Within these, no sum and no difference below can overflow: the year 2065, and 31 years.
constexpr std::int64_t kLatestNs = 3'000'000'000'000'000'000, kLongestNs = 1'000'000'000'000'000'000;

void checkTimes(const Trace& trace) {
  for (const TraceRecord& record : trace.records)
    if (record.startNs < -kLatestNs || record.startNs > kLatestNs || record.durationNs > kLongestNs)
      throwBadInput(trace.files[record.file].path + ": event " + std::to_string(record.index),
                    "has a time that no clock shows");
}

/// The steps to split, and those to leave out, of all that some device has.
void chooseSteps(const std::vector<Lane>& lanes, const SplitOptions& options, TimeSplit& split) {
  std::set<std::int64_t> numbers;
  for (const Lane& lane : lanes)
    for (const StepWindow& window : lane.windows) numbers.insert(window.step);
  const auto count = static_cast<std::int64_t>(numbers.size());
  const std::int64_t skip = options.skip.value_or(std::min(kMostSkipped, count / 4));
  // How long the last step is, nothing says: its end is where the next would begin. A single one is better than none.
  const bool dropLast = count > skip + 1;
  if (skip < 0 || skip >= count)
    throwBadInput(split.files.front(),
                  "has " + std::to_string(count) + " steps, and " + std::to_string(skip) + " are to be left out",
                  "leave out fewer (--skip)");
  std::int64_t at = 0;
  for (const std::int64_t step : numbers) {
    const bool out = at < skip || (dropLast && at == count - 1);
    (out ? split.leftOut : split.steps).push_back(step);
    ++at;
  }
}

/// "rank 1", or the number of the process in the order of the files; "" of a single process.
std::string processName(const TraceIndex& index, const std::vector<Lane>& lanes, std::int64_t process) {
  std::set<std::int64_t> processes;
  for (const Lane& lane : lanes) processes.insert(lane.process);
  if (processes.size() < 2) return "";
  std::vector<std::int64_t> seen;
  const Trace& trace = index.trace();
  for (std::size_t file = 0; file < trace.files.size(); ++file) {
    TraceRecord of;
    of.file = static_cast<std::uint16_t>(file);
    const std::int64_t each = index.processOf(of);
    if (std::find(seen.begin(), seen.end(), each) == seen.end()) seen.push_back(each);
    if (each != process) continue;
    const CaptureInfo& capture = trace.files[file].capture;
    if (!capture.communicators.empty()) return "rank " + std::to_string(capture.communicators.front().rank);
    // In ours `rank` is the device, for tools that have no other word for it.
    if (capture.source.empty() && trace.files[file].rank) return "rank " + std::to_string(*trace.files[file].rank);
    return "process " + std::to_string(seen.size());
  }
  return "";
}

void countWaits(const TraceIndex& index, const StepNumbers& numbers, const HostWaits& waits, TimeSplit& split) {
  const std::set<std::int64_t> steps(split.steps.begin(), split.steps.end());
  std::map<std::pair<std::string, std::string>, HostWaitCount> counts;
  for (const HostWait& wait : waits.all()) {
    if (!steps.contains(-1) && !steps.contains(numbers.of(*wait.record))) continue;
    const std::string &role = index.roleOf(*wait.record), &call = index.trace().text(wait.record->name);
    HostWaitCount& count = counts[{role, call}];
    count = {role, call, count.count + 1, boundedSum(count.ns, wait.end - wait.begin)};
  }
  for (auto& [key, count] : counts) split.waits.push_back(std::move(count));
}

void addNotes(const TraceIndex& index, const StepNumbers& numbers, TimeSplit& split) {
  const Trace& trace = index.trace();
  const auto note = [&split](std::string text) { split.notes.push_back(std::move(text)); };
  if (split.steps.front() < 0) note("no work is of a step: the whole trace is taken for one");
  if (numbers.byOptimizer()) note("no record names a step: one ends with each step of the optimiser");
  if (index.count(RecordKind::kApi) == 0) note("no calls were recorded: why devices were idle cannot be told");
  if (!index.captured(RecordKind::kSync) || !index.captured(RecordKind::kEvent))
    note("events and waits were not recorded: a stream's wait for an event is launch latency or unknown");
  std::int64_t dropped = 0;
  bool simulated = false;
  for (const TraceFile& file : trace.files) {
    dropped += file.capture.dropped.value_or(0);
    simulated |= file.capture.source == "sim";
  }
  if (dropped > 0) note("the capture lost " + std::to_string(dropped) + " records: what they held counts as idle");
  if (simulated)
    note(
        "simulated devices: work is done within its call, waits take no time, and LibTorch's operations are not "
        "recorded: they "
        "are time in which nothing was launched; counts are exact");
}

}  // namespace

const char* partTitle(TimePart part) {
  constexpr std::array<const char*, kTimeParts> kTitles = {
      "compute",           "exposed communication", "exposed copies",
      "idle: late launch", "idle: host sync",       "idle: after host sync",
      "idle: event wait",  "idle: launch latency",  "idle: unknown"};
  return kTitles[static_cast<std::size_t>(part)];
}

std::map<std::string, std::int64_t> partsByName(const TimeParts& parts) {
  std::map<std::string, std::int64_t> named;
  for (const auto& [part, name] : NameTable<TimePart>::kNames) named[name] = parts[static_cast<std::size_t>(part)];
  return named;
}

TimeSplit splitTime(const Trace& trace, const SplitOptions& options) {
  if (trace.files.empty()) throwBadInput("the trace", "holds no file");
  checkTimes(trace);
  const TraceIndex index(trace, nullptr);
  const StepNumbers numbers(index);
  const std::vector<Lane> lanes = lanesOf(index, numbers);
  TimeSplit split;
  for (const TraceFile& file : trace.files) split.files.push_back(file.path);
  if (lanes.empty()) throwBadInput(trace.files.front().path, "holds no work of a device");
  chooseSteps(lanes, options, split);
  const std::set<std::int64_t> steps(split.steps.begin(), split.steps.end());
  const IdleCauses causes(index);
  const HostRanges ranges(index);
  for (const Lane& lane : lanes) {
    DeviceSplit device = LaneSplitter(index, causes, ranges, lane, steps).split();
    device.process = processName(index, lanes, lane.process);
    if (!device.steps.empty()) split.devices.push_back(std::move(device));
  }
  countWaits(index, numbers, causes.hostWaits(), split);
  addNotes(index, numbers, split);
  return split;
}

}  // namespace redraft::harness
