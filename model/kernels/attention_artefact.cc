#include "model/kernels/attention_artefact.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "devices/driver.h"

namespace redraft::model {
namespace {

constexpr std::array<const char*, 3> kKindNames = {"causal", "draft_full", "draft_sliding"};

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('/', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

[[noreturn]] void refuse(const std::string& name, std::string_view part, const std::string& wanted) {
  throwBadInput("artefact " + name, "'" + std::string(part) + "' is not " + wanted,
                "attention_forward/d64/draft_full/f32/q64k64 is a valid name");
}

std::int64_t headDimOf(const std::string& name, std::string_view part) {
  std::int64_t value = 0;
  const char* end = part.data() + part.size();
  const bool number = part.size() > 1 && part[0] == 'd' && std::from_chars(part.data() + 1, end, value).ptr == end;
  if (!number || value <= 0 || value % 8 != 0 || value > simd::kMaxHeadDim) {
    refuse(name, part, "a head dim: d and a multiple of 8 up to " + std::to_string(simd::kMaxHeadDim));
  }
  return value;
}

}  // namespace

MaskRule maskRule(MaskKind kind) {
  switch (kind) {
    case MaskKind::kCausal:
      return MaskRule::kCausal;
    case MaskKind::kDraftFull:
      return MaskRule::kDraftFull;
    case MaskKind::kDraftSliding:
      return MaskRule::kDraftSliding;
  }
  REDRAFT_CHECK(false, "unknown mask kind");
}

std::string AttentionArtefact::name() const {
  std::string text = entry();
  text += "/d" + std::to_string(headDim) + '/' + kKindNames[static_cast<std::size_t>(kind)];
  text += bfloat16 ? "/bf16" : "/f32";
  return text + "/q" + std::to_string(queryTile) + 'k' + std::to_string(keyTile);
}

simd::Kernel AttentionArtefact::kernel() const {
  return backward ? simd::attentionBackwardKernel(headDim, maskRule(kind), bfloat16)
                  : simd::attentionForwardKernel(headDim, maskRule(kind), bfloat16);
}

AttentionArtefact parseAttentionArtefact(const std::string& name) {
  const auto parts = split(name);
  if (parts.size() != 5) refuse(name, name, "five parts with / between");
  AttentionArtefact artefact;
  artefact.backward = parts[0] == "attention_backward";
  if (!artefact.backward && parts[0] != "attention_forward") {
    refuse(name, parts[0], "attention_forward or attention_backward");
  }
  artefact.headDim = headDimOf(name, parts[1]);
  const auto kind = std::find(kKindNames.begin(), kKindNames.end(), parts[2]);
  if (kind == kKindNames.end()) refuse(name, parts[2], "a mask: causal, draft_full or draft_sliding");
  artefact.kind = static_cast<MaskKind>(kind - kKindNames.begin());
  artefact.bfloat16 = parts[3] == "bf16";
  if (!artefact.bfloat16 && parts[3] != "f32") refuse(name, parts[3], "a type: f32 or bf16");
  const std::string tiles = "q" + std::to_string(kQueryTile) + 'k' + std::to_string(kKeyTile);
  if (parts[4] != tiles) refuse(name, parts[4], "the tile sizes " + tiles);
  return artefact;
}

std::string blockMaskArtefact(MaskKind kind) {
  return std::string("block_mask/") + kKindNames[static_cast<std::size_t>(kind)] + "/q" + std::to_string(kQueryTile) +
         'k' + std::to_string(kKeyTile);
}

std::optional<MaskKind> blockMaskKind(const std::string& name) {
  for (const MaskKind kind : {MaskKind::kCausal, MaskKind::kDraftFull, MaskKind::kDraftSliding}) {
    if (name == blockMaskArtefact(kind)) return kind;
  }
  return std::nullopt;
}

devices::Image compileAttention(const std::string& artefact) {
  const AttentionArtefact parsed = parseAttentionArtefact(artefact);
  return {artefact, {}, {{parsed.entry(), parsed.kernel()}}};
}

}  // namespace redraft::model
