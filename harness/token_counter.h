#pragma once
// Follows a growing metrics.jsonl for the tokens trained on so far. For display alone: the record is read by golden/.

#include <cstdint>
#include <fstream>
#include <string>

namespace redraft::harness {

class TokenCounter {
 public:
  explicit TokenCounter(std::string path) : path_(std::move(path)) {}
  /// Tokens of all whole lines so far; lines that cannot be read count nothing.
  std::int64_t poll();

 private:
  std::string path_;
  std::ifstream file_;
  std::string rest_;
  std::int64_t tokens_ = 0;
};

}  // namespace redraft::harness
