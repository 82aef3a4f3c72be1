#pragma once
// Tokens of the byte-level models of this project: 0–255 are bytes, then a few marks. No vocabulary file.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redraft::model {

enum ByteToken : std::int32_t {
  kBeginOfText = 256,
  kSystemTurn = 257,
  kUserTurn = 258,
  kAssistantTurn = 259,
  kEndOfTurn = 260,
  kMaskToken = 261,
};
/// Rows of an embedding for these tokens; the rest up to it is unused.
constexpr std::int64_t kByteVocabulary = 264;

std::vector<std::int32_t> encodeBytes(std::string_view text);

/// The bytes of `tokens`. Marks become "<|name|>", ids beyond the vocabulary "<|ID|>".
std::string decodeBytes(const std::vector<std::int32_t>& tokens);

/// The mark that opens a turn of "system", "user" or "assistant"; -1 for any other role.
std::int32_t turnToken(std::string_view role);

}  // namespace redraft::model
