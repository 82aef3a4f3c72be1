#include "harness/page/timeline.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "harness/timing/kernel_names.h"

namespace redraft::harness {
namespace {

constexpr const char* kSeveral = "several";
constexpr std::size_t kNameBytes = 120;                                     // of a kernel
constexpr std::int32_t kFolded = std::numeric_limits<std::int32_t>::max();  // context and stream of a shared lane

bool isHostWaitRecord(const TraceIndex& index, const TraceRecord& record) {
  return record.kind == RecordKind::kSync && index.trace().text(record.name) != "Stream Wait Event";
}

const char* kindOf(const TraceIndex& index, const TraceRecord& record) {
  switch (record.kind) {
    case RecordKind::kKernel:
      return index.trace().text(record.name).starts_with("nccl") ? "collective" : "kernel";
    case RecordKind::kCopy:
      return "copy";
    case RecordKind::kPeerCopy:
      return "peer copy";
    case RecordKind::kSet:
      return "set";
    case RecordKind::kSync:
      return "wait";
    default:
      return "call";
  }
}

}  // namespace

TimelineBuilder::LaneKey TimelineBuilder::laneOf(int rank, const TraceIndex& index, const TraceRecord& record) {
  if (isDeviceWork(record.kind)) return {rank, record.device, record.context, record.stream, ""};
  return {rank, -1, -1, -1, index.roleOf(record)};
}

TimelineBuilder::LaneKey TimelineBuilder::laneOf(int rank, const Violation& violation) {
  const auto kind = recordKindFromName(violation.kind);
  if (kind && isDeviceWork(*kind)) return {rank, violation.device, violation.context, violation.stream, ""};
  return {rank, -1, -1, -1, violation.role};
}

std::int64_t TimelineBuilder::labelOf(const TraceIndex& index, const TraceRecord& record) {
  const Trace& trace = index.trace();
  const reports::BarLabel label = {kindOf(index, record), trace.text(record.name), index.roleOf(record),
                                   trace.text(record.phase)};
  const auto [at, isNew] = labels_.try_emplace(label, static_cast<std::int64_t>(labelList_.size()));
  if (isNew) labelList_.push_back(label);
  return at->second;
}

/// The label of bars that stand for several of a kind and role.
std::int64_t TimelineBuilder::severalOf(std::int64_t label) {
  reports::BarLabel several = labelList_[static_cast<std::size_t>(label)];
  several.name = kSeveral;
  several.phase = "";
  const auto [at, isNew] = labels_.try_emplace(several, static_cast<std::int64_t>(labelList_.size()));
  if (isNew) labelList_.push_back(several);
  return at->second;
}

void TimelineBuilder::addRecord(int rank, const TraceIndex& index, const TraceRecord& record) {
  const std::int64_t step = index.stepOf(record);
  const LaneKey lane = laneOf(rank, index, record);
  lanes_[lane].push_back({record.startNs, std::max(record.startNs, record.endNs()), labelOf(index, record), step, 1});
  if (lane.device >= 0) roles_[lane].insert(index.roleOf(record));
  ++records_;
  if (step < 0) return;
  const auto noteBegin = [&](std::map<std::int64_t, std::int64_t>& begins) {
    const auto [at, isNew] = begins.try_emplace(step, record.startNs);
    at->second = std::min(at->second, record.startNs);
  };
  noteBegin(anySteps_);
  if (index.roleOf(record).starts_with("drafter")) noteBegin(drafterSteps_);
}

void TimelineBuilder::add(int rank, const TraceIndex& index, const TraceAudit& audit) {
  for (const TraceFile& file : index.trace().files)
    if (source_.empty()) source_ = file.capture.source;
  for (const TraceRecord& record : index.trace().records)
    if (isDeviceWork(record.kind) || isHostWaitRecord(index, record)) addRecord(rank, index, record);
  for (const auto* checks : {&audit.gate, &audit.checks}) {
    for (const TraceCheck& check : *checks) {
      for (const Violation& violation : check.violations) {
        marks_.push_back({laneOf(rank, violation), check.id + " " + check.name, violation});
        lanes_.try_emplace(marks_.back().lane);
      }
    }
  }
}

/// Lanes of streams, those first that worked least.
std::vector<TimelineBuilder::LaneKey> TimelineBuilder::streamsByWork() const {
  std::vector<std::pair<std::int64_t, LaneKey>> lanes;
  for (const auto& [key, bars] : lanes_) {
    if (key.device < 0) continue;
    std::int64_t busy = 0;
    for (const Bar& bar : bars) busy += bar.end - bar.begin;
    lanes.emplace_back(busy, key);
  }
  std::sort(lanes.begin(), lanes.end());
  std::vector<LaneKey> keys;
  for (const auto& [busy, key] : lanes) keys.push_back(key);
  return keys;
}

void TimelineBuilder::foldLanes(std::size_t maxLanes) {
  std::map<LaneKey, LaneKey> to;
  for (const LaneKey& key : streamsByWork()) {
    if (lanes_.size() <= maxLanes) break;
    const LaneKey shared = {key.rank, key.device, kFolded, kFolded, ""};
    std::vector<Bar> bars = std::move(lanes_.at(key));
    lanes_.erase(key);
    std::vector<Bar>& into = lanes_[shared];
    into.insert(into.end(), bars.begin(), bars.end());
    ++folded_[shared];
    to[key] = shared;
  }
  for (Mark& mark : marks_)
    if (const auto found = to.find(mark.lane); found != to.end()) mark.lane = found->second;
}

std::size_t TimelineBuilder::countBars() const {
  std::size_t count = 0;
  for (const auto& [key, bars] : lanes_) count += bars.size();
  return count;
}

void TimelineBuilder::sortBars() {
  begin_ = std::numeric_limits<std::int64_t>::max();
  end_ = std::numeric_limits<std::int64_t>::min();
  for (auto& [key, bars] : lanes_) {
    std::stable_sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.begin < b.begin; });
    for (const Bar& bar : bars) {
      begin_ = std::min(begin_, bar.begin);
      end_ = std::max(end_, bar.end);
    }
  }
}

