#include "harness/trace/kineto_reader.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/files.h"
#include "tests/harness/trace/trace_text.h"
#include "tests/support/expect_error.h"

namespace redraft::harness {
namespace {

using testing_support::expectBadInput;
using testing_support::kinetoText;
using testing_support::readText;
using testing_support::TempFolder;

const char* const kOperator =
    R"J({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 1.5, "dur": 2, "args": {"Input Dims": [[2,3],[]]}})J";
const char* const kLaunch =
    R"J({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 41, "ts": 5105575477179.702,
        "dur": 0.25, "args": {"cbid": 211, "correlation": 77}})J";
const char* const kKernel =
    R"J({"ph": "X", "cat": "kernel", "name": "void k<\"a\">(int)", "pid": 1, "tid": 7, "ts": 5105575477190.001, "dur": 3,
        "args": {"device": 1, "context": 2, "stream": 7, "correlation": 77, "grid": [1,1,1], "graph id": 5}})J";
const char* const kPeer =
    R"J({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy PtoP (Device -> Device)", "pid": 0, "tid": 20, "ts": 8, "dur": 1,
        "args": {"fromDevice": 0, "inDevice": 0, "toDevice": 1, "inContext": 1, "stream": 20, "correlation": 78, "bytes": 64}})J";
const char* const kPageableCopy =
    R"J({"args": {"bytes": 8, "device": 0, "context": 1, "stream": 7, "correlation": 79}, "dur": 1, "ts": 9,
        "name": "Memcpy HtoD (Pageable -> Device)", "cat": "gpu_memcpy", "tid": 7, "pid": 0, "ph": "X"})J";
const char* const kFlow = R"J({"ph": "s", "id": 77, "pid": 9, "tid": 41, "ts": 1, "cat": "ac2g", "name": "ac2g"})J";
const char* const kThread =
    R"J({"name": "thread_name", "ph": "M", "ts": 1, "pid": 9, "tid": 41, "args": {"name": "thread 41 (python3)"}})J";

std::vector<std::string> allEvents() { return {kOperator, kLaunch, kKernel, kFlow, kPeer, kPageableCopy, kThread}; }

TEST(KinetoReaderTest, KeepsWhatTheAuditNeeds) {
  const Trace trace = readText(kinetoText(allEvents(), ", \"distributedInfo\": {\"rank\": 3, \"world_size\": 8}"));
  ASSERT_EQ(trace.records.size(), 4u);
  const TraceRecord& launch = trace.records[0];
  EXPECT_EQ(launch.kind, RecordKind::kApi);
  EXPECT_EQ(launch.thread, 41);
  EXPECT_EQ(launch.correlation, 77);
  EXPECT_EQ(launch.index, 1u);
  const TraceRecord& kernel = trace.records[1];
  EXPECT_EQ(trace.text(kernel.name), "void k<\"a\">(int)");
  EXPECT_EQ(std::make_tuple(kernel.device, kernel.context, kernel.stream, kernel.graph), std::make_tuple(1, 2, 7, 5));
  const TraceRecord& peer = trace.records[2];
  EXPECT_EQ(peer.kind, RecordKind::kPeerCopy);
  EXPECT_EQ(std::make_tuple(peer.device, peer.context, peer.fromDevice, peer.toDevice), std::make_tuple(0, 1, 0, 1));
  EXPECT_EQ(peer.bytes, 64);
  EXPECT_TRUE(trace.records[3].has(kPageable));
  ASSERT_EQ(trace.files.size(), 1u);
  EXPECT_EQ(trace.files[0].rank, 3);
  EXPECT_EQ(trace.files[0].worldSize, 8);
  EXPECT_EQ(trace.files[0].events, 7u);
  EXPECT_EQ(trace.files[0].threadNames.at(41), "thread 41 (python3)");
  EXPECT_EQ(trace.files[0].capture.source, "");
}

TEST(KinetoReaderTest, KeepsNanosecondsThatADoubleWouldLose) {
  const Trace trace = readText(kinetoText(allEvents()));
  EXPECT_EQ(trace.records[0].startNs, 5105575477179702);
  EXPECT_EQ(trace.records[0].durationNs, 250);
  EXPECT_EQ(trace.records[1].startNs, 5105575477190001);
}

TEST(KinetoReaderTest, SaysWhereARecordStandsInTheFile) {
  const std::string text = kinetoText(allEvents());
  const Trace trace = readText(text);
  EXPECT_LT(text.find("cudaLaunchKernel"), trace.records[0].place + 60);
  for (const TraceRecord& record : trace.records) EXPECT_EQ(text[record.place - 1], '"') << record.place;
}

/// Texts and lists that look like the end of one event and the beginning of the next.
std::vector<std::string> treacherous() {
  std::vector<std::string> events = allEvents();
  events.emplace_back(
      R"({"ph": "X", "cat": "user_annotation", "name": "},{\"ph\": \"X\"}, { \\", "tid": 41, "ts": 1, "dur": 1})");
  events.emplace_back(R"({"ph": "X", "cat": "user_annotation", "name": "list", "tid": 41, "ts": 1, "dur": 1,
                          "args": {"a": [{"device": 9}, {"device": 9}, {"x": [{}, {}]}]}})");
  const std::vector<std::string> once = events;
  for (int i = 0; i < 3; ++i) events.insert(events.end(), once.begin(), once.end());
  return events;
}

