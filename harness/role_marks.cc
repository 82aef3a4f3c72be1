#include "harness/role_marks.h"

#include <algorithm>
#include <map>
#include <utility>

namespace redraft::harness {

bool waitsForOthers(const SyncMark& mark) {
  return mark.point == "queue_push" || mark.point == "queue_pop" || mark.point == "collective_enter";
}

std::vector<RoleMark> lastMarks(const std::vector<Event>& events) {
  std::map<std::string, RoleMark> last;
  for (const Event& event : events) {
    if (const SyncMark* mark = event.as<SyncMark>()) last[event.head.role] = {&event.head, mark};
    if (event.as<RoleEnd>() != nullptr) last.erase(event.head.role);
  }
  std::vector<RoleMark> marks;
  for (const auto& [role, mark] : last) marks.push_back(mark);
  const auto rank = [](const RoleMark& mark) { return std::pair(waitsForOthers(*mark.mark), mark.head->seq); };
  std::sort(marks.begin(), marks.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return marks;
}

std::string markText(const RoleMark& mark) {
  const std::string role = mark.head->role.empty() ? "no role" : mark.head->role;
  return role + ": " + mark.mark->point + " " + std::to_string(mark.mark->object) + " in step " +
         std::to_string(mark.head->step) + (mark.head->phase.empty() ? "" : ", " + mark.head->phase) + ", at " +
         std::to_string(mark.head->nanos / 1'000'000) + " ms (event " + std::to_string(mark.head->seq) + ")";
}

}  // namespace redraft::harness
