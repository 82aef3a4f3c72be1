#pragma once
// The last progress marks of the roles of one event log.

#include <string>
#include <vector>

#include "harness/events.h"

namespace redraft::harness {

/// Points into the events that it was made from.
struct RoleMark {
  const EventHead* head = nullptr;
  const SyncMark* mark = nullptr;
};

/// At such a mark a role waits for others.
bool waitsForOthers(const SyncMark& mark);

/// The newest sync point of every role that has not ended: first those that wait for nobody, then those that wait for
/// others; what stood still longest at the top of each.
std::vector<RoleMark> lastMarks(const std::vector<Event>& events);

/// "drafter[0]: queue_pop 8 in step 2, at 1312 ms (event 740)"
std::string markText(const RoleMark& mark);

}  // namespace redraft::harness
