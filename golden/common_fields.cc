#include "golden/common_fields.h"

#include <stdexcept>

namespace redraft::golden {

double readHexFloat(JsonReader& reader, const std::string& key) {
  const std::string text = reader.string(key);
  try {
    return fromHexFloat(text);
  } catch (const std::invalid_argument&) {
    reader.fail(key, "'" + text + "' is not a hex float", "write it as \"0x1.8p+1\"");
  }
}

std::map<std::string, std::string> readTexts(JsonReader reader) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : reader.json().items()) texts[key] = reader.string(key);
  return texts;
}

Evaluation readEvaluation(JsonReader& reader) {
  Evaluation evaluation;
  evaluation.acceptLengths = reader.integers("accept_lengths", 0, 1 << 20);
  evaluation.meanAcceptLength = readHexFloat(reader, "mean_accept_length");
  evaluation.textHash = reader.string("text_hash");
  return evaluation;
}

}  // namespace redraft::golden
