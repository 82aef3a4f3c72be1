#include "model/kernels/attention.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include <atomic>
#include <limits>

#include "model/kernels/attention_artefact.h"
#include "model/kernels/attention_launch.h"
#include "model/kernels/registry.h"

namespace redraft::model {
namespace {

constexpr const char* kName = "attention";
std::atomic<bool> gCompiled{true};

void requireShapes(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const BlockMask& mask) {
  elementOf(q, kName, "q");
  const std::string all = "q " + describe(q) + ", k " + describe(k) + ", v " + describe(v);
  require(q.scalar_type() == k.scalar_type() && k.scalar_type() == v.scalar_type(), kName, "types must match: " + all);
  require(q.device() == k.device() && k.device() == v.device(), kName, "devices must match: " + all);
  require(q.dim() == 4 && k.dim() == 4 && k.sizes() == v.sizes() && q.size(0) == k.size(0) && q.size(3) == k.size(3),
          kName, "q must be [B, Hq, Q, d], and k and v [B, Hkv, KV, d]: " + all);
  require(k.size(1) > 0 && q.size(1) % k.size(1) == 0, kName,
          "the query heads must be a multiple of the key heads: " + all);
  require(q.size(3) > 0 && q.size(3) % 8 == 0 && q.size(3) <= simd::kMaxHeadDim, kName,
          "the head dim must be a multiple of 8 up to " + std::to_string(simd::kMaxHeadDim) + ": " + all);
  require(mask.batch == q.size(0) && mask.queries == q.size(2) && mask.keys == k.size(2), kName,
          "the mask is for batch " + std::to_string(mask.batch) + ", " + std::to_string(mask.queries) +
              " queries and " + std::to_string(mask.keys) + " keys: " + all);
  // Its index may differ: that is for the driver to judge, as on CUDA.
  require(mask.rowOffsets.device().type() == q.device().type(), kName,
          "the mask lies on " + mask.rowOffsets.device().str() + ": " + all);
}

AttentionShape shapeOf(const at::Tensor& q, const at::Tensor& k, const BlockMask& mask, double scale) {
  return {.batch = q.size(0),
          .heads = q.size(1),
          .keyHeads = k.size(1),
          .queries = q.size(2),
          .keys = k.size(2),
          .headDim = q.size(3),
          .context = mask.context,
          .blockSize = mask.blockSize,
          .window = mask.window,
          .blocks = mask.anchors.size(1),
          .scale = static_cast<float>(scale)};
}

AttentionArtefact artefactOf(bool backward, const at::Tensor& q, const BlockMask& mask) {
  AttentionArtefact artefact;
  artefact.backward = backward;
  artefact.headDim = q.size(3);
  artefact.kind = mask.kind;
  artefact.bfloat16 = q.scalar_type() == at::kBFloat16;
  artefact.queryTile = mask.queryTile;
  artefact.keyTile = mask.keyTile;
  return artefact;
}

/// In rows without gaps, and on a GPU at an address that its copies of 16 bytes take.
at::Tensor dense(const at::Tensor& x) {
  const at::Tensor whole = x.contiguous();
  const bool aligned = reinterpret_cast<std::uintptr_t>(whole.const_data_ptr()) % 16 == 0;
  return aligned || !runsGpuPrograms(x.device()) ? whole : whole.clone();
}

/// Its launches go through no dispatcher, so that observers of operations (profilers, scenarios/ops) see it by this.
class ObservedOp {
 public:
  ObservedOp(const char* name, c10::ArrayRef<at::Tensor> inputs, const BlockMask& mask) {
    if (!guard_.isActive()) return;
    std::vector<c10::IValue> values(inputs.begin(), inputs.end());
    // Not its columns: on a GPU they have room to spare, which nobody fills.
    for (const at::Tensor& part : {mask.rowOffsets, mask.anchors, mask.keep}) values.emplace_back(part);
    guard_.before(name, &values);
  }
  void made(c10::ArrayRef<at::Tensor> outputs) {
    if (guard_.isActive() && guard_.needsOutputs())
      guard_.setOutputs(std::vector<c10::IValue>(outputs.begin(), outputs.end()));
  }

