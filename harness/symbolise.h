#pragma once
// A crash handler can write no more than raw frames: "PROGRAM(_ZN7redraft4stepEv+0x51f)[0x55e7…]"
// (backtrace_symbols_fd). This gives them names, files and lines, after the fact.

#include <string>
#include <vector>

namespace redraft::harness {

/// Names and lines by addr2line where it is installed, else the names that the frame itself holds, demangled. Lines
/// that are no frames stay as they are.
std::vector<std::string> symboliseFrames(const std::vector<std::string>& lines);

/// "redraft::step()" of "_ZN7redraft4stepEv"; the text itself when it is no mangled name.
std::string demangle(const std::string& symbol);

}  // namespace redraft::harness
