// Training data in each of its three formats.
#include <string>

#include "base/error.h"
#include "model/pipeline/data.h"
#include "tests/fuzz/byte_reader.h"
#include "tests/fuzz/may_refuse.h"

namespace redraft::model {
namespace {

constexpr const char* kName = "data.jsonl";

void checkDataset(const Dataset& dataset, const DataOptions& options) {
  const auto kept = static_cast<std::int64_t>(dataset.samples.size());
  REDRAFT_CHECK(kept > 0 && kept + dataset.unsupervised == dataset.records, "the records do not add up");
  for (const Sample& sample : dataset.samples) {
    REDRAFT_CHECK(sample.id >= 0 && sample.id < dataset.records, "a sample of no record");
    REDRAFT_CHECK(static_cast<std::int64_t>(sample.tokens.size()) <= options.sequenceLength, "a sample is too long");
    REDRAFT_CHECK(sample.tokens.size() == sample.supervised.size() && hasAnchorCandidate(sample), "no anchor");
    for (const std::int32_t token : sample.tokens)
      REDRAFT_CHECK(token >= 0 && token < options.vocabulary, "a token outside the vocabulary");
    for (const std::uint8_t flag : sample.supervised) REDRAFT_CHECK(flag <= 1, "a mask that is neither 0 nor 1");
  }
}

void readData(std::string_view bytes, DataFormat format) {
  const DataOptions options{kName, format, 12, 300};
  fuzz::mayRefuse(kName, [&] { checkDataset(parseDataset(bytes, kName, options), options); });
}

}  // namespace
}  // namespace redraft::model

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using redraft::model::DataFormat;
  for (const DataFormat format : {DataFormat::kText, DataFormat::kConversations, DataFormat::kTokens})
    redraft::model::readData({reinterpret_cast<const char*>(data), size}, format);
  return 0;
}
