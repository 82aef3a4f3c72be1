#pragma once
// The keys of a scenario, each declared once: name, member, range, meaning. A visitor reads them (field_reader.h),
// writes them (field_writer.h) or describes them (schema.cc), so that parser, resolved form and published schema cannot
// disagree.

#include "scenarios/spec/scenario.h"

namespace redraft::scenarios {

inline constexpr std::int64_t kMaxDevices = 64;
inline constexpr std::int64_t kMaxProcesses = 64;
inline constexpr std::int64_t kMaxCount = 1'000'000'000;

template <class Visitor>
void visitFields(Visitor& visit, TopologySpec& topology) {
  visit.integer("devices", topology.devices, 1, kMaxDevices, "logical devices");
  visit.choice("peer", topology.peer, {"on", "off"}, "peer access; off: copies are staged through the host");
  visit.boolean("distinct", topology.distinct, "true: a GPU for each device; skipped where there are too few");
  visit.boolean("green_contexts", topology.greenContexts,
                "roles that share a GPU have its multiprocessors shared out to them");
  visit.integers("gpus", topology.gpus, 0, kMaxDevices - 1,
                 "the GPU of each logical device; absent: shared out over those there are");
  visit.roles("roles", topology.roles, kMaxDevices, "role → its devices, one worker a device");
  visit.edges("copies", topology.copies, "allowed copies, as pairs of roles [from, to]");
}

template <class Visitor>
void visitFields(Visitor& visit, TargetSpec& target) {
  visit.text("checkpoint", target.checkpoint, "safetensors file or folder of the frozen target");
  visit.json("config", target.config, "config.json of a target with random weights from the seed");
  visit.choice("source", target.source, {"layers", "table"},
               "what hidden states are: its layers' output, or rows of its embedding in their place");
}

template <class Visitor>
void visitFields(Visitor& visit, DataSpec& data) {
  visit.text("path", data.path, "file of samples; none for \"random\"");
  visit.choice("format", data.format, {"text", "conversations", "tokens", "random"},
               "what the file holds; random: tokens from the seed, all supervised");
  visit.integer("sequence_length", data.sequenceLength, 2, 1 << 20, "tokens a sequence");
  visit.integer("samples", data.samples, 1, 1 << 20, "sequences of random tokens");
}

template <class Visitor>
void visitFields(Visitor& visit, TrainingSpec& training) {
  visit.integer("steps", training.steps, 1, kMaxCount, "optimiser steps");
  visit.integer("micro_batches", training.microBatches, 1, 4096, "micro-batches a step, over all drafters");
  visit.integer("batch_size", training.batchSize, 1, 4096, "sequences a micro-batch");
  visit.integer("anchors", training.anchors, 1, 1 << 16, "anchors a sequence");
  visit.choice("loss", training.loss,
               {"ce", "dpace", "dpace-cumulative-confidence-only", "dpace-continuation-value-only"}, "objective");
  visit.optionalNumber("gamma", training.gamma, 1e-6, 1e6, "decay over the positions of a block; absent: none");
  visit.integer("chunk_blocks", training.chunkBlocks, 0, 1 << 16, "blocks a chunk of LM head and loss; 0: whole");
  visit.number("learning_rate", training.learningRate, 0, 1e3, "peak learning rate");
  visit.choice("schedule", training.schedule, {"constant", "cosine"}, "learning-rate schedule");
  visit.number("warmup", training.warmup, 0, 1, "fraction of the steps that warm up");
  visit.number("clip", training.clip, 0, 1e9, "bound of the global gradient norm; 0: none");
  visit.choice("dtype", training.dtype, {"float32", "bfloat16"}, "compute type; masters are float32");
  visit.integer("queue_depth", training.queueDepth, 1, 4096, "samples that the hidden-state queue holds");
  visit.choice("exchange", training.exchange, {"overlapped", "after-backward"},
               "when gradients are exchanged; the bits are the same");
  visit.integer("bucket_mib", training.bucketMib, 1, 1 << 16, "MiB of gradients that are exchanged together");
  visit.integer("digest_every", training.digestEvery, 0, kMaxCount, "steps between gradient digests; 0: none");
  visit.integer("compare_every", training.compareEvery, 0, kMaxCount,
                "steps between comparisons of the replicas' parameters; 0: none");
  visit.integer("checkpoint_every", training.checkpointEvery, 0, kMaxCount, "steps between checkpoints; 0: none");
}

template <class Visitor>
void visitFields(Visitor& visit, EvaluateSpec& evaluate) {
  visit.integer("prompts", evaluate.prompts, 1, 4096, "prompts to continue");
  visit.integer("prompt_tokens", evaluate.promptTokens, 1, 1 << 20, "tokens a prompt");
  visit.integer("new_tokens", evaluate.newTokens, 1, 1 << 20, "tokens to generate for each prompt");
}

template <class Visitor>
void visitFields(Visitor& visit, PerturbationSpec& perturbation) {
  visit.integer("seed", perturbation.seed, 0, std::numeric_limits<std::int64_t>::max(), "of the signs");
  visit.choice(
      "unit", perturbation.unit, {"float32", "bfloat16", "attention"},
      "every parameter by one ULP of float32 or bfloat16 before the first step; or, in every step, what compiled "
      "attention reads and makes by two unit roundoffs of bfloat16");
}

template <class Visitor>
void visitFields(Visitor& visit, KernelCacheSpec& cache) {
  visit.choice("key", cache.key, {"device", "context"}, "what a loaded kernel is kept under");
  visit.choice("load", cache.load, {"module", "library"}, "how compiled code is loaded");
  visit.boolean("compiled", cache.compiled, "false: the dense reference attention");
}

template <class Visitor>
void visitFields(Visitor& visit, ExpectSpec& expect) {
  visit.choice("verdict", expect.verdict, {"PASSED", "FAILED", "CRASHED", "HUNG"}, "expected verdict");
  visit.text("finding", expect.finding, "id of the expected first finding");
}

template <class Visitor>
void visitFields(Visitor& visit, LimitsSpec& limits) {
  visit.number("hang_seconds", limits.hangSeconds, 0.1, 86400, "without a progress mark");
  visit.number("seconds", limits.seconds, 0.1, 7 * 86400, "for the whole run");
}

template <class Visitor>
void visitFields(Visitor& visit, Scenario& scenario) {
  visit.text("description", scenario.description, "one line, shown by `redraft list`");
  visit.choice("workload", scenario.workload, {"training", "kernel-cache"},
               "what runs: a drafter's training, or compiled attention alone, each drafter with a context of its own");
  visit.choice("backend", scenario.backend, {"sim", "cuda"}, "what the devices are");
  visit.object("topology", scenario.topology, "devices, roles and what may be copied where");
  visit.choice("strict", scenario.strict, {"raw-launch", "all-ops"}, "what the simulated driver refuses");
  visit.integer("threads", scenario.threads, 1, 256, "intra-op threads; part of the numerics class");
  visit.choice("isa", scenario.isa, {"avx2", "default", "avx512"},
               "instruction set that LibTorch and its libraries may use; part of the numerics class");
  visit.integer("processes", scenario.processes, 1, kMaxProcesses,
                "processes that share out the drafters and targets; the numbers do not depend on it");
  visit.integer("seed", scenario.seed, 0, std::numeric_limits<std::int64_t>::max(), "of every random number");
  visit.object("target", scenario.target, "the frozen target model: a checkpoint or a config");
  visit.json("drafter", scenario.drafter, "the field's config.json of the drafter, with dflash_config");
  visit.object("data", scenario.data, "training data");
  visit.object("training", scenario.training, "the optimisation");
  visit.optionalObject("evaluate", scenario.evaluate, "speculative generation after training; absent: none");
  visit.object("kernel_cache", scenario.kernelCache, "cache of compiled attention kernels");
  visit.optionalObject("perturbation", scenario.perturbation,
                       "numbers moved by as much as rounding moves them; absent: none");
  visit.fault("fault", scenario.fault, "injected fault: its name and its parameters; absent: none");
  visit.json("contract", scenario.contract, "what the audit of the trace allows beyond or short of the topology");
  visit.object("expect", scenario.expect, "verdict and finding that make the case as expected");
  visit.golden("golden", scenario.golden, "true: compared with its own golden; false: not; a name: that scenario's");
  visit.text("scaling_of", scenario.scalingOf, "scenario whose tokens/s this one's are given as a multiple of");
  visit.object("limits", scenario.limits, "when a run is ended");
}

}  // namespace redraft::scenarios
