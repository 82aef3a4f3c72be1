#include "scenarios/ops/op_call.h"

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <cstdio>
#include <string_view>
#include <unordered_map>

namespace redraft::scenarios {

namespace {

bool isOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  for (const std::string_view each : names)
    if (each == name) return true;
  return false;
}

OpFacts makeFacts(const at::RecordFunction& call) {
  OpFacts facts;
  const std::string name = call.name(), overload = call.overload_name();
  facts.name = overload.empty() ? name : name + "." + overload;
  facts.allocates = isOneOf(name, {"aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty",
                                   "aten::new_empty_strided", "aten::resize_", "aten::empty_permuted"});
  facts.overwrites = overload.find("out") != std::string::npos ||
                     isOneOf(name, {"aten::copy_", "aten::zero_", "aten::fill_", "aten::uniform_", "aten::normal_",
                                    "aten::random_", "aten::set_"});
  if (const auto schema = call.operator_schema()) {
    for (const c10::Argument& argument : schema->arguments())
      facts.writes.push_back(argument.alias_info() != nullptr && argument.alias_info()->isWrite());
  }
  return facts;
}

std::string numberText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

void addScalar(const c10::IValue& value, std::string& text) {
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (value.isDouble()) {
    add(numberText(value.toDouble()));
  } else if (value.isInt()) {
    add(std::to_string(value.toInt()));
  } else if (value.isBool()) {
    add(value.toBool() ? "true" : "false");
  } else if (value.isIntList()) {
    std::string list;
    for (const std::int64_t each : value.toIntVector()) list += (list.empty() ? "" : ", ") + std::to_string(each);
    add("[" + list + "]");
  }
}

}  // namespace

const OpFacts& factsOf(const at::RecordFunction& call) {
  thread_local std::unordered_map<std::string, OpFacts> known;
  thread_local std::string key;
  key.assign(call.name()).append(".").append(call.overload_name());
  const auto found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, makeFacts(call)).first->second;
}

void eachTensor(const c10::IValue& value, const std::function<void(const at::Tensor&)>& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& each : value.toTensorVector())
      if (each.defined()) visit(each);
  } else if (value.isList()) {  // lists of optional tensors
    for (const c10::IValue& each : value.toListRef()) eachTensor(each, visit);
  }
}

bool shareMemory(const at::Tensor& a, const at::Tensor& b) {
  return a.has_storage() && b.has_storage() && a.storage().unsafeGetStorageImpl() == b.storage().unsafeGetStorageImpl();
}

std::string scalarsText(c10::ArrayRef<const c10::IValue> arguments) {
  std::string text;
  for (const c10::IValue& each : arguments) addScalar(each, text);
  return text;
}

std::string typeText(at::ScalarType type, at::IntArrayRef sizes) {
  std::string name;
  switch (type) {
    case at::kFloat:
      name = "float32";
      break;
    case at::kDouble:
      name = "float64";
      break;
    case at::kBFloat16:
      name = "bfloat16";
      break;
    case at::kLong:
      name = "int64";
      break;
    case at::kInt:
      name = "int32";
      break;
    case at::kBool:
      name = "bool";
      break;
    default:
      name = c10::toString(type);
  }
  name += " [";
  for (std::size_t i = 0; i < sizes.size(); ++i) name += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  return name + "]";
}

}  // namespace redraft::scenarios
