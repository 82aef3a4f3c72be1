#pragma once
// The third way to be refused: the machine runs, and cannot express what was asked.

#include <string>
#include <utility>

#include "base/error.h"

namespace redraft {

/// A scenario needs what this machine does not have (a second GPU, say), and running it without would show nothing.
/// `message` says what is missing: "needs 2 GPUs: …". The runner exits with 4, and the case is SKIPPED.
class Unsupported : public Error {
 public:
  explicit Unsupported(std::string message) : Error(ErrorKind::kEnvironment, "", std::move(message)) {}
};

}  // namespace redraft
