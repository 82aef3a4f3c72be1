#pragma once
// What a run kept of single operations: digests of what each took and made, in an order that no thread's timing
// changes. op-digests.jsonl of a run folder (docs/formats.md, "Op digests"); keys are declared here, once.

#include <cstdint>
#include <string>
#include <vector>

#include "base/record.h"

namespace redraft::golden {

inline constexpr const char* kOpLogSchema = "redraft.op-digests/1";
inline constexpr const char* kOpLogFile = "op-digests.jsonl";

/// Stands for the parameters at the beginning of a step, one record a parameter.
inline constexpr const char* kStateOp = "redraft.parameter";

struct TensorMark {
  std::string type;    // "float32 [1, 64]"
  std::string digest;  // 16 hex digits; "": not taken, because an operation of the log made it
  bool operator==(const TensorMark&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("type", type);
    visit.unless("digest", digest, "");
  }
};

struct OpRecord {
  std::int64_t step = 0;
  std::string role, phase;
  std::string lane;        // what runs in one order: "train", "hand_off", "all_reduce"
  std::int64_t index = 0;  // within step, role and lane
  std::string op;          // "aten::add.Tensor", "redraft::rms_norm"
  std::string module;      // "layers.1.self_attn.q_proj"; "": none that is known
  std::string direction;   // "forward", "backward", "recompute"; "": neither
  std::string of;          // of a backward operation: the operation that its forward was, or autograd's node
  std::string scalars;     // its arguments that are no tensors
  std::vector<TensorMark> inputs, outputs;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("step", step);
    visit("role", role);
    visit("phase", phase);
    visit("lane", lane);
    visit("index", index);
    visit("op", op);
    visit.unless("module", module, "");
    visit.unless("direction", direction, "");
    visit.unless("of", of, "");
    visit.unless("scalars", scalars, "");
    visit("in", inputs);
    visit("out", outputs);
  }
};

struct OpLogHeader {
  std::string schema = kOpLogSchema;
  std::int64_t first = 0, last = 0;  // steps that were recorded
  std::int64_t missing = 0;          // digests that could not be taken
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("first", first);
    visit("last", last);
    visit.unless("missing", missing, 0);
  }
};

/// Sorted by step, role, lane and index.
struct OpLog {
  OpLogHeader header;
  std::vector<OpRecord> ops;
};

/// Whole or not at all.
void writeOpLog(const std::string& folder, const OpLog& log);

/// Of a run folder, all ranks' together; `processes` of them. Throws Error(kBadInput) where one is missing or broken.
OpLog loadOpLog(const std::string& folder, int processes);

bool hasOpLog(const std::string& folder);

/// 16 hex digits.
std::string digestText(std::uint64_t digest);

}  // namespace redraft::golden
