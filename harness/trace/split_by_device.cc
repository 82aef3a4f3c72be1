#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "harness/trace/kineto_writer.h"

namespace redraft::harness {
namespace {

/// Which device's file each record goes to.
class DeviceOfRecord {
 public:
  explicit DeviceOfRecord(const Trace& trace) {
    for (const TraceRecord& record : trace.records) {
      if (record.device < 0) continue;
      devices_.insert(record.device);
      if (record.context >= 0) ofContext_[record.context] = record.device;
      if (isDeviceWork(record.kind)) ofCall_[record.correlation] = record.device;
    }
    if (devices_.empty()) devices_.insert(0);
  }

  const std::set<std::int32_t>& devices() const { return devices_; }

  std::int32_t operator()(const TraceRecord& record) {
    const auto [last, added] = ofThread_.try_emplace(record.thread, *devices_.begin());
    const auto call = ofCall_.find(record.correlation);
    const auto context = ofContext_.find(record.context);
    if (record.device >= 0) {
      last->second = record.device;
    } else if (record.kind == RecordKind::kApi && call != ofCall_.end()) {
      last->second = call->second;
    } else if (context != ofContext_.end()) {
      return context->second;
    }
    return last->second;
  }

 private:
  std::set<std::int32_t> devices_;
  std::map<std::int64_t, std::int32_t> ofCall_, ofThread_;
  std::map<std::int32_t, std::int32_t> ofContext_;
};

/// ProfilerStep#N over the calls of each step, one behind the other, and an empty one at the end.
void addStepRanges(Trace& trace) {
  std::map<std::int32_t, std::pair<std::int64_t, std::int64_t>> steps;
  const TraceRecord* first = nullptr;
  for (const TraceRecord& record : trace.records) {
    if (record.kind != RecordKind::kApi || record.step < 0) continue;
    if (first == nullptr) first = &record;
    auto& [begin, end] = steps.try_emplace(record.step, record.startNs, record.endNs()).first->second;
    begin = std::min(begin, record.startNs);
    end = std::max(end, record.endNs());
  }
  if (first == nullptr) return;
  TraceRecord range;
  range.kind = RecordKind::kAnnotation;
  range.thread = first->thread;
  std::int64_t behind = steps.begin()->second.first;
  for (const auto& [step, times] : steps) {
    range.step = step;
    range.startNs = behind;
    range.durationNs = std::max<std::int64_t>(1, times.second - behind);
    behind = range.endNs();
    range.name = trace.strings.intern("ProfilerStep#" + std::to_string(step));
    trace.records.push_back(range);
  }
  range.step = steps.rbegin()->first + 1;
  range.name = trace.strings.intern("ProfilerStep#" + std::to_string(range.step));
  range.startNs = behind;
  range.durationNs = 1000;
  trace.records.push_back(range);
}

}  // namespace

std::vector<Trace> splitByDevice(const Trace& trace) {
  DeviceOfRecord deviceOf(trace);
  std::map<std::int32_t, Trace> split;
  for (const std::int32_t device : deviceOf.devices()) {
    Trace& of = split[device];
    of.strings = trace.strings;
    of.files.push_back(trace.files.front());
    of.files.front().rank = device;
    of.files.front().worldSize = static_cast<std::int64_t>(deviceOf.devices().size());
  }
  for (TraceRecord record : trace.records) {
    record.file = 0;
    split[deviceOf(record)].records.push_back(record);
  }
  std::vector<Trace> traces;
  for (auto& [device, of] : split) {
    std::stable_sort(of.records.begin(), of.records.end(),
                     [](const TraceRecord& a, const TraceRecord& b) { return a.startNs < b.startNs; });
    addStepRanges(of);
    traces.push_back(std::move(of));
  }
  return traces;
}

}  // namespace redraft::harness