void expectSame(const Trace& one, const Trace& other, const std::string& what) {
  ASSERT_EQ(one.records.size(), other.records.size()) << what;
  for (std::size_t i = 0; i < one.records.size(); ++i) {
    const TraceRecord &a = one.records[i], &b = other.records[i];
    EXPECT_EQ(one.text(a.name), other.text(b.name)) << what;
    EXPECT_EQ(std::make_tuple(a.kind, a.startNs, a.index, a.place, a.device, a.thread),
              std::make_tuple(b.kind, b.startNs, b.index, b.place, b.device, b.thread))
        << what << ", record " << i;
  }
  EXPECT_EQ(one.files[0].events, other.files[0].events) << what;
}

TEST(KinetoReaderTest, ReadsTheSameInWindowsOfAnySizeOnAnyNumberOfThreads) {
  const std::string text =
      kinetoText(treacherous(), ", \"others\": [{\"a\": 1}, {\"b\": [{}, {}]}], \"traceName\": \"x\"");
  const Trace whole = readText(text, {1, std::size_t{1} << 20});
  ASSERT_EQ(whole.records.size(), 4 * 6u);
  for (const std::size_t bytes : {1, 7, 64, 200, 333, 1000, 4000})
    for (const int threads : {1, 2, 3})
      expectSame(readText(text, {threads, bytes}), whole, std::to_string(bytes) + " bytes a window");
}

TEST(KinetoReaderTest, ReadsAListOfEvents) {
  std::string text = "[";
  for (const std::string& event : allEvents()) text += (text.size() == 1 ? "" : ",") + event;
  EXPECT_EQ(readText(text + "]").records.size(), 4u);
  EXPECT_EQ(readText(text + "]", {2, 50}).records.size(), 4u);
}

std::string packed(const std::string& text, const TempFolder& folder) {
  std::string path = folder.file("packed.json.gz");
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

TEST(KinetoReaderTest, ReadsPackedFiles) {
  const TempFolder folder;
  const std::string text = kinetoText(treacherous());
  const Trace trace = readKineto(packed(text, folder), {2, 500});
  expectSame(trace, readText(text), "packed");
  EXPECT_EQ(trace.files[0].bytes, text.size());
}

TEST(KinetoReaderTest, RefusesAPackedFileThatEndsEarly) {
  const TempFolder folder;
  const std::string path = packed(kinetoText(treacherous()), folder);
  const std::string bytes = readFile(path);
  for (const std::size_t keep : {bytes.size() - 1, bytes.size() / 2, std::size_t{12}}) {
    writeFileAtomically(path, bytes.substr(0, keep));
    expectBadInput([&] { readKineto(path); }, {"packed.json.gz"});
  }
}

TEST(KinetoReaderTest, RefusesEveryTruncation) {
  std::string text = kinetoText(allEvents(), ", \"traceName\": \"x\"");
  while (text.back() == '\n') text.pop_back();
  for (std::size_t keep = 0; keep < text.size(); ++keep) {
    expectBadInput([&] { readText(text.substr(0, keep), {1, 300}); }, {"trace.json"});
  }
}

TEST(KinetoReaderTest, SaysWhereAFileIsBroken) {
  const std::string good = kinetoText(allEvents());
  const auto withKernel = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const struct {
    std::string text;
    std::string part;
  } cases[] = {
      {"", "no JSON"},
      {"  \n ", "no JSON"},
      {"hello", "byte 0"},
      {"{}", "trace.json: byte"},
      {"{\"traceEvents\": 5}", "trace.json: byte"},
      {"{\"traceEvents\": [5]}", "trace.json: byte"},
      {good + "x", "trace.json: byte"},
      {good + good, "trace.json: byte"},
      {withKernel("\"ts\": 8", "\"ts\": \"8\""), "trace.json: byte"},
      {withKernel("\"dur\": 3", "\"dur\": 1e400"), "trace.json: byte"},
      {withKernel("\"schemaVersion\": 1", "\"redraftCapture\": {\"schema\": \"redraft.capture/9\"}"), "redraftCapture"},
      {withKernel("\"schemaVersion\": 1", "\"traceEvents\": []"), "trace.json: byte"},
      {withKernel("cudaLaunchKernel", "cuda\xff"), "trace.json: byte"}};
  for (const auto& [text, part] : cases) expectBadInput([&text = text] { readText(text); }, {"trace.json", part});
}

TEST(KinetoReaderTest, RefusesWhatIsNoFile) {
  const TempFolder folder;
  expectBadInput([&] { readKineto(folder.path()); }, {"not a regular file"});
  expectBadInput([&] { readKineto(folder.file("absent")); }, {"no such file"});
}

TEST(KinetoReaderTest, LeavesNumbersThatDoNotFitAbsent) {
  const Trace trace = readText(kinetoText({R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1,
      "args": {"device": 99999999999, "context": 1.5, "stream": "7", "correlation": 4294967296}})"}));
  ASSERT_EQ(trace.records.size(), 1u);
  const TraceRecord& kernel = trace.records[0];
  EXPECT_EQ(std::make_tuple(kernel.device, kernel.context, kernel.stream), std::make_tuple(-1, -1, -1));
  EXPECT_EQ(kernel.correlation, 4294967296);
}

}  // namespace
}  // namespace redraft::harness
