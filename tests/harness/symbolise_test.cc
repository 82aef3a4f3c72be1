#include "harness/symbolise.h"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace redraft::harness {
namespace {

TEST(SymboliseTest, AFrameWithANameIsDemangled) {
  EXPECT_EQ(symboliseFrames({"/x/redraft-runner(_ZN7redraft7harness8demangleEv+0x51f)[0x55e71b8930df]"}),
            std::vector<std::string>{"redraft::harness::demangle() + 0x51f (redraft-runner)"});
}

TEST(SymboliseTest, AFrameOfAModuleThatIsNotThereKeepsItsOffset) {
  EXPECT_EQ(symboliseFrames({"/nonexistent/lib.so(+0x10)[0x1]"}), std::vector<std::string>{"lib.so + 0x10"});
}

TEST(SymboliseTest, WhatIsNoFrameStaysAsItIs) {
  const std::vector<std::string> lines = {
      "", "redraft: error: ended by SIGSEGV", "(", "/a(b", "/a(b+c", "/)[+(]", "frame (x+1)[2]"};
  EXPECT_EQ(symboliseFrames(lines), lines);
}

TEST(SymboliseTest, AFrameOfThisProgramWithoutANameIsFound) {
  ASSERT_EQ(::access("/usr/bin/addr2line", X_OK), 0) << "it comes with the compiler (binutils)";
  void* here[2];  // a sanitizer's own backtrace() is a frame too
  const int count = ::backtrace(here, 2);
  char** texts = ::backtrace_symbols(here, count);
  const std::vector<std::string> frames(texts, texts + count);
  std::free(texts);
  const auto raw = std::find_if(frames.begin(), frames.end(),
                                [](const std::string& frame) { return frame.find("(+0x") != std::string::npos; });
  ASSERT_NE(raw, frames.end()) << frames.front() << ": the test program exports its symbols";
  // "FUNCTION at FILE:LINE"; which function it is depends on what the compiler inlined here.
  EXPECT_NE(symboliseFrames({*raw})[0].find(" at "), std::string::npos) << symboliseFrames({*raw})[0];
}

}  // namespace
}  // namespace redraft::harness
