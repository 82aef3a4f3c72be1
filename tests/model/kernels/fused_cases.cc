#include "tests/model/kernels/fused_cases.h"

#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>

#include "model/kernels/gpu_ops.h"
#include "model/kernels/ops.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The same values on `device`, at an address that packs do not begin at.
at::Tensor unaligned(const at::Tensor& x, at::Device device) {
  at::Tensor room = at::empty({x.numel() + 1}, x.options().device(device));
  at::Tensor view = room.slice(0, 1).view(x.sizes());
  view.copy_(x);
  return view;
}

/// The same values on `device`, with heads and tokens exchanged in memory: as a projection's view has them.
at::Tensor transposed(const at::Tensor& x, at::Device device) {
  return x.transpose(1, 2).contiguous().to(device).transpose(1, 2);
}

/// Two calls; their results have the same bits. The first's, on the CPU. By emulation one call is enough: there, the
/// other order of threads is what is compared.
template <class Function>
FusedResults twice(Function function) {
  FusedResults first = function(), second;
  if (!first.empty() && first.front().is_cuda()) second = function();
  for (std::size_t i = 0; i < first.size(); ++i) {
    first[i] = first[i].cpu();
    if (!second.empty()) {
      EXPECT_TRUE(sameBits(first[i], second[i].cpu())) << "the same call again, result " << i;
    }
  }
  return first;
}

void append(FusedResults& all, const FusedResults& more) { all.insert(all.end(), more.begin(), more.end()); }

struct Norm {
  at::Tensor x, weight, grad;
};

FusedResults normOn(const Norm& in) {
  const auto [y, r] = gpu::rmsNorm(in.x, in.weight, kNormEps);
  const auto [dx, dw] = gpu::rmsNormBackward(in.grad, in.x, in.weight, r, true, true);
  return {y, r, dx, dw};
}

void expectThePinnedNorm(const Norm& cpu, const FusedResults& got) {
  const std::int64_t width = cpu.x.size(-1), rows = width == 0 ? 0 : cpu.x.numel() / width;
  const at::Tensor x = cpu.x.clone().requires_grad_(true), w = cpu.weight.clone().requires_grad_(true);
  const at::Tensor y = model::rmsNorm(x, w, kNormEps);
  const auto want = gradients(y, cpu.grad, {x, w});
  const at::NoGradGuard frozen;
  const auto n = static_cast<double>(width);
  EXPECT_TRUE(within(got[0], y, bothBounds(y, n + 8, y)));
  const at::Tensor g = f64(cpu.grad), v = f64(cpu.x), weight = f64(cpu.weight);
  const at::Tensor r = (v.square().mean(-1, true) + kNormEps).rsqrt();
  EXPECT_TRUE(within(got[1], r.reshape({-1}), r.reshape({-1}) * gamma(n + 8)));
  const at::Tensor size = (r * g * weight).abs() + v.abs() * r.pow(3) * (g * weight * v).abs().mean(-1, true);
  EXPECT_TRUE(within(got[2], want[0], bothBounds(size, 4 * n + 16, want[0])));
  const at::Tensor terms = (g * v * r).abs().reshape({rows, width}).sum(0);
  EXPECT_TRUE(within(got[3], want[1], bothBounds(terms, static_cast<double>(rows) + n + 8, want[1])));
}

at::Tensor expandRows(const at::Tensor& x) {  // [B, h, T, d] → Σ|x| over the pair that turns together
  const std::int64_t half = x.size(3) / 2;
  const at::Tensor pairs = f64(x).abs().view({x.size(0), x.size(1), x.size(2), 2, half});
  return pairs.sum(3, true).expand({x.size(0), x.size(1), x.size(2), 2, half}).reshape(x.sizes());
}

}  // namespace

at::Tensor bothBounds(const at::Tensor& terms, double roundings, const at::Tensor& want) {
  const double store = storeUnit(want.scalar_type());
  return f64(terms).abs() * (2 * gamma(roundings) * (1 + store)) + f64(want).abs() * (2 * store);
}

