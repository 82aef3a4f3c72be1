#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/files.h"
#include "base/version.h"
#include "golden/run_files.h"
#include "model/cuda/torch_cuda.h"
#include "model/parity.h"
#include "model/pipeline/nccl_collective.h"
#include "scenarios/runner/commands.h"
#include "scenarios/runner/numerics.h"
#include "scenarios/runner/run_session.h"

namespace redraft::scenarios {

void addRunCommand(CLI::App& app, Chosen& chosen) {
  CLI::App* command = app.add_subcommand("run", "run the scenario of a run folder, and leave its record there");
  auto options = std::make_shared<RunOptions>();
  command->add_option("RUN", options->folder, "a folder with scenario.resolved.json and data/")->required();
  command->add_flag("--resume", options->resume, "go on from the folder's newest whole checkpoint");
  command->add_flag("!--no-capture", options->capture, "leave no trace of CUDA devices: CUPTI is not opened");
  auto digests = std::make_shared<std::string>();
  command->add_option("--op-digests", *digests, "keep digests of every operation of these steps (op-digests.jsonl)")
      ->type_name("FIRST:LAST");
  command->add_option("--stop-after", options->stopAfter, "end the run when this step is done, without evaluation")
      ->type_name("STEP")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--turns", options->turns, "let `redraft bench` say when a step may begin, over this descriptor")
      ->type_name("FD")
      ->check(CLI::NonNegativeNumber);
  command->callback([options, digests, &chosen] {
    if (!digests->empty()) options->opDigests = parseStepRange(*digests);
    // Read here, because threads and instruction set are part of the pinned environment.
    auto scenario =
        std::make_shared<Scenario>(loadResolvedScenario(joinPath(options->folder, "scenario.resolved.json")));
    chosen.pinning = {scenario->threads, scenario->isa};
    options->launch = thisLaunchEnvironment();
    chosen.action = [options, scenario] {
      // Now, while there is one thread.
      if (!options->launch.alone() && scenario->backend == "cuda") model::setNcclEnvironment(options->ownFolder());
      return runScenario(*scenario, *options);
    };
  });
}

void addAboutCommand(CLI::App& app, Chosen& chosen) {
  CLI::App* command = app.add_subcommand("about", "print what results of this build depend on, as JSON");
  command->callback([&chosen] {
    chosen.action = [] {
      golden::RunnerAbout about;
      about.commit = commitText();
      about.numericsClass = numericsFields();
      std::cout << oneLine(recordToJson(about)) << '\n';
      return 0;
    };
  });
}

void addGpusCommand(CLI::App& app, Chosen& chosen) {
  CLI::App* command = app.add_subcommand("gpus", "print what LibTorch's CUDA half finds, as JSON");
  command->callback([&chosen] {
    chosen.action = [] {
      const model::TorchCudaAbout about = model::loadTorchCuda().about();
      golden::RunnerGpus gpus;
      gpus.runtime = about.runtime;
      gpus.cudnn = about.cudnn;
      gpus.nccl = about.nccl;
      for (const model::GpuDevice& device : about.devices)
        gpus.devices.push_back({device.name, device.architecture, device.multiprocessors, device.bytes});
      std::cout << oneLine(recordToJson(gpus)) << '\n';
      return 0;
    };
  });
}

void addParityCommand(CLI::App& app, Chosen& chosen) {
  CLI::App* command = app.add_subcommand("parity", "compare this program with a fixture, a line a quantity");
  auto path = std::make_shared<std::string>();
  command->add_option("FILE", *path, "a fixture (.safetensors)")->required();
  command->callback([path, &chosen] { chosen.action = [path] { return model::parityMain(*path); }; });
}

}  // namespace redraft::scenarios
