#include <algorithm>

#include "harness/divergence/divergence.h"

namespace redraft::harness {
namespace {

using golden::OpRecord;
using golden::OpVerdict;

/// What runs in a place where nothing was found to have made the difference.
std::string upstreamOf(const OpRecord& op, std::int64_t first) {
  if (op.op == golden::kStateOp) {
    if (op.step == 0) return "the parameters that the run began with: initial weights, or its checkpoint";
    return op.step == first
               ? "the optimiser, or whatever else wrote the parameter, before step " + std::to_string(op.step)
               : "something that wrote the parameter outside every operation, between two steps";
  }
  if (op.lane == "hand_off") return "communication: what arrives is not what the target made";
  if (op.lane == "all_reduce") return "communication: what the exchange of gradients got from other drafters or ranks";
  if (op.role.starts_with("target")) return "the data, or the target's weights";
  return "what no recorded operation made: data, a frozen weight, or memory that was read too early";
}

std::string placeOf(const OpRecord& op) {
  std::string text = "step " + std::to_string(op.step) + ", " + op.role;
  if (!op.module.empty()) text += ", " + op.module;
  text += ": " + op.op;
  if (!op.direction.empty()) text += ", " + op.direction;
  if (!op.of.empty()) text += " of " + op.of;
  return text + " (phase " + op.phase + ", " + op.lane + " " + std::to_string(op.index) + ")";
}

bool holds(const std::vector<std::size_t>& places, std::size_t place) {
  return std::find(places.begin(), places.end(), place) != places.end();
}

void addTensors(std::vector<std::string>& lines, const char* what, const std::vector<golden::TensorMark>& a,
                const std::vector<golden::TensorMark>& b, const std::vector<std::size_t>& differing) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    std::string line = std::string("    ") + what + " " + std::to_string(i) + "  " + a[i].type + "  ";
    if (holds(differing, i)) {
      line += a[i].digest + " against " + b[i].digest + (a[i].type == b[i].type ? "" : ", " + b[i].type) + "  DIFFERS";
    } else {
      line += a[i].digest.empty() ? "as it was made" : a[i].digest + "  equal";
    }
    lines.push_back(line);
  }
}

std::string meaningOf(const DivergenceReport& report) {
  const OpRecord& op = report.ofA ? *report.ofA : *report.ofB;
  switch (*report.verdict) {
    case OpVerdict::kOperation:
      return "its inputs are equal, what it makes is not: here the runs part";
    case OpVerdict::kScalars:
      return "its tensors are equal, its numbers are not: " + report.ofA->scalars + " against " + report.ofB->scalars +
             "; whoever calls it parts here";
    case OpVerdict::kInputs:
      return "it is different before any operation that was recorded; upstream: " +
             upstreamOf(op, report.recorded.front());
    case OpVerdict::kOtherOperations:
      return std::string("only ") + (report.ofA ? "A" : "B") + " calls it" +
             (report.ofA && report.ofB ? ", where B calls " + report.ofB->op : "") +
             ": the two programs differ here, not one operation's result";
    case OpVerdict::kEqual:
      break;
  }
  return "";
}

void addOperation(std::vector<std::string>& lines, const DivergenceReport& report) {
  const std::string counts = std::to_string(report.compared) + " operations of steps " +
                             std::to_string(report.recorded.front()) + " to " + std::to_string(report.recorded.back()) +
                             " compared, " + std::to_string(report.differing) + " differ";
  if (*report.verdict == OpVerdict::kEqual) {
    lines.push_back("no operation differs: " + counts + "; what differed in the stored runs did not come back");
    return;
  }
  lines.push_back("first operation: " + placeOf(report.ofA ? *report.ofA : *report.ofB));
  lines.push_back("  " + meaningOf(report));
  if (report.ofA && report.ofB && *report.verdict != OpVerdict::kOtherOperations) {
    addTensors(lines, "in ", report.ofA->inputs, report.ofB->inputs, report.inputs);
    addTensors(lines, "out", report.ofA->outputs, report.ofB->outputs, report.outputs);
  }
  for (const golden::OpPlace& other : report.others)
    lines.push_back("  likewise: step " + std::to_string(other.step) + ", " + other.role + ", " + other.module + ": " +
                    other.op);
  lines.push_back("  " + counts +
                  (report.unmatched > 0 ? ", " + std::to_string(report.unmatched) + " on one side alone" : ""));
}

void addSide(std::vector<std::string>& lines, const char* name, const DivergenceSide& side) {
  if (!side.problem.empty()) lines.push_back(std::string(name) + "'s operations are not known: " + side.problem);
  if (side.unlikeAt)
    lines.push_back(std::string(name) + " did not come back: run again, it has other numbers from step " +
                    std::to_string(*side.unlikeAt) + " on. Either another build made it" +
                    (side.commit.empty() ? "" : " (its commit is " + side.commit + ")") + ", and --runner-" +
                    (name[0] == 'A' ? "a" : "b") + " has to name that one's, or it is not deterministic");
}

std::string stageText(const DivergenceReport& report) {
  if (report.stage == "forward") return "the loss differs: data, parameters before it, or forward";
  if (report.stage == "backward")
    return "the loss is equal, gradients are not" +
           (report.parameter.empty() ? "" : ", furthest off " + report.parameter) + ": backward, or their exchange";
  if (report.stage == "update") return "loss and gradients are equal, parameters are not: the optimiser";
  return "all steps are equal, the evaluation behind them is not; its operations are not recorded";
}

}  // namespace

std::vector<std::string> divergenceText(const DivergenceReport& report) {
  if (report.same) return {"no divergence: equal bit for bit"};
  if (!report.incomparable.empty()) return {"not comparable: " + report.incomparable};
  std::vector<std::string> lines = {"first step that differs in what they stored: " + std::to_string(*report.step) +
                                    "; " + stageText(report)};
  addSide(lines, "A", report.a);
  addSide(lines, "B", report.b);
  if (report.verdict) addOperation(lines, report);
  lines.push_back("further runs: " + std::to_string(report.furtherRuns));
  return lines;
}

}  // namespace redraft::harness
