// What the CUDA driver keeps for the process is not ours to free. Looked for by LeakSanitizer.
extern "C" const char* __lsan_default_suppressions() { return "leak:libcuda.so"; }