 private:
  at::RecordFunction guard_{at::RecordScope::FUNCTION};
};

struct Forward {
  at::Tensor out, lse;
};

Forward runForward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const BlockMask& mask, double scale) {
  Forward result{at::empty(q.sizes(), q.options()),
                 at::empty({q.size(0), q.size(1), q.size(2)}, q.options().dtype(at::kFloat))};
  if (result.out.numel() == 0) return result;
  ObservedOp observed("redraft::attention", {q, k, v}, mask);
  KernelCall call;
  call.read("q", q);
  call.read("k", k);
  call.read("v", v);
  call.write("out", result.out);
  call.write("lse", result.lse);
  readMask(call, mask);
  AttentionShape shape = shapeOf(q, k, mask, scale);
  call.value(&shape);
  launchAttention(call, artefactOf(false, q, mask), q, shape);
  observed.made({result.out, result.lse});
  return result;
}

struct Backward {
  at::Tensor gradQ, gradK, gradV;
};

/// `saved`: q, k, v, out, lse.
Backward runBackward(const torch::autograd::variable_list& saved, const at::Tensor& gradOut, const BlockMask& mask,
                     double scale) {
  const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &lse = saved[4];
  Backward result{at::empty(q.sizes(), q.options()), at::empty(k.sizes(), k.options()),
                  at::empty(v.sizes(), v.options())};
  if (q.numel() + k.numel() == 0) return result;
  ObservedOp observed("redraft::attention_backward", {gradOut, q, k, v, saved[3], lse}, mask);
  KernelCall call;
  call.read("q", q);
  call.read("k", k);
  call.read("v", v);
  call.read("out", saved[3]);
  call.read("lse", lse);
  call.read("grad_out", gradOut);
  call.write("grad_q", result.gradQ);
  call.write("grad_k", result.gradK);
  call.write("grad_v", result.gradV);
  readMask(call, mask);
  AttentionShape shape = shapeOf(q, k, mask, scale);
  call.value(&shape);
  at::Tensor delta;
  if (runsGpuPrograms(q.device())) {
    delta = at::empty(lse.sizes(), lse.options());
    call.write("delta", delta);
  }
  launchAttention(call, artefactOf(true, q, mask), q, shape);
  observed.made({result.gradQ, result.gradK, result.gradV});
  return result;
}

/// A mask among saved values.
struct MaskHolder : torch::CustomClassHolder {
  explicit MaskHolder(const BlockMask& mask) : mask(mask) {}
  BlockMask mask;
};

struct AttentionFunction : torch::autograd::Function<AttentionFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const BlockMask& mask, double scale) {
    at::AutoDispatchBelowADInplaceOrView guard;
    const at::Tensor denseQ = dense(q), denseK = dense(k), denseV = dense(v);
    auto [out, lse] = runForward(denseQ, denseK, denseV, mask, scale);
    ctx->save_for_backward({denseQ, denseK, denseV, out, lse});
    ctx->saved_data["mask"] = c10::IValue::make_capsule(c10::make_intrusive<MaskHolder>(mask));
    ctx->saved_data["scale"] = scale;
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    at::AutoDispatchBelowADInplaceOrView guard;
    const auto saved = ctx->get_saved_variables();
    const auto holder = c10::static_intrusive_pointer_cast<MaskHolder>(ctx->saved_data["mask"].toCapsule());
    const auto [gradQ, gradK, gradV] =
        runBackward(saved, dense(grads[0]), holder->mask, ctx->saved_data["scale"].toDouble());
    return {gradQ, gradK, gradV, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

void setCompiledAttention(bool compiled) { gCompiled = compiled; }

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const BlockMask& mask,
                     double scale) {
  requireShapes(q, k, v, mask);
  if (!gCompiled.load(std::memory_order_relaxed)) return attentionDense(q, k, v, mask, scale);
  if (runsGpuPrograms(q.device()) && q.scalar_type() == at::kFloat) {
    const auto round = [](const at::Tensor& x) { return x.to(at::kBFloat16); };
    return attention(round(q), round(k), round(v), mask, scale).to(at::kFloat);
  }
  if (at::GradMode::is_enabled() && (q.requires_grad() || k.requires_grad() || v.requires_grad())) {
    return AttentionFunction::apply(q, k, v, mask, scale);
  }
  at::AutoDispatchBelowADInplaceOrView guard;
  return runForward(dense(q), dense(k), dense(v), mask, scale).out;
}

at::Tensor attentionDense(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const BlockMask& mask,
                          double scale) {
  requireShapes(q, k, v, mask);
  const std::int64_t group = q.size(1) / k.size(1);
  const at::Tensor keys = group == 1 ? k : k.repeat_interleave(group, 1);
  const at::Tensor values = group == 1 ? v : v.repeat_interleave(group, 1);
  const at::Tensor hidden = denseMask(mask).logical_not().unsqueeze(1);
  const at::Tensor scores = at::matmul(q, keys.transpose(2, 3)).to(at::kFloat).mul(scale);
  // A finite minimum keeps rows with nothing visible free of NaN; they are cleared afterwards.
  const at::Tensor shown = scores.masked_fill(hidden, std::numeric_limits<float>::lowest());
  const at::Tensor p = at::softmax(shown, -1).masked_fill(hidden, 0.0).to(q.scalar_type());
  return at::matmul(p, values);
}

}  // namespace redraft::model