FusedResults checkFusedNorms(at::Device device, at::ScalarType type) {
  FusedResults all;
  // Every way to share a row out, with and without whole packs; groups that are full, begun and alone.
  for (const auto& [rows, width] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {3, 7}, {260, 100}, {20, 130}, {9, 500}, {17, 516}, {3, 1100}, {0, 64}}) {
    SCOPED_TRACE(::testing::Message() << rows << " rows of " << width);
    const Norm cpu{normal({rows, width}, 1, type), normal({width}, 2, type), normal({rows, width}, 3, type)};
    append(all, twice([&] { return normOn({cpu.x.to(device), cpu.weight.to(device), cpu.grad.to(device)}); }));
    expectThePinnedNorm(cpu, {all.end() - 4, all.end()});
    const FusedResults shifted = twice([&] {
      return normOn({unaligned(cpu.x, device), unaligned(cpu.weight, device), unaligned(cpu.grad, device)});
    });
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(sameBits(shifted[i], all[all.size() - 4 + i])) << "unaligned " << i;
  }
  const Norm cpu{normal({2, 3, 5, 64}, 1, type), normal({64}, 2, type), normal({2, 3, 5, 64}, 3, type)};
  const auto there = [&](bool strided) {
    const auto put = [&](const at::Tensor& x) { return strided ? transposed(x, device) : x.to(device); };
    return normOn({put(cpu.x), cpu.weight.to(device), put(cpu.grad)});
  };
  const FusedResults dense = twice([&] { return there(false); }), strided = twice([&] { return there(true); });
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(sameBits(strided[i].contiguous(), dense[i])) << "strided " << i;
  return all;
}

FusedResults checkFusedActivation(at::Device device, at::ScalarType type) {
  FusedResults all;
  for (const std::int64_t count : {0, 1, 3, 4, 1021, 4096}) {
    SCOPED_TRACE(::testing::Message() << count << " elements");
    const at::Tensor gate = normal({count}, 1, type).mul_(6), up = normal({count}, 2, type);
    const at::Tensor grad = normal({count}, 3, type);
    const auto on = [&](const auto& put) {
      const at::Tensor g = put(gate), u = put(up);
      const auto [dGate, dUp] = gpu::siluMulBackward(put(grad), g, u);
      return FusedResults{gpu::siluMul(g, u), dGate, dUp};
    };
    const FusedResults got = twice([&] { return on([&](const at::Tensor& x) { return x.to(device); }); });
    const FusedResults shifted = on([&](const at::Tensor& x) { return unaligned(x, device); });
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(sameBits(shifted[i].cpu(), got[i])) << "unaligned " << i;
    append(all, got);
    const at::Tensor g = gate.clone().requires_grad_(true), u = up.clone().requires_grad_(true);
    const at::Tensor y = model::siluMul(g, u);
    const auto want = gradients(y, grad, {g, u});
    const at::NoGradGuard frozen;
    EXPECT_TRUE(within(got[0], y, bothBounds(y, 12, y)));
    const at::Tensor size = (f64(grad) * f64(up)).abs() * (1 + f64(gate).abs());
    EXPECT_TRUE(within(got[1], want[0], bothBounds(size, 16, want[0])));
    EXPECT_TRUE(within(got[2], want[1], bothBounds(want[1], 12, want[1])));
  }
  return all;
}

