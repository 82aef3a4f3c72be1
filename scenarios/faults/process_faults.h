#pragma once
// Faults that test the supervisor: a role that crashes, stands still, drifts or dawdles.

#include <memory>

#include "base/json.h"
#include "scenarios/faults/fault.h"

namespace redraft::scenarios {

std::unique_ptr<Fault> makeCrash(JsonReader parameters);  // writes to address 8 at the step's begin: SIGSEGV
std::unique_ptr<Fault> makeHang(JsonReader parameters);   // never comes back from the step's begin
std::unique_ptr<Fault> makeDrift(JsonReader parameters);  // one weight of one replica changes by one part in 1024
std::unique_ptr<Fault> makeSlow(JsonReader parameters);   // every step begins `milliseconds` late
std::unique_ptr<Fault> makeThrow(JsonReader parameters);  // an exception that fits no kind

}  // namespace redraft::scenarios
