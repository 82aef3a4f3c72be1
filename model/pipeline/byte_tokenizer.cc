#include "model/pipeline/byte_tokenizer.h"

namespace redraft::model {

std::vector<std::int32_t> encodeBytes(std::string_view text) {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

std::string decodeBytes(const std::vector<std::int32_t>& tokens) {
  std::string text;
  for (const std::int32_t token : tokens) {
    if (token >= 0 && token < 256) {
      text += static_cast<char>(token);
      continue;
    }
    switch (token) {
      case kBeginOfText:
        text += "<|text|>";
        break;
      case kSystemTurn:
        text += "<|system|>";
        break;
      case kUserTurn:
        text += "<|user|>";
        break;
      case kAssistantTurn:
        text += "<|assistant|>";
        break;
      case kEndOfTurn:
        text += "<|end|>";
        break;
      case kMaskToken:
        text += "<|mask|>";
        break;
      default:
        text += "<|" + std::to_string(token) + "|>";
    }
  }
  return text;
}

std::int32_t turnToken(std::string_view role) {
  if (role == "system") return kSystemTurn;
  if (role == "user") return kUserTurn;
  if (role == "assistant") return kAssistantTurn;
  return -1;
}

}  // namespace redraft::model
