#include "cuda_cpu/cpu_status.h"

const char *cpu_status_text(enum cpu_status status)
{
    static const char *const texts[] = {
        [CPU_OK] = "done",
        [CPU_OUT_OF_MEMORY] = "out of memory",
        [CPU_BAD_PTX] = "invalid PTX",
        [CPU_UNSUPPORTED_PTX] = "PTX that this device does not execute",
        [CPU_UNSUPPORTED_VERSION] = "a PTX version or target that is not known",
        [CPU_UNRESOLVED] = "an extern symbol that is not defined",
        [CPU_DUPLICATE] = "a symbol that is defined twice",
        [CPU_NO_COMPILER] = "no C compiler: install one, or name it in BATON_CUDA_CPU_CC",
        [CPU_COMPILER_FAILED] = "the C compiler failed",
        [CPU_SYSTEM] = "the system refused a file or a process",
        [CPU_BAD_LAUNCH] = "a launch that exceeds the kernel's limits",
        [CPU_ILLEGAL_ADDRESS] = "an illegal address",
        [CPU_MISALIGNED] = "a misaligned address",
        [CPU_TRAP] = "a trap",
        [CPU_ASSERT] = "a failed assertion",
        [CPU_ILLEGAL_INSTRUCTION] = "an illegal instruction",
        [CPU_STACK_OVERFLOW] = "a stack overflow",
        [CPU_DEADLOCK] = "a deadlock",
        [CPU_ABORTED] = "aborted",
    };

    return (unsigned)status < sizeof texts / sizeof texts[0] ? texts[status] : "unknown";
}
