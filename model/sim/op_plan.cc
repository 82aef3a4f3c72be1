#include "model/sim/op_plan.h"

#include <array>
#include <optional>
#include <string_view>

namespace redraft::model::sim {
namespace {

std::optional<ArgumentKind> kindOf(const c10::Argument& argument) {
  using c10::TypeKind;
  c10::TypePtr type = argument.type();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  switch (type->kind()) {
    case TypeKind::TensorType:
      return ArgumentKind::kTensor;
    case TypeKind::DeviceObjType:
      return ArgumentKind::kDevice;
    case TypeKind::GeneratorType:
      return ArgumentKind::kGenerator;
    case TypeKind::BoolType:
      if (argument.name() == "pin_memory") return ArgumentKind::kPinMemory;
      return std::nullopt;
    case TypeKind::ListType: {
      const auto element = type->expectRef<c10::ListType>().getElementType();
      if (element->kind() == TypeKind::TensorType) return ArgumentKind::kTensorList;
      // Lists of optional tensors are the indices of index() and its kin.
      if (const auto optional = element->cast<c10::OptionalType>();
          optional && optional->getElementType()->kind() == TypeKind::TensorType)
        return ArgumentKind::kIndexList;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

bool isWritten(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

/// CUDA lets 0-dim CPU tensors into ops that run on TensorIterator (no device check is generated for them), and into
/// those that read a scalar out of the tensor. The pointwise tag marks the first; the second are few.
bool takesCpuScalars(const c10::OperatorHandle& op) {
  static constexpr std::array<std::string_view, 9> kScalarReaders = {
      "aten::fill_",     "aten::fill",        "aten::masked_fill_", "aten::masked_fill",      "aten::index_put_",
      "aten::index_put", "aten::index_fill_", "aten::index_fill",   "aten::_index_put_impl_",
  };
  if (op.hasTag(at::Tag::pointwise)) return true;
  const std::string& name = op.operator_name().name;
  if (name.starts_with("aten::_foreach_") || name.starts_with("aten::_fused_")) return true;
  for (const auto reader : kScalarReaders)
    if (name == reader) return true;
  return false;
}

}  // namespace

OpPlan::OpPlan(const c10::OperatorHandle& op)
    : arguments(static_cast<std::uint16_t>(op.schema().arguments().size())),
      results(static_cast<std::uint16_t>(op.schema().returns().size())),
      cpuScalars(takesCpuScalars(op)),
      writes(false) {
  const auto& schema = op.schema();
  for (std::uint16_t i = 0; i < arguments; ++i) {
    const auto& argument = schema.arguments()[i];
    const auto kind = kindOf(argument);
    if (!kind) continue;
    interesting.push_back({i, *kind, isWritten(argument)});
    writes |= isWritten(argument);
  }
}

}  // namespace redraft::model::sim
