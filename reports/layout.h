#pragma once
// Text helpers of the printers.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redraft::reports {

/// Columns on a terminal: UTF-8 characters, not bytes. Good for the characters that this program prints.
std::size_t displayWidth(std::string_view text);
std::string padRight(std::string text, std::size_t width);
std::string padLeft(std::string text, std::size_t width);

std::string formatSeconds(double seconds);       // "0.42 s", "12.3 s", "4 min 05 s"
std::string formatRate(double tokensPerSecond);  // "870 tok/s", "19.4 Ktok/s"
std::string formatBytes(std::int64_t bytes);     // "3.2 MiB"
std::string formatNumber(double value, int significant = 5);

/// Rows with columns padded to their widest cell; columns named in `right` are aligned right.
std::vector<std::string> alignColumns(const std::vector<std::vector<std::string>>& rows, const std::string& gap,
                                      const std::vector<std::size_t>& right);

/// For XML text and attributes; bytes that XML 1.0 forbids become U+FFFD.
std::string escapeXml(std::string_view text);
/// A path as a URI reference (RFC 3986): an absolute one with the scheme file, others relative.
std::string uriOfPath(std::string_view path);
/// For a cell of a Markdown table.
std::string escapeMarkdown(std::string_view text);

}  // namespace redraft::reports
