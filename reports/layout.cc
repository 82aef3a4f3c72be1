#include "reports/layout.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/formatted.h"
#include "base/text.h"

namespace redraft::reports {
namespace {

/// Bytes of the UTF-8 sequence at `at`, 0 when there is none.
std::size_t sequenceLength(std::string_view text, std::size_t at) {
  for (std::size_t length = 1; length <= 4 && at + length <= text.size(); ++length)
    if (isUtf8(text.substr(at, length))) return length;
  return 0;
}

bool isXmlCharacter(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first >= 0x20 || first == '\t' || first == '\n' || first == '\r';
  return sequence != "\xEF\xBF\xBE" && sequence != "\xEF\xBF\xBF";
}

}  // namespace

std::size_t displayWidth(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padRight(std::string text, std::size_t width) {
  const std::size_t now = displayWidth(text);
  text.append(now < width ? width - now : 0, ' ');
  return text;
}

std::string padLeft(std::string text, std::size_t width) {
  const std::size_t now = displayWidth(text);
  text.insert(0, now < width ? width - now : 0, ' ');
  return text;
}

std::string formatSeconds(double seconds) {
  if (seconds < 9.995) return formatted("%.2f s", seconds);
  if (seconds < 99.95) return formatted("%.1f s", seconds);
  const long whole = std::lround(seconds);
  return formatted("%ld min %02ld s", whole / 60, whole % 60);
}

std::string formatRate(double rate) {
  if (rate >= 1e6) return formatted("%.1f Mtok/s", rate / 1e6);
  if (rate >= 1e3) return formatted("%.1f Ktok/s", rate / 1e3);
  return formatted("%.0f tok/s", rate);
}

std::string formatBytes(std::int64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (value >= 1073741824.0) return formatted("%.1f GiB", value / 1073741824.0);
  if (value >= 1048576.0) return formatted("%.1f MiB", value / 1048576.0);
  return formatted("%.1f KiB", value / 1024.0);
}

std::string formatNumber(double value, int significant) { return formatted("%.*g", significant, value); }

std::vector<std::string> alignColumns(const std::vector<std::vector<std::string>>& rows, const std::string& gap,
                                      const std::vector<std::size_t>& right) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], displayWidth(row[i]));
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool toRight = std::find(right.begin(), right.end(), i) != right.end();
      line += (i == 0 ? "" : gap) + (toRight ? padLeft(row[i], widths[i]) : padRight(row[i], widths[i]));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string escapeXml(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequenceLength(text, at);
    const std::string_view sequence = text.substr(at, std::max<std::size_t>(length, 1));
    at += sequence.size();
    if (length == 0 || !isXmlCharacter(sequence))
      out += "\xEF\xBF\xBD";
    else if (sequence == "&")
      out += "&amp;";
    else if (sequence == "<")
      out += "&lt;";
    else if (sequence == ">")
      out += "&gt;";
    else if (sequence == "\"")
      out += "&quot;";
    else
      out += sequence;
  }
  return out;
}

std::string uriOfPath(std::string_view path) {
  constexpr std::string_view kPlain = "/-._~";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte < 0x80 && std::isalnum(byte) != 0) || kPlain.find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : formatted("%%%02X", byte);
  }
  return uri;
}

std::string escapeMarkdown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '<' || c == '[') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace redraft::reports
