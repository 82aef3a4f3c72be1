#pragma once
// Parity: what this program computes for a fixture, beside what SpecForge and Hugging Face's Qwen3 computed, a line a
// quantity. Errors: ‖x - ref‖₂ / ‖ref‖₂ a tensor, |x - ref| / |ref| a number, the absolute difference for accuracies,
// the count of differing elements for masks, tokens and accepted lengths. Bounds: the larger of 5 × the fixture's own
// noise and 1e-5 (parameters after training 1e-4, their update 1e-3); 0 for what must be exact. docs/parity.md says
// more.

#include <string>
#include <vector>

namespace redraft::model {

struct ParityLine {
  std::string quantity;  // "target_logits", "grad", …
  double error = 0;
  double bound = 0;
  bool pass = false;
  std::string worst;  // which tensor or step the error is of; empty where there is but one
};

/// Runs everything that the fixture holds references for. Throws Error(kBadInput) for a file that is not a fixture.
std::vector<ParityLine> runParity(const std::string& path);

/// The lines as a Markdown table.
std::string parityTable(const std::vector<ParityLine>& lines);

/// `redraft-runner parity FILE`: prints the table to standard output. 0 when every line passes, 1 otherwise.
int parityMain(const std::string& path);

}  // namespace redraft::model
