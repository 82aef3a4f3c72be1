#pragma once
// Wrong numbers out of single operations: what a kernel, an optimiser, an exchange or a hand-off gives that has a
// defect. They change an operation's result behind it, as LibTorch's observers see it; the training code knows nothing.
//
// Parameters of all: `role`, `phase` (names as in events), `op` ("redraft::rms_norm"), `nth` (of such calls in a step,
// from 0), `from_step`.

#include <memory>

#include "base/json.h"
#include "scenarios/faults/fault.h"

namespace redraft::scenarios {

std::unique_ptr<Fault> makeWrongScale(JsonReader parameters);     // times `factor`
std::unique_ptr<Fault> makeWrongPosition(JsonReader parameters);  // each row is its neighbour's
std::unique_ptr<Fault> makeSlippedUpdate(JsonReader parameters);  // one element is off by a millionth
std::unique_ptr<Fault> makeLostPart(JsonReader parameters);       // the second half never came: zeros
std::unique_ptr<Fault> makeStaleResult(JsonReader parameters);    // what the same call gave the time before

}  // namespace redraft::scenarios
