// Every specialisation, compiled by NVRTC (which needs no GPU): nothing spilled to memory, and tensor cores used. What
// the machine code holds is read from the cubin itself.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "devices/nvrtc.h"
#include "model/kernels/cuda/gpu_sources.h"
#include "model/kernels/gpu_attention.h"
#include "tests/model/pipeline/temporary_folder.h"

namespace redraft::model::testing {
namespace {

using gpu::Program;

/// Lowest 12 bits of an instruction's first word, sm_80 to sm_100 (read off the cubins of these kernels; a change of
/// encoding fails the counts below).
constexpr unsigned kTensorCoreMultiply = 0x23c, kStoreLocal = 0x387, kLoadLocal = 0x983;

struct Entry {
  std::map<unsigned, int> opcodes;  // → how often
};

template <class T>
T at(const std::vector<std::byte>& bytes, std::size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof value, bytes.size());
  if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// The kernels of a cubin: an ELF64 file with a section ".text.<entry>" each, of 16-byte instructions.
std::map<std::string, Entry> entriesOf(const std::vector<std::byte>& cubin) {
  const auto table = at<std::uint64_t>(cubin, 0x28);
  const auto count = at<std::uint16_t>(cubin, 0x3c), names = at<std::uint16_t>(cubin, 0x3e);
  const auto section = [&](std::size_t index) { return table + index * 64; };
  const auto nameTable = at<std::uint64_t>(cubin, section(names) + 0x18);
  std::map<std::string, Entry> entries;
  for (std::size_t i = 0; i < count; ++i) {
    const char* name = reinterpret_cast<const char*>(cubin.data()) + nameTable + at<std::uint32_t>(cubin, section(i));
    if (std::strncmp(name, ".text.", 6) != 0) continue;
    const auto begin = at<std::uint64_t>(cubin, section(i) + 0x18), size = at<std::uint64_t>(cubin, section(i) + 0x20);
    for (std::uint64_t o = 0; o < size; o += 16)
      ++entries[name + 6].opcodes[at<std::uint64_t>(cubin, begin + o) & 0xfff];
  }
  return entries;
}

struct Specialisation {
  Program program;
  int headDim;
  MaskRule rule;
  int architecture;
};

std::string nameOf(const Specialisation& s) {
  return "program " + std::to_string(static_cast<int>(s.program)) + " d" + std::to_string(s.headDim) + " rule " +
         std::to_string(static_cast<int>(s.rule)) + " sm_" + std::to_string(s.architecture);
}

/// mma.m16n8k16 a tile pair and warp: products of 16 × 64 by headDim and back, unrolled; half a tile at a time in
/// backward, whose loop over the halves is not.
std::map<std::string, int> multipliesOf(const Specialisation& s) {
  switch (s.program) {
    case Program::kAttentionForward:
      return {{"attention_forward", s.headDim}};
    case Program::kAttentionBackward:
      return {{"attention_backward_queries", 3 * s.headDim / 4}, {"attention_backward_keys", s.headDim}};
    case Program::kBlockMask:
      return {{"block_mask_count", 0}, {"block_mask_fill", 0}};
  }
  return {};
}

void check(const Specialisation& s, const devices::Cubin& cubin) {
  SCOPED_TRACE(nameOf(s));
  auto entries = entriesOf(cubin.bytes);
  const auto expected = multipliesOf(s);
  EXPECT_EQ(entries.size(), expected.size());
  for (const auto& [name, least] : expected) {
    ASSERT_TRUE(entries.count(name)) << name;
    auto& opcodes = entries[name].opcodes;
    EXPECT_EQ(opcodes[kStoreLocal] + opcodes[kLoadLocal], 0) << name << ": spilled registers";
    const int multiplies = opcodes[kTensorCoreMultiply];
    // A loop over tiles may be unrolled, whole.
    EXPECT_TRUE(least == 0 ? multiplies == 0 : multiplies > 0 && multiplies % least == 0) << name << ": " << multiplies;
  }
  if (cubin.log.empty()) return;  // some releases of NVRTC hand on nothing of what the assembler reports
  std::size_t reports = 0;
  const std::string clean = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
  for (std::size_t found = 0; (found = cubin.log.find(clean, found)) != std::string::npos; ++found) ++reports;
  EXPECT_EQ(reports, expected.size()) << cubin.log;
}

std::vector<Specialisation> all() {
  std::vector<Specialisation> list;
  for (const MaskRule rule : {MaskRule::kCausal, MaskRule::kDraftFull, MaskRule::kDraftSliding}) {
    list.push_back({Program::kBlockMask, 0, rule, 90});
    for (const int dim : gpu::kHeadDims) {
      list.push_back({Program::kAttentionForward, dim, rule, 90});
      list.push_back({Program::kAttentionBackward, dim, rule, 90});
    }
  }
  // The rules differ in a few instructions: the other architectures take one.
  for (const int architecture : {80, 100}) {
    for (const int dim : gpu::kHeadDims) {
      list.push_back({Program::kAttentionForward, dim, MaskRule::kDraftSliding, architecture});
      list.push_back({Program::kAttentionBackward, dim, MaskRule::kDraftSliding, architecture});
    }
  }
  return list;
}

TEST(GpuCompileTest, EverySpecialisationUsesTensorCoresAndSpillsNothing) {
  if (const std::string why = devices::Nvrtc::whyNone(); !why.empty()) GTEST_SKIP() << why;
  const devices::Nvrtc& nvrtc = devices::Nvrtc::open();
  const std::vector<Specialisation> list = all();
  std::vector<devices::Cubin> cubins(list.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < list.size();) {
      const Specialisation& s = list[i];
      cubins[i] = nvrtc.compile(gpu::gpuSource(s.program, s.headDim, s.rule), s.architecture);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < list.size(); ++i) check(list[i], cubins[i]);
}

struct FusedSpecialisation {
  gpu::FusedProgram program;
  bool bfloat16;
  int architecture;
};

std::vector<std::string> kernelsOf(gpu::FusedProgram program) {
  if (program == gpu::FusedProgram::kOptimizer)
    return {"adamw_step", "sum_of_squares_partial", "sum_of_squares_total", "scale_all"};
  return {"rms_norm_forward",      "rms_norm_backward",     "rms_norm_backward_weight",
          "silu_mul_forward",      "silu_mul_backward",     "rope",
          "cross_entropy_forward", "cross_entropy_backward"};
}

TEST(GpuCompileTest, EveryFusedKernelIsThereAndKeepsToRegisters) {
  if (const std::string why = devices::Nvrtc::whyNone(); !why.empty()) GTEST_SKIP() << why;
  const devices::Nvrtc& nvrtc = devices::Nvrtc::open();
  std::vector<FusedSpecialisation> list;
  for (const auto program : {gpu::FusedProgram::kRowOps, gpu::FusedProgram::kOptimizer})
    for (const bool bfloat16 : {false, true})
      for (const int architecture : {80, 90, 100}) list.push_back({program, bfloat16, architecture});
  std::vector<std::future<devices::Cubin>> cubins;
  for (const FusedSpecialisation& s : list)
    cubins.push_back(std::async(std::launch::async, [&nvrtc, s] {
      return nvrtc.compile(gpu::fusedSource(s.program, s.bfloat16), s.architecture);
    }));
  for (std::size_t i = 0; i < list.size(); ++i) {
    SCOPED_TRACE((list[i].bfloat16 ? "bf16 sm_" : "f32 sm_") + std::to_string(list[i].architecture));
    auto entries = entriesOf(cubins[i].get().bytes);
    const std::vector<std::string> names = kernelsOf(list[i].program);
    EXPECT_EQ(entries.size(), names.size());
    for (const std::string& name : names) {
      ASSERT_TRUE(entries.count(name)) << name;
      EXPECT_EQ(entries[name].opcodes[kStoreLocal] + entries[name].opcodes[kLoadLocal], 0) << name;
    }
  }
}

TEST(GpuCompilerTest, StoresWhatItCompilesAndTakesItFromThere) {
  if (const std::string why = devices::Nvrtc::whyNone(); !why.empty()) GTEST_SKIP() << why;
  const TemporaryFolder folder;
  const auto store = std::make_shared<devices::ArtefactStore>(folder.path());
  const std::string name = "attention_forward/d16/draft_full/bf16/q64k64";
  const devices::Image first = gpuAttentionCompiler(90, store)(name);
  EXPECT_EQ(first.name, name);
  EXPECT_EQ(entriesOf(first.cubin).count("attention_forward"), 1u);
  const std::string path = store->pathOf(
      devices::Nvrtc::open().keyOf(gpu::gpuSource(Program::kAttentionForward, 16, MaskRule::kDraftFull), 90));
  const std::string stored = readFile(path);
  EXPECT_EQ(gpuAttentionCompiler(90, store)(name).cubin, first.cubin);
  writeFileAtomically(path, stored.substr(0, stored.size() / 2));
  EXPECT_EQ(gpuAttentionCompiler(90, store)(name).cubin, first.cubin);
  EXPECT_EQ(readFile(path), stored);
}

TEST(GpuCompilerTest, RefusesWhatThereIsNoneOfOnAGpu) {
  const TemporaryFolder folder;
  const auto compile = gpuAttentionCompiler(90, std::make_shared<devices::ArtefactStore>(folder.path()));
  for (const char* name : {"attention_forward/d64/draft_full/f32/q64k64", "attention_backward/d24/causal/bf16/q64k64",
                           "attention_forward/d256/causal/bf16/q64k64"}) {
    try {
      compile(name);
      ADD_FAILURE() << name << " was compiled";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      EXPECT_NE(error.remedy().find("compiled false"), std::string::npos) << error.what();
    }
  }
}

TEST(GpuCompileTest, SharedMemoryFitsAndLaunchesCoverTheTiles) {
  const AttentionShape shape{2, 8, 2, 130, 300, 128, 170, 10, 0, 13, 1.0f};
  const auto forward = gpu::launches(Program::kAttentionForward, shape).at(0).shape;
  EXPECT_EQ(forward.grid[0], 3u);
  EXPECT_EQ(forward.grid[1], 8u);
  EXPECT_EQ(forward.grid[2], 2u);
  EXPECT_EQ(forward.sharedBytes, 2u * 64 * 136 * 2);
  const auto backward = gpu::launches(Program::kAttentionBackward, shape);
  ASSERT_EQ(backward.size(), 2u);
  EXPECT_STREQ(backward[0].entry, "attention_backward_queries");
  EXPECT_EQ(backward[1].shape.grid[0], 5u);
  EXPECT_EQ(backward[1].shape.grid[1], 2u);
  // Two blocks on a multiprocessor of sm_80 (164 KiB, of which each block keeps 1).
  EXPECT_LE(2 * (backward[1].shape.sharedBytes + 1024), 164u * 1024);
}

}  // namespace
}  // namespace redraft::model::testing
