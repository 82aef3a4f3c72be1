// Runs a fuzz target's entry point over its seeds and over mutations of them, without libFuzzer: the same inputs each
// time, under any compiler. usage: TARGET_seeds FOLDER MUTATIONS
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/philox.h"
#include "tests/fuzz/byte_reader.h"

namespace {

using redraft::CounterRng;
using namespace std::string_view_literals;

void run(const std::string& bytes) {
  // A copy of its own size, so that a sanitizer sees a read beyond the end.
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

/// One small change. The tokens are what the formats are made of, and what they are not.
void mutate(std::string& bytes, const std::vector<std::string>& seeds, CounterRng& rng) {
  constexpr std::string_view kTokens = "{}[]\",:\\/u0019-.eE+ \n\0\x7f\xff\xc3\xed"sv;
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(rng.below(bound)); };
  const std::size_t at = below(bytes.size() + 1);
  switch (below(6)) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      bytes.erase(at, 1 + below(8));
      break;
    case 2:
      bytes.insert(at, 1, kTokens[below(kTokens.size())]);
      break;
    case 3:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
      break;
    case 4:
      bytes.insert(at, bytes.substr(below(bytes.size() + 1), below(32)));
      break;
    default:
      const std::string& other = seeds[below(seeds.size())];
      bytes.replace(at, std::string::npos, other, below(other.size() + 1), std::string::npos);
  }
}

void runAll(const std::string& folder, std::uint64_t mutations) {
  std::vector<std::string> seeds;
  for (const std::string& name : redraft::listDirectory(folder)) {
    seeds.push_back(redraft::readFile(redraft::joinPath(folder, name)));
  }
  if (seeds.empty()) redraft::throwBadInput(folder, "holds no seeds");
  for (const std::string& seed : seeds) run(seed);
  for (std::uint64_t i = 0; i < mutations; ++i) {
    CounterRng rng(1, "mutations", i);
    std::string bytes = seeds[static_cast<std::size_t>(rng.below(seeds.size()))];
    for (std::uint64_t changes = 1 + rng.below(4); changes > 0; --changes) mutate(bytes, seeds, rng);
    run(bytes);
  }
  std::printf("%zu seeds and %llu mutations\n", seeds.size(), static_cast<unsigned long long>(mutations));
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t mutations = 0;
  const std::string_view count = argc == 3 ? argv[2] : "";
  if (std::from_chars(count.data(), count.data() + count.size(), mutations).ec != std::errc()) {
    std::fprintf(stderr, "usage: %s FOLDER MUTATIONS\n", argv[0]);
    return 2;
  }
  try {
    runAll(argv[1], mutations);
  } catch (const redraft::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
