#include "harness/timing/lanes.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace redraft::harness {
namespace {

constexpr std::string_view kOptimizerRange = "Optimizer.step#";

/// Windows of the steps that some of the work belongs to; all of it is of one where no work is of any (`oneStep`).
std::vector<StepWindow> windowsOf(const StepNumbers& steps, const std::vector<const TraceRecord*>& work, bool oneStep) {
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> spans;  // step → first begin, last end
  for (const TraceRecord* each : work) {
    const std::int64_t step = oneStep ? -1 : steps.of(*each);
    if (!oneStep && step < 0) continue;
    auto& [begin, end] = spans.try_emplace(step, each->startNs, endOf(*each)).first->second;
    begin = std::min(begin, each->startNs);
    end = std::max(end, endOf(*each));
  }
  std::vector<StepWindow> windows;
  for (const auto& [step, span] : spans) {
    // A step whose first work runs ahead of the step before it begins with that one, and leaves it nothing.
    const std::int64_t begin = windows.empty() ? span.first : std::max(windows.back().begin, span.first);
    if (!windows.empty()) windows.back().end = begin;
    windows.push_back({step, begin, std::max(begin, span.second)});
  }
  return windows;
}

}  // namespace

StepNumbers::StepNumbers(const TraceIndex& index) : index_(index) {
  if (index.hasSteps()) return;
  index.each(RecordKind::kAnnotation, [&](const TraceRecord& range) {
    if (index.trace().text(range.name).starts_with(kOptimizerRange))
      optimizerEnds_[range.file].push_back(range.endNs());
  });
  for (auto& [file, ends] : optimizerEnds_) std::sort(ends.begin(), ends.end());
}

std::int64_t StepNumbers::of(const TraceRecord& record) const {
  if (index_.hasSteps()) return index_.stepOf(record);
  const auto ends = optimizerEnds_.find(record.file);
  const TraceRecord* call = isDeviceWork(record.kind) ? index_.callOf(record) : &record;
  if (ends == optimizerEnds_.end() || call == nullptr) return -1;
  return std::upper_bound(ends->second.begin(), ends->second.end(), call->startNs) - ends->second.begin();
}

std::vector<Lane> lanesOf(const TraceIndex& index, const StepNumbers& steps) {
  std::map<std::pair<std::int64_t, std::int32_t>, std::vector<const TraceRecord*>> byDevice;
  bool oneStep = true;
  index.eachWork([&](const TraceRecord& work) {
    byDevice[{index.processOf(work), work.device}].push_back(&work);
    oneStep = oneStep && steps.of(work) < 0;
  });
  std::vector<Lane> lanes;
  for (auto& [key, work] : byDevice) {
    const auto rank = [](const TraceRecord* each) {
      return std::tuple(each->startNs, endOf(*each), each->context, each->stream, each->correlation, each->kind,
                        each->bytes);
    };
    std::sort(work.begin(), work.end(), [&](const TraceRecord* a, const TraceRecord* b) {
      if (a->startNs != b->startNs) return a->startNs < b->startNs;
      return rank(a) < rank(b);
    });
    Lane lane{key.first, key.second, std::move(work), {}};
    lane.windows = windowsOf(steps, lane.work, oneStep);
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

}  // namespace redraft::harness
