#pragma once
// What changed between the splits of two traces. Changes of a device add up to the change of its step time.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/timing/time_split.h"

namespace redraft::harness {

/// By what a group of A and one of B were taken for the same; each is tried on what those before it left.
enum class MatchedBy : std::uint8_t {
  kExact,   // role, phase, stream, name, shape
  kName,    // all but the shape
  kStream,  // all but shape and stream
  kBase,    // as kName, by the name without template arguments and numbers
  kBaseStream,
  kOnlyA,  // vanished
  kOnlyB,  // appeared
};

/// A group on both sides, or on one. Times are means of a step.
struct TimeChange {
  TimePart part = TimePart::kUnknown;
  std::string role, phase, stream, name, shape;  // B's, or A's where it is only there
  MatchedBy by = MatchedBy::kExact;
  std::string nameA, shapeA;        // where they differ from B's
  double countA = 0, countB = 0;    // pieces of work
  double busyNsA = 0, busyNsB = 0;  // their durations
  double nsA = 0, nsB = 0;          // of the step's time
  double errorNs = 0;               // standard error of the change, from the spread between steps
  bool clear = false;               // beyond three of these errors, and 0.1 % of A's step
  double changeNs() const { return nsB - nsA; }
  template <class Visitor>
  void fields(Visitor& visit) {
    double change = changeNs();
    visit("part", part);
    visit.unless("role", role, "");
    visit.unless("phase", phase, "");
    visit.unless("stream", stream, "");
    visit.unless("name", name, "");
    visit.unless("shape", shape, "");
    visit("matched_by", by);
    visit.unless("name_a", nameA, "");
    visit.unless("shape_a", shapeA, "");
    visit("count_a", countA);
    visit("count_b", countB);
    visit("busy_ns_a", busyNsA);
    visit("busy_ns_b", busyNsB);
    visit("ns_a", nsA);
    visit("ns_b", nsB);
    visit("change_ns", change);
    visit("error_ns", errorNs);
    visit("clear", clear);
  }
};

/// One device on both sides. Times are means of a step.
struct DeviceChange {
  std::int32_t device = -1;
  std::string process;
  std::vector<std::string> roles;
  double wallNsA = 0, wallNsB = 0;
  double errorNs = 0;                  // of the change of the step time
  bool clear = false;                  // likewise
  std::vector<double> partsA, partsB;  // in the order of TimePart
  std::vector<TimeChange> changes;     // the largest first
  double residualNs = 0;               // the sum of those that are not clear: what no line of its own explains
  double changeNs() const { return wallNsB - wallNsA; }
  template <class Visitor>
  void fields(Visitor& visit) {
    double change = changeNs();
    visit("device", device);
    visit.unless("process", process, "");
    visit("roles", roles);
    visit("wall_ns_a", wallNsA);
    visit("wall_ns_b", wallNsB);
    visit("change_ns", change);
    visit("error_ns", errorNs);
    visit("clear", clear);
    visit("residual_ns", residualNs);
    visit("changes", changes);
  }
};

/// Calls that wait for a device, a step. They are counted, so that a change of one is seen whatever its time.
struct HostWaitChange {
  std::string role, call;
  double countA = 0, countB = 0, nsA = 0, nsB = 0;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit.unless("role", role, "");
    visit("call", call);
    visit("count_a", countA);
    visit("count_b", countB);
    visit("ns_a", nsA);
    visit("ns_b", nsB);
  }
};

struct TimeDifference {
  std::vector<DeviceChange> devices;      // those of both
  std::vector<std::string> onlyA, onlyB;  // devices
  std::vector<HostWaitChange> waits;
  std::vector<std::string> notes;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("devices", devices);
    visit("devices_only_a", onlyA);
    visit("devices_only_b", onlyB);
    visit("host_waits", waits);
    visit("notes", notes);
  }
};

TimeDifference differenceOf(const TimeSplit& a, const TimeSplit& b);

/// By what its two sides were matched; "" where by all of it, and of idle time that one side alone has.
std::string matchText(const TimeChange& change);

/// For the console: what changed most and where, waits, step times.
std::string differenceSummary(const TimeDifference& difference);
/// The summary, then each device, `top` lines a device.
std::string differenceText(const TimeDifference& difference, std::size_t top);

}  // namespace redraft::harness

namespace redraft {

template <>
struct NameTable<harness::MatchedBy> {
  static constexpr std::pair<harness::MatchedBy, const char*> kNames[] = {
      {harness::MatchedBy::kExact, "exact"},
      {harness::MatchedBy::kName, "other_shape"},
      {harness::MatchedBy::kStream, "other_stream"},
      {harness::MatchedBy::kBase, "base_name"},
      {harness::MatchedBy::kBaseStream, "base_name_other_stream"},
      {harness::MatchedBy::kOnlyA, "only_a"},
      {harness::MatchedBy::kOnlyB, "only_b"}};
};

}  // namespace redraft
