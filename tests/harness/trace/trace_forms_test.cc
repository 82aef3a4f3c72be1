// Compact form, Kineto JSON and the driver's log: what is written is read back, and audits the same.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <thread>
#include <utility>

#include "base/files.h"
#include "devices/sim/sim_driver.h"
#include "harness/trace/binary_trace.h"
#include "harness/trace/driver_trace.h"
#include "harness/trace/kineto_reader.h"
#include "harness/trace/kineto_writer.h"
#include "harness/trace/load_trace.h"
#include "tests/harness/affinity/trace_builder.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace redraft::harness {
namespace {

using testing_support::checkOf;
using testing_support::expectBadInput;
using testing_support::TempFolder;
using testing_support::TraceBuilder;
using testing_support::twoRoles;

/// One finding of most checks, and every member of a record with a value somewhere.
TraceBuilder manyFindings() {
  TraceBuilder built;
  built.trace.files[0].rank = 3;
  built.trace.files[0].worldSize = 8;
  built.trace.files[0].deviceNames = {{0, "NVIDIA \"H200\""}, {1, ""}};
  built.trace.files[0].threadNames = {{10, "target"}, {-5, "odd\n"}};
  built.trace.files[0].capture.communicators = {{"drafters", 1, 0, {"GPU-a of h", "GPU-b of h"}}};
  built.context(0, 10);
  built.context(5, -1);
  built.kernel("target", 0).handoff = 4;
  TraceRecord& consumer = built.kernel("drafter", 1, 9);
  consumer.handoff = 4;
  consumer.flags = kConsumer;
  built.peerCopy("drafter", 1, 0);
  built.peerCopy("drafter", 0, 1).flags = kStaged;
  TraceRecord& event = built.add(RecordKind::kEvent, "event");
  event.link = 7;
  event.object = std::uint64_t{1} << 62;
  built.add(RecordKind::kSync, "Stream Wait Event").link = 6;
  TraceRecord& taken = built.add(RecordKind::kAllocation, "segment");
  taken.role = built.trace.strings.intern("drafter");
  taken.device = 0;
  taken.bytes = 4096;
  built.add(RecordKind::kFunction, "matmul").context = 1;
  built.call("cudaStreamSynchronize", "drafter", 11).step = 2;
  TraceRecord& inGraph = built.kernel("", 1);
  inGraph.graph = 9;
  inGraph.shape = built.trace.strings.intern("grid 2147483647x65535x1 block 32x4x8");
  TraceRecord& race = built.add(RecordKind::kRace, "copy");
  race.detail = built.trace.strings.intern("stream 1 \\ wrote \"x\"");
  race.phase = built.trace.strings.intern("hand_off");
  race.startNs = -12'345;
  return built;
}

std::string summary(const Trace& trace) {
  const Contract contract = twoRoles();
  const TraceAudit audit = auditTrace(trace, &contract);
  std::string text;
  for (const auto* list : {&audit.gate, &audit.checks})
    for (const TraceCheck& check : *list)
      text += check.id + " " + enumName(check.state) + " " + std::to_string(check.count) + "; ";
  return text;
}

void expectSameRecords(const Trace& one, const Trace& other) {
  ASSERT_EQ(one.records.size(), other.records.size());
  for (std::size_t i = 0; i < one.records.size(); ++i) {
    const TraceRecord &a = one.records[i], &b = other.records[i];
    EXPECT_EQ(std::make_tuple(a.kind, a.flags, a.startNs, a.durationNs, a.bytes, a.thread, a.correlation, a.link),
              std::make_tuple(b.kind, b.flags, b.startNs, b.durationNs, b.bytes, b.thread, b.correlation, b.link))
        << i;
    EXPECT_EQ(
        std::make_tuple(a.object, a.handoff, a.step, a.device, a.context, a.stream, a.fromDevice, a.toDevice, a.graph),
        std::make_tuple(b.object, b.handoff, b.step, b.device, b.context, b.stream, b.fromDevice, b.toDevice, b.graph))
        << i;
    for (const auto text :
         {&TraceRecord::name, &TraceRecord::role, &TraceRecord::phase, &TraceRecord::detail, &TraceRecord::shape})
      EXPECT_EQ(one.text(a.*text), other.text(b.*text)) << i;
  }
}

TEST(BinaryTraceTest, GivesBackWhatWasWritten) {
  const TempFolder folder;
  const Trace trace = manyFindings().trace;
  writeBinaryTrace(trace, folder.file("t.rdtrace"));
  ASSERT_TRUE(isBinaryTrace(folder.file("t.rdtrace")));
  const Trace read = readBinaryTrace(folder.file("t.rdtrace"));
  expectSameRecords(trace, read);
  ASSERT_EQ(read.files.size(), 1u);
  EXPECT_EQ(read.files[0].rank, 3);
  EXPECT_EQ(read.files[0].deviceNames, trace.files[0].deviceNames);
  EXPECT_EQ(read.files[0].threadNames, trace.files[0].threadNames);
  EXPECT_EQ(read.files[0].capture.kinds, trace.files[0].capture.kinds);
  EXPECT_EQ(read.files[0].capture.communicators, trace.files[0].capture.communicators);
  EXPECT_EQ(read.files[0].capture.dropped, 0);
}

TEST(BinaryTraceTest, RefusesEveryTruncationAndEveryChangedByte) {
  const std::string bytes = binaryTraceBytes(manyFindings().trace);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    expectBadInput([&] { parseBinaryTrace(bytes.substr(0, at), "t.rdtrace"); }, {"t.rdtrace"});
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    expectBadInput([&] { parseBinaryTrace(changed, "t.rdtrace"); }, {"t.rdtrace"});
  }
}

