#include "harness/token_counter.h"

#include "base/json.h"

namespace redraft::harness {

std::int64_t TokenCounter::poll() {
  if (!file_.is_open()) file_.open(path_, std::ios::binary);
  if (!file_.is_open()) return 0;
  file_.clear();
  char buffer[1 << 14];
  while (file_.read(buffer, sizeof buffer), file_.gcount() > 0)
    rest_.append(buffer, static_cast<std::size_t>(file_.gcount()));
  for (std::size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1)) {
    const Json line = Json::parse(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (line.is_object() && line.contains("tokens") && line["tokens"].is_number())
      tokens_ += line["tokens"].get<std::int64_t>();
  }
  return tokens_;
}

}  // namespace redraft::harness
