#pragma once
// Expectations on redraft::Error: that it is thrown, of which kind, and what its text holds.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace redraft::testing_support {

/// Runs `call`, which must throw an Error of `kind` whose whole text (place, message, remedy) holds every part.
template <typename Call>
void expectError(ErrorKind kind, Call&& call, const std::vector<std::string>& parts = {}) {
  try {
    std::forward<Call>(call)();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.kind(), kind) << text;
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
    return;
  }
  ADD_FAILURE() << "nothing was thrown";
}

template <typename Call>
void expectBadInput(Call&& call, const std::vector<std::string>& parts = {}) {
  expectError(ErrorKind::kBadInput, std::forward<Call>(call), parts);
}

}  // namespace redraft::testing_support
