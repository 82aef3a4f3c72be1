#include "model/generate.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"

namespace redraft::model {

namespace {

at::Tensor idsTensor(const std::vector<std::int64_t>& tokens, at::Device device) {
  at::Tensor ids = at::empty({1, static_cast<std::int64_t>(tokens.size())}, at::kLong);
  std::memcpy(ids.mutable_data_ptr<std::int64_t>(), tokens.data(), tokens.size() * sizeof(std::int64_t));
  return ids.to(device);
}

/// Argmax of each row of hidden states [1, T, H]; waits for the device.
std::vector<std::int64_t> likeliestTokens(const TargetHead& head, const at::Tensor& hidden) {
  const at::Tensor tokens = head.logits(hidden).argmax(-1).view(-1).cpu();
  const std::int64_t* first = tokens.const_data_ptr<std::int64_t>();
  return {first, first + tokens.numel()};
}

void checkPrompt(const Target& target, const std::vector<std::int64_t>& prompt) {
  const std::int64_t vocabulary = target.config().vocabSize;
  const auto outside = [vocabulary](std::int64_t token) { return token < 0 || token >= vocabulary; };
  if (prompt.empty()) throwBadInput("prompt", "is empty", "Give at least one token.");
  const auto found = std::find_if(prompt.begin(), prompt.end(), outside);
  if (found != prompt.end()) {
    throwBadInput("prompt",
                  "token " + std::to_string(*found) + " is outside the vocabulary of " + std::to_string(vocabulary),
                  "Tokenise with the target's own tokenizer.");
  }
}

/// Cuts at `most` tokens, and after the first stop token among the new ones.
void cut(std::vector<std::int64_t>& tokens, std::size_t prompt, std::size_t most, const GenerateOptions& options) {
  tokens.resize(std::min(tokens.size(), most));
  const auto isStop = [&options](std::int64_t token) {
    return std::find(options.stopTokens.begin(), options.stopTokens.end(), token) != options.stopTokens.end();
  };
  const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(std::min(prompt, tokens.size()));
  const auto stop = std::find_if(begin, tokens.end(), isStop);
  if (stop != tokens.end()) tokens.erase(stop + 1, tokens.end());
}

bool hasStop(const std::vector<std::int64_t>& tokens, std::size_t from, const GenerateOptions& options) {
  const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(from);
  return std::find_first_of(begin, tokens.end(), options.stopTokens.begin(), options.stopTokens.end()) != tokens.end();
}

/// The drafter's side of a speculative run: the context it has seen, and its guesses for a block.
class DraftSession {
 public:
  DraftSession(const Target& target, const Drafter& drafter, std::int64_t capacity, DraftMasking masking)
      : target_(target), drafter_(drafter), masking_(masking), cache_(drafter.config().layers, capacity) {}

  /// Projects and keeps the context feature [1, T, K · H] of the next T positions.
  void see(const at::Tensor& contextFeature) {
    const std::int64_t count = contextFeature.size(1);
    const at::Tensor projected = drafter_.projectContext(contextFeature);
    const at::Tensor positions = consecutivePositions(1, cache_.length(), count, drafter_.device());
    const Rope rope = Rope::forPositions(positions, drafter_.config());
    for (std::int64_t i = 0; i < drafter_.config().layers; ++i)
      cache_.append(i, drafter_.contextKeyValue(i, projected, rope));
    cache_.advance(count);
  }

  /// The block [pending, guesses …] at the positions behind the context.
  std::vector<std::int64_t> draft(std::int64_t pending) const {
    const std::int64_t size = drafter_.config().blockSize;
    std::vector<std::int64_t> block(static_cast<std::size_t>(size), drafter_.config().maskTokenId);
    block.front() = pending;
    const at::Tensor positions = consecutivePositions(1, cache_.length(), size, drafter_.device());
    std::vector<KeyValue> context;
    for (std::int64_t i = 0; i < drafter_.config().layers; ++i) context.push_back(cache_.get(i));
    const at::Tensor hidden = drafter_.forward(target_.head().embed(idsTensor(block, drafter_.device())), context,
                                               Rope::forPositions(positions, drafter_.config()), masks());
    const std::vector<std::int64_t> guesses = likeliestTokens(target_.head(), hidden.narrow(1, 1, size - 1));
    std::copy(guesses.begin(), guesses.end(), block.begin() + 1);
    return block;
  }

 private:
  DraftMasks masks() const {
    const std::int64_t length = cache_.length();
    const at::TensorOptions options = at::TensorOptions().device(drafter_.device());
    const at::Tensor anchor = at::full({1, 1}, length, options.dtype(at::kLong));
    const at::Tensor keep = at::ones({1, 1}, options.dtype(at::kBool));
    DraftMasks masks = makeDraftMasks(drafter_.config(), anchor, keep, length);
    if (masking_ == DraftMasking::kAsTrained) return masks;
    if (masks.full.batch == 0) masks.full = makeDraftMask(anchor, keep, length, drafter_.config().blockSize, 0);
    masks.sliding = masks.full;
    return masks;
  }

