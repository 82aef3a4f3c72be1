#pragma once
// Greedy generation: by the target alone, and speculatively with a drafter (SpecForge,
// specforge/modeling/draft/dflash.py, spec_generate). One sequence at a time. In float32 both give the same text for
// any drafter; the accepted lengths are what tells a good drafter from a bad one.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/drafter.h"
#include "model/target.h"

namespace redraft::model {

/// How sliding layers see a block while drafting. As trained: window, and causal within the block. SpecForge passes no
/// mask: its sliding layers see the whole context and their own later slots, which costs acceptance.
enum class DraftMasking { kAsTrained, kAsSpecForge };

struct GenerateOptions {
  std::int64_t maxNewTokens = 64;
  std::vector<std::int64_t> stopTokens;  // the text ends with the first of them
  DraftMasking masking = DraftMasking::kAsTrained;
};

struct Generation {
  std::vector<std::int64_t> tokens;         // prompt and new ones
  std::vector<std::int64_t> acceptLengths;  // tokens of each round, 1 .. b; empty for plain generation

  double meanAcceptLength() const;  // 0 without rounds
};

/// Prompts hold at least one token, all of them within the vocabulary.
Generation generateGreedy(const Target& target, const std::vector<std::int64_t>& prompt,
                          const GenerateOptions& options);
Generation generateSpeculative(const Target& target, const Drafter& drafter, const std::vector<std::int64_t>& prompt,
                               const GenerateOptions& options);

/// A new token that is not what the target itself, given the text before it, finds likeliest.
struct Mismatch {
  std::int64_t position = 0;  // in the text
  std::int64_t token = 0;
  std::int64_t likeliest = 0;
  double margin = 0;  // logit of `likeliest` minus logit of `token`, in float32
};

/// Reads the text once through the target, without cache, and lists what differs from its argmax. Empty in float32; in
/// bfloat16 small margins are rounding (a block and a single token are different products), large ones are a fault.
std::vector<Mismatch> findMismatches(const Target& target, const std::vector<std::int64_t>& tokens,
                                     std::size_t promptLength);

}  // namespace redraft::model
