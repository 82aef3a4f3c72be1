#pragma once
// What a maker of the registry is: a fault of its parameters, and no parameter that it does not know.

#include <memory>

#include "base/json.h"
#include "scenarios/faults/fault.h"

namespace redraft::scenarios {

template <class F>
std::unique_ptr<Fault> makeFrom(JsonReader& parameters) {
  auto fault = std::make_unique<F>(parameters);
  parameters.finish();
  return fault;
}

}  // namespace redraft::scenarios
