#include "golden/conflict.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace redraft::golden {

namespace {

constexpr std::size_t kShownKeys = 5;

enum class Side { kBoth, kOurs, kBase, kTheirs };

/// The key of a line of JSON ("" where it has none).
std::string keyOf(const std::string& line) {
  const std::size_t open = line.find('"');
  const std::size_t close = open == std::string::npos ? open : line.find('"', open + 1);
  if (close == std::string::npos || close + 1 >= line.size() || line[close + 1] != ':') return "";
  return line.substr(open + 1, close - open - 1);
}

/// git's markers are seven signs at the beginning of a line, and a name behind them; no line of a golden begins so.
bool isMarker(const std::string& line, char sign) {
  return line.size() >= 7 && line.find_first_not_of(sign) >= 7 && (line.size() == 7 || line[7] == ' ');
}

std::string nameIn(const std::string& line) { return line.size() > 8 ? line.substr(8) : ""; }

class Splitter {
 public:
  void add(const std::string& line) {
    ++line_;
    if (isMarker(line, '<')) {
      begin(line);
    } else if (isMarker(line, '|') && side_ == Side::kOurs) {
      side_ = Side::kBase;
    } else if (isMarker(line, '=') && side_ != Side::kBoth) {
      side_ = Side::kTheirs;
    } else if (isMarker(line, '>')) {
      if (out_.theirs.empty()) out_.theirs = nameIn(line);
      side_ = Side::kBoth;
    } else {
      keep(line);
    }
  }

  std::optional<MergeConflict> result() {
    if (out_.hunks == 0) return std::nullopt;
    return std::move(out_);
  }

 private:
  void begin(const std::string& line) {
    if (out_.hunks++ == 0) {
      out_.line = line_;
      out_.ours = nameIn(line);
    }
    side_ = Side::kOurs;
  }

  void keep(const std::string& line) {
    if (side_ == Side::kBoth || side_ == Side::kOurs) out_.oursText += line + "\n";
    if (side_ == Side::kBoth || side_ == Side::kTheirs) out_.theirsText += line + "\n";
    const std::string key = side_ == Side::kBoth || side_ == Side::kBase ? "" : keyOf(line);
    if (!key.empty() && std::find(out_.keys.begin(), out_.keys.end(), key) == out_.keys.end()) out_.keys.push_back(key);
  }

  MergeConflict out_;
  Side side_ = Side::kBoth;
  int line_ = 0;
};

}  // namespace

std::optional<MergeConflict> findConflict(const std::string& text) {
  if (text.find("\n<<<<<<<") == std::string::npos && !text.starts_with("<<<<<<<")) return std::nullopt;
  Splitter splitter;
  std::vector<std::string> lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  for (const std::string& line : lines) splitter.add(line);
  return splitter.result();
}

void refuseConflict(const MergeConflict& conflict, const std::string& path) {
  std::vector<std::string> shown(conflict.keys.begin(), conflict.keys.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                                    kShownKeys, conflict.keys.size())));
  for (std::string& key : shown) key = printable(key);
  std::string keys = join(shown, ", ");
  if (conflict.keys.size() > kShownKeys) keys += " and " + std::to_string(conflict.keys.size() - kShownKeys) + " more";
  throwBadInput(path + ":" + std::to_string(conflict.line),
                "a merge has left " + std::to_string(conflict.hunks) +
                    (conflict.hunks == 1 ? " conflict" : " conflicts") + " in it, " + printable(conflict.ours) +
                    " against " + printable(conflict.theirs) + (keys.empty() ? "" : ": " + keys),
                "run the scenario with the merged code, then `redraft bless --review RUN`");
}

}  // namespace redraft::golden
