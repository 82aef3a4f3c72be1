#pragma once
// The bars of a timeline, made from the records of a run's traces.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/affinity/trace_audit.h"
#include "harness/affinity/trace_index.h"
#include "reports/html/page.h"

namespace redraft::harness {

/// Collects the records of all processes, then makes the bars. Times of all processes are of one clock.
class TimelineBuilder {
 public:
  /// Device work, what hosts waited for, and the records that the audit points to.
  void add(int rank, const TraceIndex& index, const TraceAudit& audit);

  /// At most about `maxBars` bars: neighbours of a lane are merged, over as small a gap as does it. Of more lanes than
  /// `maxLanes` those of a device that do least share one. nullopt: there is nothing to show.
  std::optional<reports::Timeline> build(std::size_t maxBars, std::size_t maxLanes);

 private:
  struct Bar {
    std::int64_t begin = 0, end = 0, label = 0, step = -1, count = 1;
  };
  /// Of a stream; of a role of the host, where device is -1.
  struct LaneKey {
    int rank = 0;
    std::int64_t device = -1;
    std::int32_t context = -1, stream = -1;
    std::string role;
    auto operator<=>(const LaneKey&) const = default;  // NOLINT(modernize-use-nullptr): there is none
  };
  struct Mark {
    LaneKey lane;
    std::string check;
    Violation violation;
  };
  /// What two neighbours may differ in and still be merged.
  struct Merge {
    std::int64_t gap = 0;  // ns between them, at most
    bool labels = false, kinds = false, steps = false;
  };

  static LaneKey laneOf(int rank, const TraceIndex& index, const TraceRecord& record);
  static LaneKey laneOf(int rank, const Violation& violation);
  std::int64_t labelOf(const TraceIndex& index, const TraceRecord& record);
  std::int64_t severalOf(std::int64_t label);
  void addRecord(int rank, const TraceIndex& index, const TraceRecord& record);
  std::vector<LaneKey> streamsByWork() const;
  void foldLanes(std::size_t maxLanes);
  std::string noteOf(std::size_t streams) const;
  std::size_t countBars() const;
  void sortBars();
  void shrink(std::size_t maxBars);
  void merge(const Merge& allowed);
  bool together(const Bar& last, const Bar& next, const Merge& allowed);
  std::string nameOf(const LaneKey& key) const;
  reports::Lane viewOf(const LaneKey& key) const;
  std::vector<LaneKey> laneOrder() const;
  std::vector<reports::StepSpan> spans() const;

  std::map<LaneKey, std::vector<Bar>> lanes_;
  std::map<LaneKey, std::set<std::string>> roles_;  // whose work is on a stream
  std::map<LaneKey, std::size_t> folded_;           // lanes that stand for several streams: for how many
  std::map<reports::BarLabel, std::int64_t> labels_;
  std::vector<reports::BarLabel> labelList_;
  std::vector<Mark> marks_;
  std::map<std::int64_t, std::int64_t> drafterSteps_, anySteps_;  // step → first record of a drafter's, of anyone's
  std::string source_;
  std::int64_t records_ = 0;
  std::int64_t begin_ = 0, end_ = 0;  // ns
};

}  // namespace redraft::harness
