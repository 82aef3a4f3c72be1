#pragma once
// What a fatal signal leaves: the signal's name, the thread's name and number (a role's thread bears the role's name;
// events.jsonl numbers threads the same way), and a stack on
// standard error, which the supervisor keeps as runner.log and symbolises. Then the default action, so that the parent
// sees the signal.

namespace redraft::scenarios {

/// For SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT; and SIGUSR1, at which a thread writes its stack and goes on: the
/// supervisor asks the threads of a hung run so before it ends it. Before the first thread.
void installCrashHandler();

/// The handler runs on a stack of its own when it is called on this thread, until the thread ends: a thread that has
/// overflowed its stack has no other. Idempotent.
void useAlternateStack();

}  // namespace redraft::scenarios