/// Gives up as little as it can: first the gaps between equal bars, then their names, their kinds, and their steps.
void TimelineBuilder::shrink(std::size_t maxBars) {
  const std::int64_t widest = (end_ - begin_) / 64;
  for (Merge allowed :
       {Merge{}, Merge{0, true, false, false}, Merge{0, true, true, false}, Merge{0, true, true, true}}) {
    for (std::int64_t gap = 1000; countBars() > maxBars; gap *= 2) {
      allowed.gap = std::min(gap, widest);
      merge(allowed);
      if (gap >= widest) break;
    }
  }
}

bool TimelineBuilder::together(const Bar& last, const Bar& next, const Merge& allowed) {
  if (next.begin - last.end > allowed.gap || (last.step != next.step && !allowed.steps)) return false;
  return last.label == next.label || allowed.kinds ||
         (allowed.labels && severalOf(last.label) == severalOf(next.label));
}

void TimelineBuilder::merge(const Merge& allowed) {
  for (auto& [key, bars] : lanes_) {
    std::vector<Bar> merged;
    for (const Bar& bar : bars) {
      if (merged.empty() || !together(merged.back(), bar, allowed)) {
        merged.push_back(bar);
        continue;
      }
      Bar& last = merged.back();
      // Of two kinds, what took longer names the bar.
      if (last.label != bar.label)
        last.label = severalOf(bar.end - bar.begin > last.end - last.begin ? bar.label : last.label);
      if (last.step != bar.step) last.step = -1;
      last.end = std::max(last.end, bar.end);
      last.count += bar.count;
    }
    bars = std::move(merged);
  }
}

