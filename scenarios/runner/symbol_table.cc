#include "scenarios/runner/symbol_table.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace redraft::scenarios {

namespace {

/// The program's file, mapped. Not there when it could not be: names are a help, and addresses are reported without
/// them.
struct Program {
  const char* bytes = nullptr;
  std::uint64_t size = 0;
  std::uint64_t loadAddress = 0;
};

Program program;

/// A record of type T at an offset of the file; zeros beyond its end.
template <class T>
T recordAt(std::uint64_t offset) {
  T record{};
  if (offset <= program.size && program.size - offset >= sizeof(T)) {
    std::memcpy(&record, program.bytes + offset, sizeof(T));
  }
  return record;
}

const char* nameAt(std::uint64_t offset) {
  if (offset >= program.size) return nullptr;
  return std::memchr(program.bytes + offset, 0, program.size - offset) != nullptr ? program.bytes + offset : nullptr;
}

const char* findIn(const Elf64_Shdr& table, std::uint64_t strings, std::uint64_t place) {
  for (std::uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
    const auto symbol = recordAt<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym));
    const bool holds = place >= symbol.st_value && place - symbol.st_value < symbol.st_size;
    if (holds && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) return nameAt(strings + symbol.st_name);
  }
  return nullptr;
}

}  // namespace

void loadOwnSymbols() {
  if (program.bytes != nullptr) return;
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat status {};
  if (::fstat(file, &status) == 0 && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped != MAP_FAILED) {
      program.bytes = static_cast<const char*>(mapped);
      program.size = size;
    }
  }
  ::close(file);
  // The first object that the dynamic linker reports is the program itself.
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void*) {
        program.loadAddress = info->dlpi_addr;
        return 1;
      },
      nullptr);
}

const char* ownSymbol(const void* address) {
  const std::uint64_t place = reinterpret_cast<std::uintptr_t>(address) - program.loadAddress;
  const auto header = recordAt<Elf64_Ehdr>(0);
  for (std::uint64_t s = 0; s < header.e_shnum; ++s) {
    const auto section = recordAt<Elf64_Shdr>(header.e_shoff + s * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_SYMTAB) continue;
    const auto strings = recordAt<Elf64_Shdr>(header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
    if (const char* name = findIn(section, strings.sh_offset, place)) return name;
  }
  return nullptr;
}

}  // namespace redraft::scenarios
