#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace redraft::harness {

/// With the arguments of templates, whole; the name itself where it is none of C++.
inline std::string demangled(const char* symbol) {
  if (!std::string_view(symbol).starts_with("_Z")) return symbol;  // "f" would be taken for a type: float
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? text.get() : symbol;
}

}  // namespace redraft::harness