  const Target& target_;
  const Drafter& drafter_;
  DraftMasking masking_;
  KeyValueCache cache_;
};

/// Slots of the block that the target confirms: draft[1 …] against its own choice for the slot before.
std::size_t countAccepted(const std::vector<std::int64_t>& block, const std::vector<std::int64_t>& posterior) {
  std::size_t accepted = 0;
  while (accepted + 1 < block.size() && block[accepted + 1] == posterior[accepted]) ++accepted;
  return accepted;
}

}  // namespace

double Generation::meanAcceptLength() const {
  if (acceptLengths.empty()) return 0.0;
  const std::int64_t sum = std::accumulate(acceptLengths.begin(), acceptLengths.end(), std::int64_t{0});
  return static_cast<double>(sum) / static_cast<double>(acceptLengths.size());
}

Generation generateGreedy(const Target& target, const std::vector<std::int64_t>& prompt,
                          const GenerateOptions& options) {
  checkPrompt(target, prompt);
  const c10::NoGradGuard frozen;
  const std::size_t most = prompt.size() + static_cast<std::size_t>(options.maxNewTokens);
  KeyValueCache cache(target.config().layers, static_cast<std::int64_t>(most));
  Generation result;
  result.tokens = prompt;
  std::vector<std::int64_t> next = prompt;
  while (result.tokens.size() < most && !hasStop(result.tokens, prompt.size(), options)) {
    const at::Tensor hidden = target.forward(idsTensor(next, target.device()), {}, &cache).hidden;
    next = likeliestTokens(target.head(), hidden.narrow(1, hidden.size(1) - 1, 1));
    result.tokens.push_back(next.front());
  }
  return result;
}

Generation generateSpeculative(const Target& target, const Drafter& drafter, const std::vector<std::int64_t>& prompt,
                               const GenerateOptions& options) {
  checkPrompt(target, prompt);
  const c10::NoGradGuard frozen;
  const auto& layerIds = drafter.config().targetLayerIds;
  const std::size_t most = prompt.size() + static_cast<std::size_t>(options.maxNewTokens);
  const std::int64_t capacity = static_cast<std::int64_t>(most) + drafter.config().blockSize;
  KeyValueCache cache(target.config().layers, capacity);
  DraftSession session(target, drafter, capacity, options.masking);

  Target::Output seen = target.forward(idsTensor(prompt, target.device()), layerIds, &cache);
  std::int64_t pending = likeliestTokens(target.head(), seen.hidden.narrow(1, seen.hidden.size(1) - 1, 1)).front();
  session.see(seen.contextFeature);
  Generation result;
  result.tokens = prompt;
  while (result.tokens.size() < most && !hasStop(result.tokens, prompt.size(), options)) {
    const std::vector<std::int64_t> block = session.draft(pending);
    seen = target.forward(idsTensor(block, target.device()), layerIds, &cache);
    const std::vector<std::int64_t> posterior = likeliestTokens(target.head(), seen.hidden);
    const std::size_t taken = countAccepted(block, posterior) + 1;
    result.tokens.insert(result.tokens.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(taken));
    result.acceptLengths.push_back(static_cast<std::int64_t>(taken));
    pending = posterior[taken - 1];
    cache.crop(static_cast<std::int64_t>(result.tokens.size()));
    session.see(seen.contextFeature.narrow(1, 0, static_cast<std::int64_t>(taken)));
  }
  cut(result.tokens, prompt.size(), most, options);
  return result;
}

std::vector<Mismatch> findMismatches(const Target& target, const std::vector<std::int64_t>& tokens,
                                     std::size_t promptLength) {
  REDRAFT_CHECK(0 < promptLength && promptLength <= tokens.size(), "a text begins with its prompt");
  const c10::NoGradGuard frozen;
  const at::Tensor hidden = target.forward(idsTensor(tokens, target.device()), {}).hidden;
  const auto from = static_cast<std::int64_t>(promptLength) - 1;
  const auto count = static_cast<std::int64_t>(tokens.size() - promptLength);
  const at::Tensor logits = target.head().logits(hidden.narrow(1, from, count)).view({count, -1}).to(at::kFloat).cpu();
  std::vector<Mismatch> mismatches;
  for (std::int64_t i = 0; i < count; ++i) {
    const at::Tensor row = logits[i];
    const std::int64_t token = tokens[promptLength + static_cast<std::size_t>(i)];
    const auto likeliest = row.argmax().item<std::int64_t>();
    if (likeliest == token) continue;
    const float* values = row.const_data_ptr<float>();
    mismatches.push_back({from + 1 + i, token, likeliest, static_cast<double>(values[likeliest]) - values[token]});
  }
  return mismatches;
}

}  // namespace redraft::model
