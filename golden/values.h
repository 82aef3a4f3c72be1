#pragma once
// The numbers of a record one by one, each under a key that says what it is where it stands alone: in a line of a
// golden file, in a review, in a merge conflict.
//
//   step/3/loss                    a hex float; so every metric of StepMetrics::values
//   step/3/parameters_hash         32 hex digits, or nothing
//   step/3/gradient/fc.weight      L2 and largest magnitude (hex floats), hash, sketch
//   evaluation/accept_lengths      integers; evaluation/mean_accept_length, evaluation/text_hash
//   peak_bytes/6                   an integer

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "golden/record.h"

namespace redraft::golden {

struct Value {
  std::string key, text;
  bool operator==(const Value&) const = default;
};

/// A value that cannot be read, or that does not go with the others.
class BadValue : public std::invalid_argument {
 public:
  BadValue(std::string key, const std::string& message) : std::invalid_argument(message), key_(std::move(key)) {}
  const std::string& key() const { return key_; }

 private:
  std::string key_;
};

/// In order: steps, each with its metrics, its hash and its gradients as `record.parameters` has them; the evaluation;
/// peaks.
std::vector<Value> valuesOf(const Record& record);

/// The other way: sets steps, gradients, evaluation and peaks of a record that has its parameters. Throws BadValue.
void setValues(const std::vector<Value>& values, Record& record);

/// Where a key belongs.
struct KeyParts {
  std::optional<std::int64_t> step;
  std::string name;  // "loss", "gradient/fc.weight", "evaluation/text_hash"
  bool isGradient = false;
  std::string parameter;  // of a gradient
};

/// Throws BadValue.
KeyParts partsOf(const std::string& key);

/// The key with "*" for its step: what a review goes through step by step.
std::string seriesOf(const std::string& key);

std::string digestText(const GradientDigest& digest);
/// Throws std::invalid_argument.
GradientDigest parseDigest(const std::string& text);

}  // namespace redraft::golden
