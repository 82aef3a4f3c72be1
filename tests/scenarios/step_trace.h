#pragma once
// A trace as another tool writes it, for the tests of commands that read traces.

#include <string>
#include <tuple>

namespace redraft::testing_support {

/// Four steps of two kernels, as torch.profiler writes them; the second takes `micros` and begins where the first ends.
inline std::string stepTrace(int micros) {
  std::string events;
  int correlation = 0;
  for (int step = 0; step < 4; ++step) {
    const std::string at = std::to_string(step * 1000);
    events +=
        (step == 0 ? "" : ",") + (R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#)" +
                                  std::to_string(step) + R"(", "pid": 1, "tid": 5, "ts": )" + at + R"(, "dur": 999})");
    for (const auto& [name, begin, length] : {std::tuple("gemm", 10, 400), std::tuple("softmax", 410, micros)}) {
      const std::string id = std::to_string(++correlation), start = std::to_string(step * 1000 + begin);
      events +=
          R"(,{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 5, "ts": )" + at +
          R"(.5, "dur": 1, "args": {"correlation": )" + id + "}}" + R"(,{"ph": "X", "cat": "kernel", "name": ")" +
          name + R"(", "pid": 0, "tid": 7, "ts": )" + start + R"(, "dur": )" + std::to_string(length) +
          R"(, "args": {"device": 0, "context": 1, "stream": 7, "grid": [4, 1, 1], "block": [128,1,1], "correlation": )" +
          id + "}}";
    }
  }
  return R"({"schemaVersion": 1, "traceEvents": [)" + events + "]}";
}

}  // namespace redraft::testing_support
