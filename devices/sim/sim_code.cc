#include <utility>

#include "devices/sim/sim_driver_impl.h"

namespace redraft::devices {

SimDriverImpl::Verdict SimDriverImpl::load(const Image& image, ContextState* context,
                                           std::shared_ptr<CodeState>* code) {
  if (image.hostKernels.empty()) {
    if (image.cubin.empty()) return {Status::kInvalidImage, "the image is empty"};
    return {Status::kNoBinaryForGpu, "the image holds device code only, and the simulator runs host kernels"};
  }
  auto made = std::make_shared<CodeState>();
  for (const auto& [name, kernel] : image.hostKernels) {
    if (kernel == nullptr || !made->kernels.emplace(name, kernel).second) {
      return {Status::kInvalidImage, "the entry \"" + name + "\" is null or there twice"};
    }
  }
  made->id = nextId();
  made->context = context;
  made->name = image.name;
  code_.add(made->id, made);
  *code = std::move(made);
  return {};
}

Status SimDriverImpl::loadModule(const Image& image, Module* module) {
  *module = {};
  ContextState* context = nullptr;
  std::shared_ptr<CodeState> code;
  Verdict verdict = needCurrent(&context);
  if (!verdict.refused()) verdict = load(image, context, &code);
  if (verdict.refused()) return finish(CallKind::kModuleLoad, std::move(verdict), image.name);
  *module = {code->id};
  return finish(CallKind::kModuleLoad, Status::kSuccess, [&](LogRecord& record) {
    record.name = image.name;
    record.object = code->id;
    record.objectContext = context->id;
    record.objectDevice = context->device;
  });
}

Status SimDriverImpl::loadLibrary(const Image& image, Library* library) {
  *library = {};
  std::shared_ptr<CodeState> code;
  Verdict verdict = poison();
  if (!verdict.refused()) verdict = load(image, nullptr, &code);
  if (verdict.refused()) return finish(CallKind::kLibraryLoad, std::move(verdict), image.name);
  *library = {code->id};
  return finish(CallKind::kLibraryLoad, Verdict{}, image.name, code->id);
}

Status SimDriverImpl::unload(CallKind kind, const std::shared_ptr<CodeState>& code, std::uint64_t id) {
  if (code) {  // even on a poisoned process, so that its memory goes
    code->unloaded.store(true, std::memory_order_release);
    code_.take(id);
    const std::lock_guard lock(code->mutex);
    for (const auto& [name, function] : code->functions) functions_.take(function);
  }
  Verdict verdict = poison();
  if (!verdict.refused() && !code) verdict = {Status::kInvalidHandle, "nothing is loaded under this handle"};
  return finish(kind, std::move(verdict), code ? code->name : "", id);
}

Status SimDriverImpl::unloadModule(Module module) {
  auto code = code_.find(module.id);
  return unload(CallKind::kModuleUnload, code && code->context ? code : nullptr, module.id);
}

Status SimDriverImpl::unloadLibrary(Library library) {
  auto code = code_.find(library.id);
  return unload(CallKind::kLibraryUnload, code && !code->context ? code : nullptr, library.id);
}

Status SimDriverImpl::findFunction(const std::shared_ptr<CodeState>& code, std::uint64_t id, const std::string& name,
                                   Function* function) {
  *function = {};
  Verdict verdict = poison();
  if (!verdict.refused() && !code) verdict = {Status::kInvalidHandle, "nothing is loaded under this handle"};
  if (!verdict.refused() && code->context && code->context->destroyed) {
    verdict = {Status::kContextIsDestroyed, "the module's context was destroyed"};
  }
  if (!verdict.refused()) {
    const auto kernel = code->kernels.find(name);
    if (kernel == code->kernels.end()) {
      verdict = {Status::kNotFound, "\"" + code->name + "\" has no entry \"" + name + "\""};
    } else {
      const std::lock_guard lock(code->mutex);
      const auto [entry, added] = code->functions.try_emplace(name, 0);
      if (added) {
        entry->second = nextId();
        functions_.add(entry->second, std::make_shared<FunctionState>(FunctionState{code, name, kernel->second}));
      }
      *function = {entry->second};
    }
  }
  if (verdict.refused()) return finish(CallKind::kFunction, std::move(verdict), name, id);
  return finish(CallKind::kFunction, Status::kSuccess, [&](LogRecord& record) {
    record.name = name;
    record.object = function->id;
    if (!code->context) return;
    record.objectContext = code->context->id;
    record.objectDevice = code->context->device;
  });
}

Status SimDriverImpl::moduleFunction(Module module, const std::string& name, Function* function) {
  auto code = code_.find(module.id);
  return findFunction(code && code->context ? code : nullptr, module.id, name, function);
}

Status SimDriverImpl::libraryFunction(Library library, const std::string& name, Function* function) {
  auto code = code_.find(library.id);
  return findFunction(code && !code->context ? code : nullptr, library.id, name, function);
}

}  // namespace redraft::devices
