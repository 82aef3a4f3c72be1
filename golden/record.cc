#include "golden/record.h"

#include "base/hash.h"

namespace redraft::golden {

namespace {

std::string hashFields(const std::map<std::string, std::string>& fields) {
  std::string text;
  for (const auto& [key, value] : fields) text += key + '=' + value + '\n';
  return hashText(text).substr(0, 8);
}

std::string field(const std::map<std::string, std::string>& fields, const std::string& key) {
  auto found = fields.find(key);
  return found == fields.end() ? "unknown" : found->second;
}

/// Lower-case letters, digits, '.' and '_'; anything else becomes '_'. Safe as a part of a file name.
std::string fileNamePart(const std::string& text) {
  std::string out;
  for (char c : text) {
    const char lower = (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
    const bool plain = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') || lower == '.';
    if (plain || (!out.empty() && out.back() != '_')) out += plain ? lower : '_';
  }
  return out.substr(0, 40);
}

}  // namespace

std::string NumericsClass::name() const {
  const std::string torch = fields.contains("libtorch") ? "-torch" + fileNamePart(field(fields, "libtorch")) : "";
  const std::string threads = fields.contains("threads") ? "-t" + fileNamePart(field(fields, "threads")) : "";
  return fileNamePart(field(fields, "device")) + "-" + fileNamePart(field(fields, "isa")) + torch + threads + "-k" +
         fileNamePart(field(fields, "kernels")) + "-" + hashFields(fields);
}

std::string PerformanceClass::name() const {
  if (fields.contains("gpu"))
    return fileNamePart(field(fields, "gpu")) + "-" + fileNamePart(field(fields, "gpus")) + "g-" + hashFields(fields);
  return fileNamePart(field(fields, "cpu")) + "-" + fileNamePart(field(fields, "cores")) + "c-" + hashFields(fields);
}

}  // namespace redraft::golden
