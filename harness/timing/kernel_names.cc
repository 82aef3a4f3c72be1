#include "harness/timing/kernel_names.h"

#include <cctype>

#include "base/characters.h"
#include "base/text.h"

namespace redraft::harness {
namespace {

bool isHexLetter(char c) { return c >= 'a' && c <= 'f'; }

/// Position of the parameter list of a demangled function: the '(' that the last ')' closes, where the name ends with
/// it. npos: there is none.
std::size_t parametersOf(std::string_view name) {
  if (!name.ends_with(')')) return std::string_view::npos;
  int depth = 0;
  for (std::size_t at = name.size(); at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return at == 0 ? std::string_view::npos : at;
  }
  return std::string_view::npos;
}

void removeAll(std::string& text, std::string_view what) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) text.erase(at, what.size());
}

/// Without what stands in angle brackets. Operators such as "<<" are not told apart: they are no kernels.
std::string withoutTemplates(std::string_view name) {
  std::string out;
  int depth = 0;
  for (const char c : name) {
    if (c == '<') ++depth;
    if (depth == 0) out += c;
    if (c == '>' && depth > 0) --depth;
  }
  return out;
}

/// Digits, and hexadecimal numbers of six places or more, as '#'.
std::string withoutNumbers(std::string_view name) {
  std::string out;
  for (std::size_t at = 0; at < name.size();) {
    std::size_t digits = at, hex = at;
    bool hasDigit = false;
    while (digits < name.size() && isDigit(name[digits])) ++digits;
    while (hex < name.size() && (isDigit(name[hex]) || isHexLetter(name[hex]))) hasDigit |= isDigit(name[hex++]);
    const bool isHash =
        hasDigit && hex - at >= 6 && (hex == name.size() || std::isalnum(static_cast<unsigned char>(name[hex])) == 0);
    const std::size_t end = isHash ? hex : digits;
    out += end > at ? '#' : name[at];
    at = end > at ? end : at + 1;
  }
  return out;
}

}  // namespace

bool isCommunication(std::string_view kernel) {
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  return kernel.starts_with("nccl") || kernel.starts_with("nvshmem");
}

std::string baseName(std::string_view kernel) {
  std::string name(kernel.substr(0, parametersOf(kernel)));
  removeAll(name, "(anonymous namespace)::");
  name = withoutTemplates(name);
  if (const std::size_t scope = name.rfind("::"); scope != std::string::npos && scope + 2 < name.size())
    name.erase(0, scope + 2);
  if (const std::size_t space = name.rfind(' ');
      space != std::string::npos && space + 1 < name.size() && name.find('(') == std::string::npos)
    name.erase(0, space + 1);
  const std::string base = withoutNumbers(name);
  return base.empty() ? std::string(kernel) : base;
}

std::string shortName(std::string_view kernel, std::size_t width) {
  const bool isCopy = kernel.starts_with("Mem");  // "Memcpy HtoD (Pinned -> Device)": no parameters
  std::string name(isCopy ? kernel : kernel.substr(0, parametersOf(kernel)));
  if (name.starts_with("void ")) name.erase(0, 5);
  for (const char* noise : {"(anonymous namespace)::", "at::native::", "at::cuda::", "at::", "c10::", "cub::", "std::"})
    removeAll(name, noise);
  return printable(name, width);
}

}  // namespace redraft::harness