/// Steps from one beginning to the next: targets run ahead, so ends would overlap.
std::vector<reports::StepSpan> TimelineBuilder::spans() const {
  std::vector<reports::StepSpan> spans;
  for (const auto& [step, at] : drafterSteps_.empty() ? anySteps_ : drafterSteps_) {
    if (!spans.empty()) spans.back().end = std::max(spans.back().begin, at - begin_);
    spans.push_back({step, at - begin_, end_ - begin_});
  }
  return spans;
}

/// Devices first, then what the hosts waited for.
std::vector<TimelineBuilder::LaneKey> TimelineBuilder::laneOrder() const {
  std::vector<LaneKey> order;
  for (const bool device : {true, false})
    for (const auto& [key, bars] : lanes_)
      if ((key.device >= 0) == device) order.push_back(key);
  return order;
}

/// "device 6, stream 8, drafter[0]": the role where all work of the stream is one's.
std::string TimelineBuilder::nameOf(const LaneKey& key) const {
  if (key.device < 0) return "host, " + (key.role.empty() ? "no role" : key.role);
  const std::string device = "device " + std::to_string(key.device) + ", ";
  if (const auto folded = folded_.find(key); folded != folded_.end())
    return device + std::to_string(folded->second) + " more stream" + (folded->second == 1 ? "" : "s");
  const auto roles = roles_.find(key);
  const bool single = roles != roles_.end() && roles->second.size() == 1 && !roles->second.begin()->empty();
  return device + "stream " + std::to_string(key.stream) + (single ? ", " + *roles->second.begin() : "");
}

reports::Lane TimelineBuilder::viewOf(const LaneKey& key) const {
  reports::Lane lane;
  lane.rank = key.rank;
  lane.device = key.device;
  lane.name = nameOf(key);
  std::int64_t at = begin_;
  bool merged = false;
  for (const Bar& bar : lanes_.at(key)) {
    lane.gap.push_back(bar.begin - at);
    lane.length.push_back(bar.end - bar.begin);
    lane.label.push_back(bar.label);
    lane.step.push_back(bar.step);
    lane.count.push_back(bar.count);
    merged = merged || bar.count > 1;
    at = bar.end;
  }
  if (!merged) lane.count.clear();
  return lane;
}

std::string TimelineBuilder::noteOf(std::size_t streams) const {
  std::string note;
  std::size_t folded = 0;
  for (const auto& [lane, count] : folded_) folded += count;
  if (folded > 0)
    note = "Of " + std::to_string(streams) + " streams, the " + std::to_string(folded) +
           " that worked least share a lane of their device. ";
  if (const auto bars = static_cast<std::int64_t>(countBars()); bars < records_)
    note +=
        "Neighbours were merged: " + std::to_string(bars) + " bars stand for " + std::to_string(records_) + " records.";
  return note;
}

std::optional<reports::Timeline> TimelineBuilder::build(std::size_t maxBars, std::size_t maxLanes) {
  if (records_ == 0) return std::nullopt;
  const std::size_t streams = streamsByWork().size();
  foldLanes(maxLanes);
  sortBars();
  shrink(maxBars);
  reports::Timeline timeline;
  timeline.source = source_;
  timeline.length = end_ - begin_;
  timeline.records = records_;
  timeline.steps = spans();
  std::map<LaneKey, std::int64_t> places;
  for (const LaneKey& key : laneOrder()) {
    places[key] = static_cast<std::int64_t>(timeline.lanes.size());
    timeline.lanes.push_back(viewOf(key));
  }
  timeline.labels = labelList_;
  for (reports::BarLabel& label : timeline.labels) label.name = shortName(label.name, kNameBytes);
  for (const auto& [key, check, violation] : marks_)
    timeline.marks.push_back({places[key], std::clamp<std::int64_t>(violation.startNs - begin_, 0, timeline.length),
                              check, violation.message, recordText(violation), violation.role, violation.step});
  timeline.note = noteOf(streams);
  return timeline;
}

}  // namespace redraft::harness
