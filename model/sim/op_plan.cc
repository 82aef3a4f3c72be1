#include "model/sim/op_plan.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
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

bool isOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether the op, or the functional op that it is an in-place or out= variant of, is tagged as element-wise: some
/// variants lack the tag.
bool isElementWise(const c10::OperatorHandle& op) {
  if (op.hasTag(at::Tag::pointwise)) return true;
  std::string base = op.operator_name().name;
  if (base.ends_with('_')) base.pop_back();
  for (const char* overload : {"", "Tensor", "Scalar", "self"})
    if (const auto sibling = c10::Dispatcher::singleton().findSchema({base, overload});
        sibling && sibling->hasTag(at::Tag::pointwise))
      return true;
  return false;
}

/// CUDA lets 0-dim CPU tensors into ops that run on TensorIterator (no device check is generated for them), and into
/// those that read a scalar out of the tensor.
bool takesCpuScalars(const c10::OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  return isElementWise(op) || name.starts_with("aten::_foreach_") || name.starts_with("aten::_fused_") ||
         isOneOf(name, {"aten::fill", "aten::fill_", "aten::masked_fill", "aten::masked_fill_", "aten::index_fill",
                        "aten::index_fill_", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_",
                        "aten::floor_divide", "aten::floor_divide_", "aten::mse_loss", "aten::smooth_l1_loss"});
}

/// Views, and factories that take sizes and dtype from a tensor.
bool looksAtShapesAlone(const c10::OperatorHandle& op) {
  const auto& returns = op.schema().returns();
  const auto isView = [](const c10::Argument& result) {
    return result.alias_info() != nullptr && !result.alias_info()->isWrite();
  };
  const std::string& name = op.operator_name().name;
  return std::any_of(returns.begin(), returns.end(), isView) || name.ends_with("_like") ||
         name.starts_with("aten::new_");
}

}  // namespace

OpPlan::OpPlan(const c10::OperatorHandle& op)
    : arguments(static_cast<std::uint16_t>(op.schema().arguments().size())),
      results(static_cast<std::uint16_t>(op.schema().returns().size())),
      cpuScalars(takesCpuScalars(op)),
      writes(false),
      touches(!looksAtShapesAlone(op)) {
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
