/* How loading and launching end. The driver API maps these to its own codes. */
#ifndef CUDA_CPU_CPU_STATUS_H
#define CUDA_CPU_CPU_STATUS_H

enum cpu_status {
    CPU_OK,
    CPU_OUT_OF_MEMORY,
    CPU_BAD_PTX, /* the text is not valid PTX; the log says where */
    /* valid PTX that uses what this device does not have; the log names it and its line */
    CPU_UNSUPPORTED_PTX,
    CPU_UNSUPPORTED_VERSION, /* a .version newer than known, or a .target that is none */
    CPU_UNRESOLVED,          /* an extern symbol that no module defines */
    CPU_DUPLICATE,           /* a symbol that two modules define */
    CPU_NO_COMPILER,         /* no C compiler is found at run time */
    /* the compiler failed, or exceeded its limits of time and memory; the log has its output */
    CPU_COMPILER_FAILED,
    CPU_SYSTEM, /* the environment failed (files, threads) */
    /* of a launch: */
    CPU_BAD_LAUNCH,          /* dimensions, shared memory or parameters exceed the entry's limits */
    CPU_ILLEGAL_ADDRESS,     /* an access outside of every allocation; the context is broken from here on */
    CPU_MISALIGNED,          /* an address that is no multiple of the access size */
    CPU_TRAP,                /* the kernel executed trap or brkpt */
    CPU_ASSERT,              /* a device-side assertion failed; its text went to the print sink */
    CPU_ILLEGAL_INSTRUCTION, /* an indirect call to what is no function, a wrong texture or surface object */
    CPU_STACK_OVERFLOW,      /* a device thread's stack ran out */
    CPU_DEADLOCK, /* every thread of the block waits at a barrier or warp operation; a GPU would hang */
    CPU_ABORTED,  /* worker_abort() ended the launch */
};

/* A word or two in English, for logs. */
const char *cpu_status_text(enum cpu_status status);

#endif
