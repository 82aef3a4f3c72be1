#pragma once
// Event logs written by hand, for detectors.

#include <string>
#include <utility>

#include "harness/evidence.h"

namespace redraft::harness {

class EventBuilder {
 public:
  EventBuilder() {
    add("", -1, "", RunBegin{});
    begin("drafter[0]", 6);
    begin("drafter[1]", 7);
  }

  EventBuilder& add(const std::string& role, std::int64_t step, const std::string& phase, EventBody body,
                    std::int64_t thread = 0) {
    Event event;
    event.head.seq = static_cast<std::int64_t>(evidence_.seen.log.events.size());
    event.head.role = role;
    event.head.step = step;
    event.head.phase = phase;
    event.head.thread = thread != 0 ? thread : role == "drafter[1]" ? 71 : role == "drafter[0]" ? 61 : 1;
    event.body = std::move(body);
    evidence_.seen.log.events.push_back(std::move(event));
    return *this;
  }
  EventBuilder& begin(const std::string& role, int device) { return add(role, -1, "", RoleBegin{device}); }
  EventBuilder& cache(const std::string& role, const std::string& event, std::optional<int> passed,
                      std::int64_t context) {
    return add(role, 0, "drafter_forward", CacheMark{event, "attention", passed, context});
  }
  EventBuilder& exception(const std::string& role, const std::string& phase, const std::string& what,
                          std::optional<int> status = std::nullopt, std::optional<int> device = std::nullopt) {
    ExceptionSeen seen;
    seen.what = what;
    seen.exception = "c10::Error";
    seen.status = status;
    seen.device = device;
    return add(role, 0, phase, seen);
  }
  EventBuilder& end(const std::string& outcome) {
    evidence_.seen.end = {false, outcome == "completed" ? 0 : 1};
    return add("", -1, "", RunEnd{outcome, 1});
  }

  Evidence build() const {
    Evidence evidence = evidence_;
    evidence.topology.copyEdges = {{0, 6}, {0, 7}, {6, 7}, {7, 6}};
    return evidence;
  }

 private:
  Evidence evidence_;
};

inline DriverCall launchOf(const std::string& kernel, int device, int status = 0) {
  DriverCall call;
  call.call = "launch";
  call.name = kernel;
  call.device = device;
  call.objectDevice = device;
  call.context = device + 100;
  call.objectContext = device + 100;
  call.status = status;
  call.statusName = status == 400 ? "CUDA_ERROR_INVALID_HANDLE" : status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "";
  return call;
}

}  // namespace redraft::harness