TEST(BinaryTraceTest, SaysWhichVersionItCannotRead) {
  std::string bytes = binaryTraceBytes(manyFindings().trace);
  bytes[8] = 2;
  expectBadInput([&] { parseBinaryTrace(bytes, "t.rdtrace"); }, {"version 2 is not known"});
}

TEST(KinetoWriterTest, WritesWhatTheReaderReadsBack) {
  const TempFolder folder;
  const Trace trace = manyFindings().trace;
  writeFileAtomically(folder.file("t.json"), kinetoText(trace, 0));
  const Trace read = readKineto(folder.file("t.json"));
  expectSameRecords(trace, read);
  EXPECT_EQ(read.files[0].rank, 3);
  EXPECT_EQ(read.files[0].deviceNames, trace.files[0].deviceNames);
  EXPECT_EQ(read.files[0].capture.canaries, trace.files[0].capture.canaries);
  EXPECT_EQ(read.files[0].capture.communicators, trace.files[0].capture.communicators);
}

TEST(KinetoWriterTest, GivesAnOverheadsCallNoKeyThatOtherToolsJoinBy) {
  const TempFolder folder;
  TraceBuilder built;
  built.add(RecordKind::kOverhead, "Lazy Function Loading").correlation = 4711;
  const auto files = writeKinetoFiles(built.trace, folder.path());
  ASSERT_EQ(files.size(), 1u);
  const std::string text = readFile(files.front(), 1 << 20);
  EXPECT_NE(text.find("\"of call\": 4711"), std::string::npos) << text;
  EXPECT_EQ(text.find("\"correlation\""), std::string::npos) << text;
  EXPECT_EQ(readKineto(files.front()).records.front().correlation, 4711);
}

TEST(TraceFormsTest, AuditTheSameInEveryForm) {
  const TempFolder folder;
  const Trace trace = manyFindings().trace;
  const std::string expected = summary(trace);
  for (const char* found :
       {"A2 found", "A4 found", "A5 found", "A6 found", "A7 found", "A8 found", "A9 found", "A11 found"})
    EXPECT_NE(expected.find(found), std::string::npos) << found << ": " << expected;
  writeBinaryTrace(trace, folder.file("t.rdtrace"));
  EXPECT_EQ(summary(loadTraces({folder.file("t.rdtrace")})), expected);
  makeDirectories(folder.file("kineto"));
  const auto files = writeKinetoFiles(readBinaryTrace(folder.file("t.rdtrace")), folder.file("kineto"));
  EXPECT_EQ(files.size(), 3u);  // devices 0, 1 and 5
  EXPECT_EQ(summary(loadTraces({folder.file("kineto")})), expected);
}

TEST(SplitByDeviceTest, PutsACallBesideItsWorkAndAddsStepRanges) {
  TraceBuilder built;
  for (const int step : {3, 4}) {
    for (const int device : {0, 1}) {
      built.kernel("target", device).step = step;
      built.trace.records[built.trace.records.size() - 2].step = step;
    }
  }
  const std::vector<Trace> split = splitByDevice(built.trace);
  ASSERT_EQ(split.size(), 2u);
  EXPECT_EQ(split[1].files[0].rank, 1);
  EXPECT_EQ(split[1].files[0].worldSize, 2);
  std::vector<std::string> names;
  std::int64_t behind = 0;
  for (const TraceRecord& record : split[1].records) {
    if (record.kind != RecordKind::kAnnotation) continue;
    names.push_back(split[1].text(record.name));
    EXPECT_GE(record.startNs, behind);
    behind = record.endNs();
  }
  EXPECT_EQ(names, (std::vector<std::string>{"ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"}));
  EXPECT_EQ(split[1].records.size(), 2u + 2u + 3u);
}

devices::Topology twoDevices() {
  devices::Topology topology;
  topology.deviceCount = 2;
  topology.roles = {{"target[0]", 0}, {"drafter[0]", 1}};
  topology.copyEdges = {{0, 1}};
  return topology;
}

