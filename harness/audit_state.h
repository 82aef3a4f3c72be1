#pragma once
// What a check of an audit came to.

#include "base/record.h"

namespace redraft::harness {

enum class AuditState { kClean, kFound, kNotComputable };

}  // namespace redraft::harness

template <>
struct redraft::NameTable<redraft::harness::AuditState> {
  using State = harness::AuditState;
  static constexpr std::pair<State, const char*> kNames[] = {
      {State::kClean, "clean"}, {State::kFound, "found"}, {State::kNotComputable, "not computable"}};
};
