#pragma once
// Small operations on text. All are pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace redraft {

/// The candidate nearest to `word` by edit distance (insert, delete, replace, swap of neighbours), the first of equals,
/// or
/// "" when none is within max(2, length/3). Words longer than 512 bytes have no nearest one.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// Shell-like match of the whole text: * (also across '/'), ?, [abc], [a-z], [!abc]. A '[' that is never closed is
/// itself.
bool globMatch(std::string_view pattern, std::string_view text);

std::string join(const std::vector<std::string>& parts, std::string_view separator);
/// Always at least one part; "a,,b" has an empty one.
std::vector<std::string> split(std::string_view text, char separator);

/// Fit for one line of a message: control characters and bytes that are not UTF-8 as \xNN, and a text longer than
/// maxBytes shortened in its middle.
std::string printable(std::string_view text, std::size_t maxBytes = 160);

/// True when `text` is well-formed UTF-8 (no surrogates, no overlong forms).
bool isUtf8(std::string_view text);

}  // namespace redraft
