/*
 * A clock for whole programs, so that no test depends on how fast or busy the machine is. Programs
 * run with libvirtual-clock.so in LD_PRELOAD: CLOCK_MONOTONIC is then a number in a shared file,
 * and a sleeping thread waits there for that number. The conductor (conductor.c) moves it to the
 * earliest instant that a sleeper waits for, and only when every thread of every such program
 * sleeps or waits. So commands of the fake driver, which sleep for as long as their script says,
 * take exactly that long beside each other, and computing takes no time at all, however long the
 * machine is away. A program that is stopped (SIGSTOP) computes: the clock stands until it goes on.
 *
 *   VIRTUAL_CLOCK=FILE   the shared file, made by `virtual-clock FILE`
 *
 * virtual_clock_work(NS), which programs find by its name, is work for a CPU: a thread that calls
 * it waits until the virtual CPUs have given it so much. The CPUs are those of the threads'
 * affinity: of all that work with the same one, as many as it has cores go on, the highest
 * real-time priorities first. So batond's order on the CPUs decides, not the machine's speed.
 *
 * `virtual-clock FILE CPUS` makes a machine of so many CPUs, whatever the real one has: programs
 * see them as online and allowed, and an affinity is a row of the shared file that the kernel does
 * not get. Real-time priorities are the kernel's.
 *
 * Timed waits on conditions, timers and polls keep their length in real time: they are fallbacks,
 * not what a test is about.
 */
#ifndef VIRTUAL_CLOCK_H
#define VIRTUAL_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

enum { VIRTUAL_SLEEPERS = 512, VIRTUAL_PROGRAMS = 64, VIRTUAL_CPUS = 64, VIRTUAL_PINS = 1024 };

#define VIRTUAL_READING                                                                                      \
    20 /* ns that each look at the clock takes: a thread that waits by looking comes to its end */

enum virtual_state { SLEEPER_FREE, SLEEPER_CLAIMED, SLEEPER_WAITS };

struct virtual_sleeper {
    _Atomic int state;
    _Atomic uint32_t woken; /* the futex */
    _Atomic int64_t until;
    _Atomic pid_t pid;
    _Atomic pid_t tid;    /* works: whose affinity and priority count */
    _Atomic int64_t left; /* works: so many ns; 0: it only sleeps */
};

/* The CPUs of a thread, bit i for CPU i. A thread without a row may use all. */
struct virtual_pin {
    _Atomic pid_t tid; /* 0: free */
    _Atomic uint64_t cpus;
};

struct virtual_clock {
    _Atomic int64_t now;
    _Atomic unsigned cpus; /* 0: those of the real machine */
    struct virtual_pin pins[VIRTUAL_PINS];
    _Atomic pid_t programs[VIRTUAL_PROGRAMS]; /* 0: free */
    _Atomic int used;                         /* sleepers below it may be in use; it only grows */
    struct virtual_sleeper sleepers[VIRTUAL_SLEEPERS];
};

static inline uint64_t virtual_cpus_of(const struct virtual_clock *clock, pid_t tid)
{
    unsigned cpus = atomic_load(&clock->cpus);

    for (int i = 0; i < VIRTUAL_PINS; i++) {
        pid_t pinned = atomic_load(&clock->pins[i].tid);

        if (pinned == tid)
            return atomic_load(&clock->pins[i].cpus);
        if (pinned == 0)
            break;
    }
    return cpus == VIRTUAL_CPUS ? UINT64_MAX : (UINT64_C(1) << cpus) - 1;
}

#endif
