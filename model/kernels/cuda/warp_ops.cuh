#pragma once
// The GPU operations that the kernels are written in. NVRTC compiles them to PTX here; for any other compiler they are
// declared alone, and who links defines them: the tests run a block's threads as fibers on the CPU
// (tests/model/kernels/gpu_emulator.h). Layouts: PTX ISA, "Matrix fragments for mma.m16n8k16" and "ldmatrix".
//
// In a warp, lane = 4 g + t. A 16 × 16 fragment of A holds rows g and g + 8, columns 2t, 2t+1 and 2t+8, 2t+9; a 16 × 8
// fragment of B rows (k) 2t, 2t+1, 2t+8, 2t+9 of column g; of C rows g and g + 8, columns 2t and 2t + 1.

#include <cstdint>

namespace redraft::model::gpu {

struct BFloat16 {
  std::uint16_t bits;
};

using FragmentA = std::uint32_t[4];
using FragmentB = std::uint32_t[2];
using FragmentC = float[4];

#ifdef __CUDACC_RTC__

#define REDRAFT_UNROLL _Pragma("unroll")
#define REDRAFT_NO_UNROLL _Pragma("unroll 1")

inline unsigned threadIndex() { return threadIdx.x; }
inline unsigned blockIndex(int axis) { return axis == 0 ? blockIdx.x : axis == 1 ? blockIdx.y : blockIdx.z; }
inline void syncBlock() { __syncthreads(); }
inline unsigned char* dynamicShared() {
  extern __shared__ __align__(16) unsigned char memory[];
  return memory;
}
inline float shuffleXor(float value, unsigned lanes) { return __shfl_xor_sync(0xffffffffu, value, lanes); }

inline std::uint32_t sharedAddress(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

inline void multiplyAdd(FragmentC& c, const FragmentA& a, const FragmentB& b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

inline void loadMatrices(std::uint32_t (&r)[4], const BFloat16* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(sharedAddress(row))
               : "memory");
}

inline void loadMatricesTransposed(std::uint32_t (&r)[4], const BFloat16* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(sharedAddress(row))
               : "memory");
}

inline void copyAsync(void* shared, const void* global, bool present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(shared)), "l"(global),
               "r"(present ? 16 : 0)
               : "memory");
}
inline void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kGroups>
inline void waitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}

inline std::uint32_t packBFloat16(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
inline float exp2Fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
inline float log2Fast(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

#else

#define REDRAFT_UNROLL
#define REDRAFT_NO_UNROLL

unsigned threadIndex();                         // within the block
unsigned blockIndex(int axis);                  // 0, 1, 2
void syncBlock();                               // waits for every thread of the block
unsigned char* dynamicShared();                 // the block's shared memory, of the launch's size; 16-byte aligned
float shuffleXor(float value, unsigned lanes);  // the value of the lane whose number differs by these bits

/// c += a b, all 32 lanes together; products exact, sums in float32.
void multiplyAdd(FragmentC& c, const FragmentA& a, const FragmentB& b);

/// Four 8 × 8 matrices of shared memory. Lane l gives the address of row l mod 8 of matrix l div 8 (16 bytes, aligned);
/// r[i] is columns 2t and 2t + 1 of row g of matrix i, or rows 2t and 2t + 1 of column g when transposed.
void loadMatrices(std::uint32_t (&r)[4], const BFloat16* row);
void loadMatricesTransposed(std::uint32_t (&r)[4], const BFloat16* row);

/// 16 bytes, both addresses aligned to 16; zeros when not `present` (`global` is then not read). There after its group
/// was waited for, and for other threads after syncBlock().
void copyAsync(void* shared, const void* global, bool present);
void commitCopies();  // closes this thread's group
void waitForCopies(int groups);
/// Until at most kGroups of this thread's groups, the newest, are still under way.
template <int kGroups>
void waitForCopies() {
  waitForCopies(kGroups);
}

std::uint32_t packBFloat16(float low, float high);  // each rounded to nearest even
float exp2Fast(float x);                            // relative error at most 2^-22 (PTX ISA, ex2.approx)
float log2Fast(float x);

#endif

inline float widen(BFloat16 value) {
  union {
    std::uint32_t bits;
    float number;
  } cast;
  cast.bits = static_cast<std::uint32_t>(value.bits) << 16;
  return cast.number;
}

}  // namespace redraft::model::gpu
