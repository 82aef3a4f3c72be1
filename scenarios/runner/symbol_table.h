#pragma once
// Names of this program's own functions, those that are not exported too (anonymous namespaces), from its ELF symbol
// table.

namespace redraft::scenarios {

/// Maps the program's file, so that ownSymbol() needs nothing but memory that is there. Before the first thread; a
/// second call does nothing.
void loadOwnSymbols();

/// Mangled name of the function that holds `address`; null outside the program, when it was stripped, or before
/// loadOwnSymbols(). Allocates nothing and takes no lock: safe in a signal handler.
const char* ownSymbol(const void* address);

}  // namespace redraft::scenarios
