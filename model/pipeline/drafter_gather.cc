#include "model/pipeline/drafter_gather.h"

#include <cstdint>
#include <utility>

namespace redraft::model {

namespace {

/// Each with its length before it.
std::string pack(const std::vector<std::string>& texts) {
  std::string packed;
  for (const std::string& text : texts) packed += bytesOf<std::uint64_t>({text.size()}) + text;
  return packed;
}

void unpack(const std::string& packed, std::vector<std::string>& texts) {
  for (std::size_t at = 0; at < packed.size();) {
    const std::uint64_t size = valuesOf<std::uint64_t>(packed.substr(at, sizeof size)).at(0);
    at += sizeof size;
    REDRAFT_CHECK(size <= packed.size() - at, "a packed text is whole");
    texts.push_back(packed.substr(at, size));
    at += size;
  }
}

}  // namespace

DrafterGather::All DrafterGather::all(int member, std::string bytes, const std::string& what) {
  All own = own_.all(member, std::move(bytes), what);
  if (ranks_ == nullptr) return own;
  std::vector<std::string> everybody;
  if (member == 0)
    for (const std::string& rank : ranks_->allGather(pack(*own), what)) unpack(rank, everybody);
  const auto given = all_.all(member, std::move(everybody), what + " of all processes");
  return All(given, &given->front());
}

}  // namespace redraft::model
