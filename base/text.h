#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redraft {

/// The candidate nearest to `word` by edit distance, or "" when none is within max(2, length/3).
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// Shell-like match of the whole text: * (also across '/'), ?, [abc].
bool globMatch(std::string_view pattern, std::string_view text);

std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace redraft
