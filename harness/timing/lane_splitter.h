#pragma once
// Splits the steps of one device.

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "harness/timing/busy_sweep.h"
#include "harness/timing/host_ranges.h"
#include "harness/timing/idle_causes.h"
#include "harness/timing/lanes.h"
#include "harness/timing/time_split.h"

namespace redraft::harness {

/// For one split. What it is made with outlives it.
class LaneSplitter {
 public:
  LaneSplitter(const TraceIndex& index, const IdleCauses& causes, const HostRanges& ranges, const Lane& lane,
               const std::set<std::int64_t>& steps);

  /// Called once. `process` is left empty.
  DeviceSplit split();

 private:
  /// A group with its sum of the step that is being added to.
  struct Sum {
    TimeGroup group;
    std::size_t step = 0;
    std::int64_t ofStep = 0;
    double squares = 0;
  };
  /// Part, role, phase, stream, name, shape, bytes: numbers in place of texts.
  using Key = std::tuple<TimePart, const std::string*, StringId, std::uint32_t, std::uint64_t, StringId, std::int64_t>;

  std::uint32_t streamOf(const TraceRecord& work);
  StringId phaseOf(const TraceRecord& work) const;
  std::uint32_t groupOf(const TraceRecord& work);
  std::uint32_t idleGroup(const TraceRecord& next, TimePart part, const std::string& name);
  std::uint32_t group(const Key& key, const TraceRecord& work);
  void addCounts(const TimedWork& work);
  void addBusy(std::int64_t begin, std::int64_t end, TimePart part, std::span<const std::uint32_t> groups);
  void addIdle(std::int64_t begin, std::int64_t end, std::size_t next);
  void spend(std::size_t step, std::uint32_t group, TimePart part, std::int64_t ns);
  void closeStep(Sum& sum) const;
  template <class Use>
  void inSteps(std::int64_t begin, std::int64_t end, Use&& use) const;
  void takeGroups(DeviceSplit& split);

  const TraceIndex& index_;
  const IdleCauses& causes_;
  const HostRanges& ranges_;
  const Lane& lane_;
  std::vector<StepTime> steps_;
  std::vector<Sum> sums_;
  std::map<Key, std::uint32_t> groups_;
  StringTable reasons_;  // of idle time
  std::vector<std::string> streams_;
  std::map<std::tuple<const std::string*, std::int32_t, std::int32_t>, std::uint32_t> streamNumbers_;
  std::map<const std::string*, int> streamsOfRole_;
  std::set<std::tuple<std::string, std::int32_t, std::int32_t>> ownStreams_;  // role, context, stream
};

/// Of n values, from their sum and the sum of their squares; 0 of fewer than two.
double spreadOf(double sum, double squares, std::int64_t n);

}  // namespace redraft::harness