FusedResults checkFusedRotation(at::Device device, at::ScalarType type) {
  FusedResults all;
  for (const std::int64_t dim : {2, 6, 16, 128}) {
    SCOPED_TRACE(::testing::Message() << "head dim " << dim);
    const auto [cos, sin] = model::ropeTable(integers({2, 9}, 4000, 4), dim, 10000.0);
    const at::Tensor x = normal({2, 3, 9, dim}, 1, type), grad = normal({2, 3, 9, dim}, 2, type);
    const at::Tensor c = cos.to(device), s = sin.to(device);
    const auto on = [&](const auto& put) {
      return FusedResults{gpu::rope(put(x), c, s, false), gpu::rope(put(grad), c, s, true)};
    };
    const FusedResults got = twice([&] { return on([&](const at::Tensor& t) { return t.to(device); }); });
    const FusedResults shifted = on([&](const at::Tensor& t) { return unaligned(t, device); });
    const FusedResults strided = on([&](const at::Tensor& t) { return transposed(t, device); });
    const FusedResults gaps =
        on([&](const at::Tensor& t) { return t.repeat_interleave(2, 3).to(device).slice(3, 0, 2 * dim, 2); });
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(sameBits(shifted[i].cpu(), got[i])) << "unaligned " << i;
      EXPECT_TRUE(sameBits(strided[i].cpu(), got[i])) << "strided " << i;
      EXPECT_TRUE(sameBits(gaps[i].cpu(), got[i])) << "with gaps " << i;
    }
    append(all, got);
    const at::Tensor leaf = x.clone().requires_grad_(true);
    const at::Tensor y = model::applyRope(leaf, cos, sin);
    const at::Tensor want = gradients(y, grad, {leaf})[0];
    const at::NoGradGuard frozen;
    EXPECT_TRUE(within(got[0], y, bothBounds(expandRows(x), 3, y)));
    EXPECT_TRUE(within(got[1], want, bothBounds(expandRows(grad), 3, want)));
  }
  return all;
}

FusedResults checkFusedCrossEntropy(at::Device device, at::ScalarType type) {
  FusedResults all;
  for (const std::int64_t width : {1, 5, 50, 1021, 4100}) {
    SCOPED_TRACE(::testing::Message() << "vocabulary " << width);
    constexpr std::int64_t kRows = 7;
    at::Tensor logits = normal({kRows, width}, 1, type).mul_(4), labels = integers({kRows}, width, 2);
    logits.select(0, 3).zero_();  // all are largest
    labels[5] = -1;
    logits[6][width / 2] = -kInfinity;
    labels[6] = 0;
    if (width == 1) logits[6][0] = 1.0;
    const at::Tensor grad = normal({kRows}, 3);
    const FusedResults got = twice([&] {
      const at::Tensor there = logits.to(device), l = labels.to(device);
      const auto [loss, argmax, probability, lse] = gpu::crossEntropy(there, l);
      return FusedResults{loss, argmax, probability, gpu::crossEntropyBackward(grad.to(device), there, l, lse)};
    });
    append(all, got);
    const at::Tensor leaf = logits.clone().requires_grad_(true);
    const auto [loss, argmax, probability] = model::crossEntropy(leaf, labels);
    const at::Tensor want = gradients(loss, grad, {leaf})[0];
    const at::NoGradGuard frozen;
    const at::Tensor size = f64(logits).nan_to_num(0, 0, 0).abs().amax(1) + 8;
    const auto n = static_cast<double>(width) + 16;
    EXPECT_TRUE(within(got[0], loss, bothBounds(size, n, loss)));
    EXPECT_TRUE(sameBits(got[1], argmax));
    EXPECT_TRUE(within(got[2], probability, bothBounds(size, n, probability)));
    EXPECT_TRUE(within(got[3], want, bothBounds((f64(grad).abs() * size).unsqueeze(1), n, want)));
    EXPECT_EQ(got[0][5].item<float>(), 0.0f);
    EXPECT_EQ(got[3][5].abs().max().item<double>(), 0.0);
  }
  at::Tensor odd = normal({3, 700}, 1, type);
  odd[0][640] = odd[0][13] = std::nan("");
  odd[1][699] = odd[1][650] = kInfinity;
  const auto [loss, argmax, probability, lse] =
      gpu::crossEntropy(odd.to(device), at::tensor({1L, 2L, 700L}).to(device));
  EXPECT_EQ(argmax[0].item<std::int64_t>(), 13);
  EXPECT_EQ(argmax[1].item<std::int64_t>(), 650);
  EXPECT_TRUE(std::isnan(loss[0].item<float>()));
  EXPECT_TRUE(std::isnan(loss[2].item<float>())) << "a label outside the vocabulary";
  return all;
}

