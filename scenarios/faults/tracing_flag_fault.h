#pragma once
// The error of the report without any cache fault: one tracing flag for the process, as FX has it. One drafter meets a
// new shape and compiles; while it is inside, the other one makes a call whose kernel has long been compiled, and is
// refused. A rendezvous makes the two meet in one step, every time. With the flag per thread (parameter "flag":
// "thread") the same meeting does no harm.

#include <memory>

#include "base/json.h"
#include "scenarios/faults/fault.h"

namespace redraft::scenarios {

std::unique_ptr<Fault> makeTracingFlag(JsonReader parameters);

}  // namespace redraft::scenarios
