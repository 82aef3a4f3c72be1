#include "base/text.h"

#include <algorithm>
#include <utility>

namespace redraft {
namespace {

constexpr std::size_t kLongestWord = 512;

/// Optimal string alignment distance, or limit + 1 when it is larger than limit.
std::size_t editDistance(std::string_view a, std::string_view b, std::size_t limit) {
  if ((a.size() > b.size() ? a.size() - b.size() : b.size() - a.size()) > limit) return limit + 1;
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], limit + 1);
}

/// Matches one pattern element at `p` against `c`; `next` is where the pattern goes on.
bool matchOne(std::string_view pattern, std::size_t p, char c, std::size_t* next) {
  *next = p + 1;
  if (pattern[p] == '?') return true;
  if (pattern[p] != '[') return pattern[p] == c;
  std::size_t at = p + 1;
  const bool negated = at < pattern.size() && pattern[at] == '!';
  if (negated) ++at;
  const std::size_t close = pattern.find(']', at + 1);  // a ']' in first place is a member
  if (at >= pattern.size() || close == std::string_view::npos) return c == '[';
  bool found = false;
  while (at < close) {
    const bool range = at + 2 < close && pattern[at + 1] == '-';
    const auto low = static_cast<unsigned char>(pattern[at]);
    const auto high = static_cast<unsigned char>(range ? pattern[at + 2] : pattern[at]);
    const auto byte = static_cast<unsigned char>(c);
    found = found || (low <= byte && byte <= high);
    at += range ? 3 : 1;
  }
  *next = close + 1;
  return found != negated;
}

/// Bytes of the well-formed UTF-8 sequence that starts at `at`, 0 when there is none (Unicode 15, table 3-7).
std::size_t utf8SequenceAt(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned low = lead == 0xe0 ? 0xa0 : 0x80, high = lead == 0xed ? 0x9f : 0xbf;
    return byte(1) >= low && byte(1) <= high && continues(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned low = lead == 0xf0 ? 0x90 : 0x80, high = lead == 0xf4 ? 0x8f : 0xbf;
    return byte(1) >= low && byte(1) <= high && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

std::string escaped(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x20 || byte == 0x7f ? 0 : utf8SequenceAt(text, i);
    if (length > 0) {
      out.append(text, i, length);
      i += length;
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      ++i;
    }
  }
  return out;
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kLongestWord) return "";
  std::size_t best = std::max<std::size_t>(2, word.size() / 3) + 1;
  const std::string* found = nullptr;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = editDistance(word, candidate, best - 1);
    if (distance >= best) continue;
    best = distance;
    found = &candidate;
    if (best == 0) break;
  }
  return found == nullptr ? "" : *found;
}

bool globMatch(std::string_view pattern, std::string_view text) {
  // After a mismatch the last star takes one more character; earlier stars need not be tried again.
  std::size_t p = 0, t = 0, afterStar = std::string_view::npos, starText = 0;
  while (t < text.size()) {
    std::size_t next = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      afterStar = ++p;
      starText = t;
    } else if (p < pattern.size() && matchOne(pattern, p, text[t], &next)) {
      p = next;
      ++t;
    } else if (afterStar != std::string_view::npos) {
      p = afterStar;
      t = ++starText;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) text += separator;
    text += part;
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t end; (end = text.find(separator, start)) != std::string_view::npos; start = end + 1) {
    parts.emplace_back(text.substr(start, end - start));
  }
  parts.emplace_back(text.substr(start));
  return parts;
}

std::string printable(std::string_view text, std::size_t maxBytes) {
  if (text.size() <= maxBytes) return escaped(text);
  const std::size_t half = maxBytes / 2;
  std::size_t head = half, tail = text.size() - half;
  const auto insideSequence = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0u) == 0x80u; };
  for (int i = 0; i < 3 && head > 0 && insideSequence(head); ++i) --head;
  for (int i = 0; i < 3 && tail < text.size() && insideSequence(tail); ++i) ++tail;
  return escaped(text.substr(0, head)) + "…" + escaped(text.substr(tail));
}

bool isUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8SequenceAt(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

}  // namespace redraft
