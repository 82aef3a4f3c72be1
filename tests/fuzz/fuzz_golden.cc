// A golden file of either kind.
#include <string>

#include "base/error.h"
#include "golden/compare.h"
#include "golden/golden_file.h"
#include "tests/fuzz/byte_reader.h"
#include "tests/fuzz/input_folder.h"

namespace redraft::golden {
namespace {

void checkGolden(const Golden& golden, const fuzz::InputFolder& input) {
  const auto text = [](const Golden& each) {
    return each.record.performanceClass ? performanceText(each) : numericsText(each);
  };
  input.write("again.json", text(golden));
  const Golden again = loadGolden(input.file("again.json"));
  REDRAFT_CHECK(text(again) == text(golden), "a golden did not survive writing");
  const NumericsComparison same = compareNumerics(golden.record, again.record);
  REDRAFT_CHECK(same.outcome != Outcome::kDifferent, "a golden differs from itself: " + describe(same));
  describe(compareThroughput(golden.record, again.record));
}

void readGolden(std::string_view bytes) {
  static const fuzz::InputFolder input;
  input.write("golden.json", bytes);
  fuzz::mayRefuse(input.file("golden.json"), [] { checkGolden(loadGolden(input.file("golden.json")), input); });
}

}  // namespace
}  // namespace redraft::golden

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  redraft::golden::readGolden({reinterpret_cast<const char*>(data), size});
  return 0;
}
