#pragma once
// Names of this program's own functions, those that are not exported too (anonymous namespaces), from its ELF symbol
// table.

#include <string>

namespace redraft::scenarios {

/// Mangled name of the function that holds `address`; "" outside the program, or when it was stripped.
std::string ownSymbol(const void* address);

}  // namespace redraft::scenarios
