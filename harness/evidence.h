#pragma once
// What attribution may look at: what the run left, and how it ended. Not the scenario.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "devices/topology.h"
#include "golden/across.h"
#include "golden/compare.h"
#include "golden/run_files.h"
#include "harness/run_trace.h"
#include "harness/runner_stacks.h"
#include "harness/supervisor.h"

namespace redraft::harness {

struct Evidence {
  Observation seen;
  devices::Topology topology;  // in terms of the devices that events name
  std::optional<golden::MemoryReport> memory;
  std::optional<golden::NumericsComparison> comparison;  // with the golden, where there is one
  std::optional<golden::AcrossComparison> across;        // with one of another class, where there is none of its own
  RunTrace trace;                                        // what it shows, held to the contract
  std::vector<std::string> logTail;                      // last lines of runner.log
  std::vector<RunnerStack> stacks;                       // in it

  const std::vector<Event>& events() const { return seen.log.events; }
  /// Device of a role as it began; -1 for a role that never did.
  int deviceOf(const std::string& role) const;
};

/// The topology of a run in terms of the devices that its events name: where `run.begin` says how it was placed. Throws
/// Error(kBadInput) for a placement that is not one of this topology.
devices::Topology topologyOfRun(const devices::Topology& planned, const std::vector<Event>& events);

/// One event together with its body.
template <class Body>
struct Seen {
  const EventHead* head = nullptr;
  const Body* body = nullptr;
  explicit operator bool() const { return body != nullptr; }
};

/// The events of one type, in order, for which `accept(head, body)` holds.
template <class Body, class Accept>
std::vector<Seen<Body>> findAll(const Evidence& evidence, Accept accept) {
  std::vector<Seen<Body>> found;
  for (const Event& event : evidence.events())
    if (const Body* body = event.as<Body>(); body != nullptr && accept(event.head, *body))
      found.push_back({&event.head, body});
  return found;
}

template <class Body, class Accept>
Seen<Body> findFirst(const Evidence& evidence, Accept accept) {
  for (const Event& event : evidence.events())
    if (const Body* body = event.as<Body>(); body != nullptr && accept(event.head, *body)) return {&event.head, body};
  return {};
}

/// The last one before `seq`.
template <class Body, class Accept>
Seen<Body> findLastBefore(const Evidence& evidence, std::int64_t seq, Accept accept) {
  const std::vector<Event>& events = evidence.events();
  for (auto event = events.rbegin(); event != events.rend(); ++event)
    if (const Body* body = event->template as<Body>();
        body != nullptr && event->head.seq < seq && accept(event->head, *body))
      return {&event->head, body};
  return {};
}

}  // namespace redraft::harness
