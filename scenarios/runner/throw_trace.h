#pragma once
// Where an exception was thrown, and by which role: the runner interposes the C++ runtime's throw, so that the stack
// and the origin of an exception are known after it has travelled, also from autograd's threads. Keeps the newest few
// throws of the process.

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "devices/origin.h"

namespace redraft::scenarios {

struct ThrowSite {
  devices::Origin origin;
  std::vector<void*> frames;  // innermost first, the throw itself left out
};

/// Starts recording; loads what the unwinder needs. Before the first thread.
void startThrowTrace();

/// Empty when nothing was recorded for it (it was thrown before the start, or too long ago).
std::optional<ThrowSite> throwSiteOf(const std::exception_ptr& error);

/// "redraft::model::trainMicroBatch(…)+0x1f (redraft-runner)", one a frame.
std::vector<std::string> symbolise(const std::vector<void*>& frames);

/// The demangled class of an exception.
std::string exceptionClass(const std::exception_ptr& error);

}  // namespace redraft::scenarios
