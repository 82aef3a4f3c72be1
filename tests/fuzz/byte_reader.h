#pragma once
// The entry point of a fuzz target, as libFuzzer calls it; each reader of bytes has one file that defines it. It takes
// Error(kBadInput) for a right answer. Any other exception, a failed check and a sanitizer's report are findings.

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
