#pragma once
// The one error that a fuzz target takes for an answer.

#include <string>

#include "base/error.h"

namespace redraft::fuzz {

/// Runs `read`, which may refuse its input: Error(kBadInput) at a place that begins with `place`.
template <class Read>
void mayRefuse(const std::string& place, Read&& read) {
  try {
    read();
  } catch (const Error& error) {
    REDRAFT_CHECK(error.kind() == ErrorKind::kBadInput, error.what());
    REDRAFT_CHECK(error.place().starts_with(place), error.what());
  }
}

}  // namespace redraft::fuzz