TEST(DriverTraceTest, HoldsContextsCopiesEventsAndWaits) {
  devices::SimOptions options;
  options.topology = twoDevices();
  const auto driver = devices::makeSimDriver(std::move(options));
  devices::Context contexts[2];
  void* memory[2] = {};
  for (const int device : {0, 1}) {
    ASSERT_EQ(driver->primaryContext(device, &contexts[device]), devices::Status::kSuccess);
    ASSERT_EQ(driver->setCurrent(contexts[device]), devices::Status::kSuccess);
    ASSERT_EQ(driver->allocate(256, &memory[device]), devices::Status::kSuccess);
  }
  devices::Stream stream;
  ASSERT_EQ(driver->createStream(&stream), devices::Status::kSuccess);
  ASSERT_EQ(driver->copy(memory[1], memory[0], 256, stream), devices::Status::kSuccess);
  devices::Event event;
  ASSERT_EQ(driver->createEvent(&event), devices::Status::kSuccess);
  ASSERT_EQ(driver->recordEvent(event, stream), devices::Status::kSuccess);
  ASSERT_EQ(driver->waitEvent({}, event), devices::Status::kSuccess);
  ASSERT_NE(driver->copy(memory[0], memory[1], 256, stream), devices::Status::kSuccess);

  DriverTraceRecorder recorder;
  for (const devices::LogRecord& record : driver->log().records()) recorder.add(record);
  const Trace trace = recorder.trace(42);
  const auto first = [&](RecordKind kind) {
    for (const TraceRecord& record : trace.records)
      if (record.kind == kind) return record;
    return TraceRecord();
  };
  EXPECT_EQ(trace.files[0].capture.source, "sim");
  EXPECT_EQ(trace.files[0].capture.dropped, 0);
  EXPECT_EQ(std::make_tuple(first(RecordKind::kContext).device, first(RecordKind::kContext).stream),
            std::make_tuple(0, 7));
  const TraceRecord copy = first(RecordKind::kPeerCopy);
  EXPECT_EQ(std::make_tuple(copy.fromDevice, copy.toDevice, copy.device, copy.context, copy.stream, copy.bytes),
            std::make_tuple(0, 1, 1, 2, 8, 256));
  EXPECT_TRUE(copy.has(kStaged));  // peer access was never enabled
  EXPECT_EQ(first(RecordKind::kSync).link, first(RecordKind::kEvent).link);
  EXPECT_GE(first(RecordKind::kEvent).link, 0);
  std::int64_t refused = 0;
  for (const TraceRecord& record : trace.records) refused += trace.text(record.name) == "refused cuMemcpyAsync";
  EXPECT_EQ(refused, 1);
  const TraceAudit audit = auditTrace(trace, nullptr);
  for (const TraceCheck& check : audit.gate) EXPECT_NE(check.state, AuditState::kFound) << check.id;
}

TEST(DriverTraceTest, GivesWorkTheTimeThatItTookWithinItsCall) {
  DriverTraceRecorder recorder(4);
  std::uint64_t sequence = 0;
  const auto call = [&](std::int64_t nanos) {
    devices::LogRecord record;
    record.sequence = ++sequence;
    record.thread = static_cast<std::uint64_t>(::gettid());
    record.nanos = nanos;
    record.context = 5;
    record.device = 0;
    recorder.add(record);
  };
  call(100);
  std::thread([&] {
    call(110);
    recorder.addWork(140, 0);  // too short for the clock
  }).join();
  recorder.addWork(130, 400);
  call(900);  // nothing is said of its work
  call(1000);
  call(1100);  // beyond the capacity
  recorder.addWork(1110, 50);
  using Times = std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>>;
  Times calls, kernels;  // begin after the first call, and length
  const Trace trace = recorder.trace(1);
  for (const TraceRecord& record : trace.records)
    (record.kind == RecordKind::kKernel ? kernels : calls)[record.correlation] = {record.startNs - 1000,
                                                                                  record.durationNs};
  EXPECT_EQ(kernels, (Times{{1, {30, 400}}, {2, {40, 1}}, {3, {800, 1}}, {4, {900, 1}}}));
  EXPECT_EQ(calls, (Times{{1, {0, 430}}, {2, {10, 30}}, {3, {800, 1}}, {4, {900, 1}}}));
}

TEST(DriverTraceTest, SaysHowMuchItLost) {
  DriverTraceRecorder recorder(2);
  devices::LogRecord launch;
  for (std::uint64_t i = 1; i < 6; ++i) {
    launch.sequence = i;
    recorder.add(launch);
  }
  launch.kind = devices::CallKind::kAllocate;  // of no interest, so none is lost
  recorder.add(launch);
  EXPECT_EQ(recorder.trace(1).files[0].capture.dropped, 3);
  EXPECT_EQ(checkOf(auditTrace(recorder.trace(1), nullptr), "G1").state, AuditState::kFound);
}

TEST(DriverTraceTest, WritesBothForms) {
  const TempFolder folder;
  DriverTraceRecorder recorder;
  devices::LogRecord launch;
  launch.sequence = 1;
  launch.device = 3;
  launch.context = 77;
  launch.name = "attention";
  recorder.add(launch);
  writeTraceFolder(recorder.trace(1), folder.file("trace"));
  EXPECT_EQ(listDirectory(folder.file("trace")), (std::vector<std::string>{"device-3.kineto.json", "run.rdtrace"}));
  EXPECT_EQ(loadTraces({folder.file("trace")}).records.size(), 2u);  // of one form, not of both
}

}  // namespace
}  // namespace redraft::harness
