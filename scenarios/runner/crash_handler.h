#pragma once
// What a fatal signal leaves: the signal's name, the calling role, and a symbolised stack on standard error, which the
// supervisor keeps as runner.log. Then the default action, so that the parent sees the signal.

namespace redraft::scenarios {

/// For SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT, on an alternate stack of the calling thread. Before the first
/// thread.
void installCrashHandler();

}  // namespace redraft::scenarios