FusedResults checkFusedUpdates(at::Device device) {
  FusedResults all;
  for (const std::int64_t count : {0, 1, 33, 1024, 5003}) {
    SCOPED_TRACE(::testing::Message() << count << " elements");
    at::Tensor wantP = normal({count}, 1), wantM = at::zeros({count}), wantV = at::zeros({count});
    const auto run = [&](bool aligned, bool copied) {
      const auto put = [&](const at::Tensor& x) {
        return aligned ? x.clone().to(device, x.scalar_type(), false, true) : unaligned(x, device);
      };
      at::Tensor p = put(normal({count}, 1)), m = put(at::zeros({count})), v = put(at::zeros({count}));
      at::Tensor copy = put(at::zeros({count}, at::kBFloat16));
      for (std::int64_t step = 1; step <= 3; ++step)
        gpu::adamwStep(p, m, v, put(normal({count}, 10 + static_cast<std::uint64_t>(step))), 1e-2, 0.9, 0.95, 1e-8, 0.1,
                       step, copied ? std::optional(copy) : std::nullopt);
      return FusedResults{p, m, v, copied ? copy : p.to(at::kBFloat16)};
    };
    const FusedResults got = twice([&] { return run(true, true); });
    const FusedResults shifted = run(false, true), apart = run(true, false);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(sameBits(shifted[i].cpu(), got[i])) << "unaligned " << i;
      EXPECT_TRUE(sameBits(apart[i].cpu(), got[i])) << "copied apart " << i;
    }
    append(all, got);
    for (std::int64_t step = 1; step <= 3; ++step)
      model::adamwStep(wantP, wantM, wantV, normal({count}, 10 + static_cast<std::uint64_t>(step)), 1e-2, 0.9, 0.95,
                       1e-8, 0.1, step);
    EXPECT_TRUE(within(got[1], wantM, bothBounds(at::ones({count}) * 3, 12, got[1])));
    EXPECT_TRUE(within(got[2], wantV, bothBounds(wantV, 12, got[2])));
    // An update is at most a few learning rates; its error relative to it.
    EXPECT_TRUE(within(got[0], wantP, bothBounds(at::ones({count}) * 0.1 + wantP.abs(), 40, got[0])));
  }
  return all;
}

FusedResults checkFusedSums(at::Device device, at::ScalarType type) {
  std::vector<at::Tensor> cpu, there, shifted;
  for (std::int64_t i = 0; i < 70; ++i) {  // more than a launch takes
    const std::int64_t count = i == 3 ? 0 : i == 65 ? 40000 : 17 * i + 1;
    cpu.push_back(normal({count}, static_cast<std::uint64_t>(i) + 1, type));
    there.push_back(cpu.back().to(device, type, false, true));
    shifted.push_back(unaligned(cpu.back(), device));
  }
  FusedResults all = twice([&] { return FusedResults{gpu::sumsOfSquares(there)}; });
  EXPECT_TRUE(sameBits(gpu::sumsOfSquares(shifted).cpu(), all[0])) << "unaligned";
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    const double want = model::sumOfSquares(cpu[i]);
    EXPECT_NEAR(all[0][static_cast<std::int64_t>(i)].item<double>(), want, want * 1e-13) << i;
  }
  if (type != at::kFloat) return all;
  gpu::scaleAll(there, 0.3);
  gpu::scaleAll(shifted, 0.3);
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    EXPECT_TRUE(sameBits(there[i].cpu(), cpu[i].mul(0.3))) << i;
    EXPECT_TRUE(sameBits(shifted[i].cpu(), cpu[i].mul(0.3))) << i;
  }
  return all;
}

}  // namespace redraft::model::testing
