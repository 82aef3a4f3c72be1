#pragma once
// Where the time of the steps went, as the page shows it (docs/attribution.md). Times are nanoseconds, means of a step.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"

namespace redraft::reports {

/// Part of a step's time: its key, which the style knows, and its title.
struct TimePartView {
  std::string key, title;  // "late_launch", "idle: late launch"
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("key", key);
    visit("title", title);
  }
};

/// Kernels of one name and shape, or idle time of one cause.
struct TimeLine {
  std::string part;   // key
  std::string place;  // role, phase and stream
  std::string name;   // shortened
  std::string whole;  // the name, where `name` is not; "": it is
  std::string shape;
  double count = 0;   // pieces of work
  double busyNs = 0;  // their durations
  double ns = 0;      // of the step's time
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("part", part);
    visit.unless("place", place, "");
    visit.unless("name", name, "");
    visit.unless("whole", whole, "");
    visit.unless("shape", shape, "");
    visit.unless("count", count, 0);
    visit.unless("busy_ns", busyNs, 0);
    visit("ns", ns);
  }
};

/// A group that takes longer or shorter than in the reference, beyond what steps vary by.
struct TimeChangeView {
  std::string part, place, name, whole, shape;
  std::string matched;                   // how it was found again, where not by its whole name and shape
  double countBefore = 0, countNow = 0;  // pieces of work
  double eachBefore = 0, eachNow = 0;    // ns of one
  double ns = 0;                         // of the step's time, with its sign
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("part", part);
    visit.unless("place", place, "");
    visit.unless("name", name, "");
    visit.unless("whole", whole, "");
    visit.unless("shape", shape, "");
    visit.unless("matched", matched, "");
    visit.unless("count_before", countBefore, 0);
    visit.unless("count_now", countNow, 0);
    visit.unless("each_before", eachBefore, 0);
    visit.unless("each_now", eachNow, 0);
    visit("ns", ns);
  }
};

/// A device in the reference, and what changed since. `changes`, `moreNs` and `residualNs` add up to the change of
/// the step.
struct DeviceTimeBefore {
  double wallNs = 0;
  std::vector<double> parts;
  double errorNs = 0;  // standard error of the change of the step, from the spread between steps
  bool clear = false;  // it is beyond three of them
  std::vector<TimeChangeView> changes;
  std::int64_t more = 0;  // changes beyond what steps vary by that are not listed
  double moreNs = 0;
  double residualNs = 0;  // all that is within what steps vary by
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("wall_ns", wallNs);
    visit("parts", parts);
    visit("error_ns", errorNs);
    visit("clear", clear);
    visit("changes", changes);
    visit.unless("more", more, 0);
    visit.unless("more_ns", moreNs, 0);
    visit("residual_ns", residualNs);
  }
};

/// `parts` add up to `wallNs`; so do `lines` and `otherNs`.
struct DeviceTime {
  std::string title;  // "rank 1, device 0"
  std::vector<std::string> roles;
  std::int64_t steps = 0;
  double wallNs = 0;
  double spreadNs = 0;          // standard deviation of a step's time
  std::vector<double> parts;    // in the order of Attribution::parts
  std::vector<TimeLine> lines;  // the longest first
  std::int64_t others = 0;      // that are not listed
  double otherNs = 0;
  std::optional<DeviceTimeBefore> before;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("title", title);
    visit.unless("roles", roles, std::vector<std::string>());
    visit("steps", steps);
    visit("wall_ns", wallNs);
    visit("spread_ns", spreadNs);
    visit("parts", parts);
    visit("lines", lines);
    visit.unless("others", others, 0);
    visit.unless("other_ns", otherNs, 0);
    visit("before", before);
  }
};

/// Calls of one role, or thread, that wait for a device.
struct WaitView {
  std::string role, call;
  double count = 0, ns = 0;
  std::optional<double> countBefore, nsBefore;
  bool operator==(const WaitView&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit.unless("role", role, "");
    visit("call", call);
    visit("count", count);
    visit("ns", ns);
    visit("count_before", countBefore);
    visit("ns_before", nsBefore);
  }
};

struct Attribution {
  std::vector<TimePartView> parts;  // all that there are
  std::string steps, leftOut;       // "2–6"; "": the trace has no steps, and is one
  std::vector<DeviceTime> devices;
  std::vector<WaitView> waits;
  std::string reference;  // what it is compared with; "": nothing
  std::vector<std::string> notes;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("parts", parts);
    visit.unless("steps", steps, "");
    visit.unless("left_out", leftOut, "");
    visit("devices", devices);
    visit.unless("waits", waits, std::vector<WaitView>());
    visit.unless("reference", reference, "");
    visit.unless("notes", notes, std::vector<std::string>());
  }
};

}  // namespace redraft::reports
