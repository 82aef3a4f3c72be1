#include "scenarios/runner/symbol_table.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace redraft::scenarios {

namespace {

struct Symbol {
  std::uint64_t begin = 0, end = 0;
  std::string name;
};

/// A record of type T at an offset of the file; zeros beyond its end.
template <class T>
T recordAt(const std::string& bytes, std::uint64_t offset) {
  T record{};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof(T))
    std::memcpy(&record, bytes.data() + offset, sizeof(T));
  return record;
}

std::vector<Symbol> readFunctions(const std::string& bytes) {
  std::vector<Symbol> symbols;
  const auto header = recordAt<Elf64_Ehdr>(bytes, 0);
  for (std::uint64_t s = 0; s < header.e_shnum; ++s) {
    const auto section = recordAt<Elf64_Shdr>(bytes, header.e_shoff + s * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_SYMTAB) continue;
    const auto strings = recordAt<Elf64_Shdr>(bytes, header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
    for (std::uint64_t i = 0; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = recordAt<Elf64_Sym>(bytes, section.sh_offset + i * sizeof(Elf64_Sym));
      const std::uint64_t name = strings.sh_offset + symbol.st_name;
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size == 0 || name >= bytes.size()) continue;
      symbols.push_back({symbol.st_value, symbol.st_value + symbol.st_size, std::string(bytes.c_str() + name)});
    }
  }
  std::sort(symbols.begin(), symbols.end(), [](const Symbol& a, const Symbol& b) { return a.begin < b.begin; });
  return symbols;
}

/// Where the program lies in memory: the first object that the dynamic linker reports is the program itself.
std::uint64_t loadAddress() {
  std::uint64_t address = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uint64_t*>(out) = info->dlpi_addr;
        return 1;
      },
      &address);
  return address;
}

std::vector<Symbol> ownFunctions() {
  try {
    return readFunctions(readFile("/proc/self/exe", std::size_t{1} << 30));
  } catch (const Error&) {
    return {};  // names are a help, not a need: addresses are reported without them
  }
}

}  // namespace

std::string ownSymbol(const void* address) {
  static const std::vector<Symbol> kFunctions = ownFunctions();
  const std::uint64_t place = reinterpret_cast<std::uintptr_t>(address) - loadAddress();
  auto after = std::upper_bound(kFunctions.begin(), kFunctions.end(), place,
                                [](std::uint64_t at, const Symbol& symbol) { return at < symbol.begin; });
  if (after == kFunctions.begin() || (--after)->end <= place) return "";
  return after->name;
}

}  // namespace redraft::scenarios
