#pragma once
// Ctrl-C, SIGTERM and SIGHUP end a suite in order: children are ended, their cases recorded as ABORTED. A second signal
// ends the program at once; the children die with it.

namespace redraft::harness {

/// Installs the handlers for the whole program. Call once, before any thread starts.
void installInterruptHandlers();

/// The signal that came; 0 for none.
int interrupted();

/// Readable from then on. -1 before installInterruptHandlers().
int interruptFd();

}  // namespace redraft::harness
