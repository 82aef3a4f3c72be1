#include "harness/timing/lane_splitter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/timing/kernel_names.h"

namespace redraft::harness {
namespace {

TimePart partOf(const Trace& trace, const TraceRecord& work) {
  if (work.kind != RecordKind::kKernel) return TimePart::kCopies;
  return isCommunication(trace.text(work.name)) ? TimePart::kCommunication : TimePart::kCompute;
}

}  // namespace

double spreadOf(double sum, double squares, std::int64_t n) {
  if (n < 2) return 0;
  const auto count = static_cast<double>(n);
  return std::sqrt(std::max(0.0, (squares - sum * sum / count) / (count - 1)));
}

LaneSplitter::LaneSplitter(const TraceIndex& index, const IdleCauses& causes, const HostRanges& ranges,
                           const Lane& lane, const std::set<std::int64_t>& steps)
    : index_(index), causes_(causes), ranges_(ranges), lane_(lane) {
  for (const StepWindow& window : lane.windows)
    if (steps.contains(window.step)) steps_.push_back({window.step, window.begin, window.length(), {}});
  index.each(RecordKind::kStream, [&](const TraceRecord& stream) {
    if (stream.has(kOwned) && index.processOf(stream) == lane.process)
      ownStreams_.insert({index.roleOf(stream), stream.context, stream.stream});
  });
}

std::uint32_t LaneSplitter::streamOf(const TraceRecord& work) {
  const std::string* role = &index_.roleOf(work);
  const auto [entry, added] =
      streamNumbers_.try_emplace({role, work.context, work.stream}, static_cast<std::uint32_t>(streams_.size()));
  if (added) {
    const bool own = ownStreams_.contains({*role, work.context, work.stream});
    streams_.push_back(own ? "own" : "#" + std::to_string(++streamsOfRole_[role]));
  }
  return entry->second;
}

std::uint32_t LaneSplitter::group(const Key& key, const TraceRecord& work) {
  const auto [entry, added] = groups_.try_emplace(key, static_cast<std::uint32_t>(sums_.size()));
  if (!added) return entry->second;
  TimeGroup& made = sums_.emplace_back().group;
  made.part = std::get<TimePart>(key);
  made.role = index_.roleOf(work);
  made.phase = index_.trace().text(std::get<2>(key));
  if (!isBusy(made.part)) return entry->second;
  made.stream = streams_[std::get<3>(key)];
  made.name = index_.trace().text(work.name);
  made.shape = index_.trace().text(work.shape);
  if (work.kind != RecordKind::kKernel) made.shape = std::to_string(work.bytes) + " bytes";
  return entry->second;
}

StringId LaneSplitter::phaseOf(const TraceRecord& work) const {
  if (work.phase != 0) return work.phase;
  const TraceRecord* call = index_.callOf(work);
  if (call == nullptr) return 0;
  return call->phase != 0 ? call->phase : ranges_.at(*call);
}

std::uint32_t LaneSplitter::groupOf(const TraceRecord& work) {
  const std::int64_t bytes = work.kind == RecordKind::kKernel ? 0 : work.bytes;
  return group(
      {partOf(index_.trace(), work), &index_.roleOf(work), phaseOf(work), streamOf(work), work.name, work.shape, bytes},
      work);
}

std::uint32_t LaneSplitter::idleGroup(const TraceRecord& next, TimePart part, const std::string& name) {
  const std::uint32_t number = group({part, &index_.roleOf(next), phaseOf(next), 0, reasons_.intern(name), 0, 0}, next);
  sums_[number].group.name = name;
  return number;
}

template <class Use>
void LaneSplitter::inSteps(std::int64_t begin, std::int64_t end, Use&& use) const {
  auto step = std::partition_point(steps_.begin(), steps_.end(),
                                   [begin](const StepTime& each) { return each.beginNs + each.wallNs <= begin; });
  for (; step != steps_.end() && step->beginNs < end; ++step) {
    const std::int64_t from = std::max(begin, step->beginNs), to = std::min(end, step->beginNs + step->wallNs);
    if (from < to) use(static_cast<std::size_t>(step - steps_.begin()), from, to);
  }
}

void LaneSplitter::closeStep(Sum& sum) const {
  sum.squares += static_cast<double>(sum.ofStep) * static_cast<double>(sum.ofStep);
  sum.ofStep = 0;
}

void LaneSplitter::spend(std::size_t step, std::uint32_t group, TimePart part, std::int64_t ns) {
  Sum& sum = sums_[group];
  if (sum.step != step) closeStep(sum);
  sum.step = step;
  sum.ofStep += ns;
  sum.group.ns += ns;
  steps_[step].parts[static_cast<std::size_t>(part)] += ns;
}

/// Shared evenly, the nanoseconds that are left over by those who began first.
void LaneSplitter::addBusy(std::int64_t begin, std::int64_t end, TimePart part, std::span<const std::uint32_t> groups) {
  inSteps(begin, end, [&](std::size_t step, std::int64_t from, std::int64_t to) {
    const auto count = static_cast<std::int64_t>(groups.size());
    std::int64_t rest = (to - from) % count;
    for (const std::uint32_t group : groups) spend(step, group, part, (to - from) / count + (rest-- > 0 ? 1 : 0));
  });
}

void LaneSplitter::addIdle(std::int64_t begin, std::int64_t end, std::size_t next) {
  const TraceRecord& work = *lane_.work[next];
  causes_.split(begin, end, work, [&](std::int64_t from, std::int64_t to, TimePart part, const std::string& name) {
    inSteps(from, to, [&](std::size_t step, std::int64_t inFrom, std::int64_t inTo) {
      spend(step, idleGroup(work, part, name), part, inTo - inFrom);
    });
  });
}

void LaneSplitter::addCounts(const TimedWork& work) {
  inSteps(work.begin, work.begin + 1, [&](std::size_t, std::int64_t, std::int64_t) {
    ++sums_[work.group].group.count;
    std::int64_t& busyNs = sums_[work.group].group.busyNs;
    busyNs = boundedSum(busyNs, work.end - work.begin);
  });
}

void LaneSplitter::takeGroups(DeviceSplit& split) {
  for (Sum& sum : sums_) {
    closeStep(sum);
    sum.group.spreadNs = spreadOf(static_cast<double>(sum.group.ns), sum.squares, split.stepCount());
    if (sum.group.ns > 0 || sum.group.count > 0) split.groups.push_back(std::move(sum.group));
  }
  const auto rank = [](const TimeGroup& each) {
    return std::tie(each.part, each.role, each.phase, each.stream, each.name, each.shape);
  };
  std::sort(split.groups.begin(), split.groups.end(),
            [&](const TimeGroup& a, const TimeGroup& b) { return a.ns != b.ns ? a.ns > b.ns : rank(a) < rank(b); });
}

DeviceSplit LaneSplitter::split() {
  std::vector<TimedWork> timed;
  timed.reserve(lane_.work.size());
  std::set<std::string> roles;
  for (const TraceRecord* work : lane_.work) {
    timed.push_back({work->startNs, endOf(*work), partOf(index_.trace(), *work), groupOf(*work)});
    addCounts(timed.back());
  }
  for (const Sum& sum : sums_)
    if (!sum.group.role.empty()) roles.insert(sum.group.role);
  const SweepUses uses{[this](std::int64_t begin, std::int64_t end, TimePart part,
                              std::span<const std::uint32_t> groups) { addBusy(begin, end, part, groups); },
                       [this](std::int64_t begin, std::int64_t end, std::size_t next) { addIdle(begin, end, next); }};
  BusySweep(timed, uses).run();
  DeviceSplit split;
  split.device = lane_.device;
  split.roles.assign(roles.begin(), roles.end());
  split.steps = std::move(steps_);
  double squares = 0;
  for (const StepTime& step : split.steps) {
    split.wallNs += step.wallNs;
    squares += static_cast<double>(step.wallNs) * static_cast<double>(step.wallNs);
    for (std::size_t part = 0; part < kTimeParts; ++part) split.parts[part] += step.parts[part];
  }
  split.spreadNs = spreadOf(static_cast<double>(split.wallNs), squares, split.stepCount());
  takeGroups(split);
  return split;
}

}  // namespace redraft::harness
