#pragma once
// What all drafters of a run tell each other in a few bytes, whichever process they are in.

#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "model/pipeline/collective.h"
#include "model/pipeline/exchange.h"

namespace redraft::model {

class DrafterGather {
 public:
  using All = std::shared_ptr<const std::vector<std::string>>;

  /// `members`: the drafters of this process; `ranks` is null where there is no other.
  DrafterGather(RunMonitor& monitor, const std::vector<std::string>& members, Collective* ranks)
      : own_(monitor, members), all_(monitor, members), ranks_(ranks) {}

  /// Called by each member of this process on its own thread, with its bytes. Every drafter's, in order of drafters.
  All all(int member, std::string bytes, const std::string& what);

 private:
  Exchange<std::string> own_;
  Exchange<std::vector<std::string>> all_;
  Collective* const ranks_;
};

/// Values as bytes, for ranks that run the same program.
template <class Value>
std::string bytesOf(const std::vector<Value>& values) {
  static_assert(std::is_trivially_copyable_v<Value>);
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
}
template <class Value>
std::vector<Value> valuesOf(const std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<Value>);
  std::vector<Value> values(bytes.size() / sizeof(Value));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(Value));
  return values;
}

}  // namespace redraft::model
