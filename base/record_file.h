#pragma once

#include <string>

#include "base/error.h"
#include "base/json.h"
#include "base/record.h"
#include "base/text.h"

namespace redraft {

/// The record that a file is. Throws Error(kBadInput) with the path when it cannot be read, is no JSON or no such
/// record, or has another `schema`.
template <class T>
T loadRecordFile(const std::string& path, const char* schema) {
  const JsonDocument document = JsonDocument::load(path, JsonDocument::Comments::kRefuse);
  T record = recordFromJson<T>(document.root(), path);
  if (record.schema != schema)
    throwBadInput(path, "the schema \"" + printable(record.schema) + "\" is not known",
                  std::string("expected ") + schema);
  return record;
}

}  // namespace redraft
