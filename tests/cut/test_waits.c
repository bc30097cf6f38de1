/*
 * Which loops wait for other blocks. Cases are kernels that nvcc has compiled (loops.cu says why
 * each does or does not), and attacks on the analysis in PTX by hand.
 */
#include "../cuda_cpu/device.h"
#include "pieces.h"

#include "base/file.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define REGISTERS                                                                                            \
    ".reg .b32 %r<16>;\n.reg .b64 %d<8>;\n.reg .pred %p<8>;\n.local .align 4 .b8 mine[4];\n"                 \
    ".shared .align 4 .b8 ours[4];\n"
#define BEGIN                                                                                                \
    ".visible .entry k(.param .u64 flag, .param .u32 n)\n{\n" REGISTERS "ld.param.u64 %d1, [flag];\n"        \
    "ld.param.u32 %r1, [n];\nmov.u32 %r2, 0;\nmov.u32 %r3, %ctaid.x;\nst.global.u32 [%d1+64], %r3;\n"
#define KERNEL(body)     HEAD BEGIN body "\nOUT:\nret;\n}\n"
#define WITH(more, body) HEAD more BEGIN body "\nOUT:\nret;\n}\n"

static void expect(const char *text, enum ptx_whole reason)
{
    const struct ptx_cut_entry *entry;
    struct ptx_cut cut;

    ck_assert_int_eq(ptx_cut(text, strlen(text), &cut), 0);
    ck_assert_msg(cut.reason == PTX_CUT && cut.n_entries > 0, "%u: %s\n%s", cut.line, cut.detail, text);
    entry = &cut.entries[cut.n_entries - 1];
    ck_assert_msg(entry->reason == reason, "%s (%u: %s) for\n%s", ptx_whole_name(entry->reason), entry->line,
                  entry->detail, text);
    ptx_cut_done(&cut);
}

START_TEST(compiled_loops_get_the_verdict_of_their_names)
{
    struct ptx_cut cut;
    size_t waits = 0;
    char *text;
    size_t size;

    ck_assert_int_eq(file_read(harness_data("cut/loops.ptx"), 1 << 20, &text, &size), 0);
    ck_assert_int_eq(ptx_cut(text, size, &cut), 0);
    for (size_t i = 0; i < cut.n_entries; i++) {
        const struct ptx_cut_entry *entry = &cut.entries[i];
        bool is_waiting = !strncmp(entry->name, "waits_", 6);

        ck_assert_msg(entry->reason == (is_waiting ? PTX_WHOLE_WAITS : PTX_CUT), "%s: %s, line %u: %s",
                      entry->name, ptx_whole_name(entry->reason), entry->line, entry->detail);
        ck_assert_msg(!is_waiting || (entry->line > 0 && strstr(entry->detail, "loop at line")), "%s",
                      entry->detail);
        waits += is_waiting;
    }
    ck_assert_uint_eq(waits, 15);
    ck_assert_uint_eq(cut.n_entries, 28);
    ptx_cut_done(&cut);
    free(text);
}
END_TEST

/* One load in every strength, decided by one loop. */
START_TEST(every_way_to_look_at_a_flag_counts)
{
    static const char *const looks[] = {
        "ld.volatile.global.u32 %r4, [%d1];",
        "ld.volatile.u32 %r4, [%d1];",
        "ld.relaxed.gpu.global.u32 %r4, [%d1];",
        "ld.acquire.sys.global.u32 %r4, [%d1];",
        "ld.acquire.cta.u32 %r4, [%d1];",
        "ld.global.cv.u32 %r4, [%d1];",
        "ld.global.u32 %r4, [%d1];",
        "ld.u32 %r4, [%d1];",
        "ld.global.v2.u32 {%r4, %r5}, [%d1];",
        "ld.mmio.relaxed.sys.global.u32 %r4, [%d1];",
        "ld.global.something_new.u32 %r4, [%d1];",
        "atom.global.or.b32 %r4, [%d1], 0;",
        "atom.global.exch.b32 %r4, [%d1], 0;",
        "atom.global.cas.b32 %r4, [%d1], 1, 1;",
        "atom.add.u32 %r4, [%d1], 0;",
        "atom.global.something_new.b32 %r4, [%d1], 0;",
        "suld.b.1d.b32.trap %r4, [%d1, {%r3}];",
    };

    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        char text[2048];

        (void)snprintf(text, sizeof text, "%s%s%s", HEAD BEGIN "L: ", looks[i],
                       "\nsetp.eq.s32 %p1, %r4, 0;\n@%p1 bra L;\nret;\n}\n");
        expect(text, PTX_WHOLE_WAITS);
    }
    /* Memory that nothing writes while the kernel runs is no flag. */
    expect(KERNEL("L: ld.global.nc.u32 %r4, [%d1];\nsetp.eq.s32 %p1, %r4, 0;\n@%p1 bra L;"), PTX_CUT);
    expect(KERNEL("L: ld.const.u32 %r4, [%d1];\nsetp.eq.s32 %p1, %r4, 0;\n@%p1 bra L;"), PTX_CUT);
    expect(KERNEL("L: ld.volatile.shared.u32 %r4, [ours];\nsetp.eq.s32 %p1, %r4, 0;\n@%p1 bra L;"), PTX_CUT);
}
END_TEST

#define LOOK  "ld.volatile.global.u32 %r4, [%d1];\n"
#define PLAIN "ld.global.u32 %r4, [%d1];\n"

static const char *const waits[] = {
    /* The exit's condition is fixed; the flag decides whether the exit is reached. */
    KERNEL("setp.gt.u32 %p2, %r1, 5;\nL: " LOOK "setp.eq.s32 %p1, %r4, 0;\n@%p1 bra L;\n@%p2 bra OUT;\n"
           "bra L;"),
    KERNEL("setp.gt.u32 %p2, %r1, 5;\nL: " LOOK "setp.eq.s32 %p1, %r4, 0;\n@%p1 bra M;\n@%p2 bra OUT;\n"
           "M: bra L;"),
    KERNEL("L: " LOOK "add.u32 %r2, %r2, 1;\nsetp.ge.u32 %p2, %r2, %r1;\nsetp.eq.s32 %p1, %r4, 0;\n"
           "@%p1 bra M;\n@%p2 bra OUT;\nM: bra L;"),
    /* Counters that the flag sets back, holds, or that go the wrong way. */
    KERNEL("L: " LOOK "setp.eq.s32 %p1, %r4, 0;\nadd.u32 %r5, %r2, 1;\nselp.b32 %r2, 0, %r5, %p1;\n"
           "setp.lt.u32 %p2, %r2, %r1;\n@%p2 bra L;"),
    KERNEL("L: " LOOK "setp.ne.s32 %p1, %r4, 0;\n@%p1 add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, %r1;\n"
           "@%p2 bra L;"),
    KERNEL("L: " LOOK "setp.eq.s32 %p1, %r4, 0;\n@%p1 bra M;\nadd.u32 %r2, %r2, 1;\nM: setp.lt.u32 %p2, "
           "%r2, %r1;\n@%p2 bra L;"),
    KERNEL("L: " LOOK "setp.ne.s32 %p1, %r4, 0;\n@%p1 bra OUT;\nsub.u32 %r2, %r2, 1;\nsetp.lt.s32 %p2, "
           "%r2, %r1;\n@%p2 bra L;"),
    /* A bound that runs away, one that cannot be passed, a step that passes it by. */
    KERNEL("L: " LOOK "setp.ne.s32 %p1, %r4, 0;\n@%p1 bra OUT;\nadd.u32 %r2, %r2, 1;\nadd.u32 %r1, %r1, "
           "1;\nsetp.lt.u32 %p2, %r2, %r1;\n@%p2 bra L;"),
    KERNEL("L: " LOOK "setp.ne.s32 %p1, %r4, 0;\n@%p1 bra OUT;\nadd.s32 %r2, %r2, 1;\nsetp.le.s32 %p2, "
           "%r2, 2147483647;\n@%p2 bra L;"),
    KERNEL("L: " LOOK "setp.ne.s32 %p1, %r4, 0;\n@%p1 bra OUT;\nadd.s32 %r2, %r2, 2;\nsetp.ne.s32 %p2, "
           "%r2, %r1;\n@%p2 bra L;"),
    KERNEL("L: " LOOK "setp.ne.s32 %p1, %r4, 0;\n@%p1 bra OUT;\nadd.u16x2 %r2, %r2, 1;\nsetp.lt.u32 "
           "%p2, %r2, %r1;\n@%p2 bra L;"),
    /* A counter that the exit does not look at. */
    KERNEL("L: " LOOK "add.u32 %r2, %r2, 1;\nsetp.eq.s32 %p1, %r4, 0;\n@%p1 bra L;"),
    KERNEL("L: ld.global.u32 %r4, [%d1];\nadd.u32 %r2, %r2, 1;\nsetp.eq.s32 %p1, %r4, 0;\n@%p1 bra L;"),
    /* Both conditions are needed to leave. */
    KERNEL("L: " LOOK "setp.ne.s32 %p1, %r4, 0;\nadd.u32 %r2, %r2, 1;\nsetp.ge.u32 %p2, %r2, %r1;\n"
           "and.pred %p3, %p1, %p2;\n@%p3 bra OUT;\nbra L;"),
    KERNEL("L: " LOOK "setp.ne.s32 %p1, %r4, 0;\nadd.u32 %r2, %r2, 1;\nsetp.ge.and.u32 %p2, %r2, %r1, "
           "%p1;\n@%p2 bra OUT;\nbra L;"),
    /* Compare and swap that is no retry: a lock, a moving address, another value, a way round. */
    KERNEL("L: atom.global.cas.b32 %r4, [%d1], 0, 1;\nsetp.ne.s32 %p1, %r4, 0;\n@%p1 bra L;"),
    KERNEL("L: atom.global.cas.b32 %r4, [%d1], %r2, 1;\nsetp.ne.s32 %p1, %r4, %r2;\nmov.u32 %r2, %r4;\n"
           "add.u64 %d1, %d1, 4;\n@%p1 bra L;"),
    KERNEL("L: atom.global.cas.b32 %r4, [%d1], %r2, 1;\nsetp.ne.s32 %p1, %r4, %r5;\nmov.u32 %r2, %r4;\n"
           "@%p1 bra L;"),
    KERNEL("L: atom.global.cas.b32 %r4, [%d1], %r2, 1;\nsetp.ne.s32 %p1, %r4, %r2;\nand.b32 %r2, %r4, "
           "1;\n@%p1 bra L;"),
    KERNEL("L: " LOOK "setp.eq.s32 %p2, %r4, 7;\n@%p2 bra L;\natom.global.cas.b32 %r5, [%d1], %r4, 1;\n"
           "setp.ne.s32 %p1, %r5, %r4;\n@%p1 bra L;"),
    KERNEL("L: atom.global.cas.b32 %r4, [%d1], %r2, 1;\nsetp.ne.s32 %p1, %r4, %r2;\n"
           "ld.volatile.global.u32 %r2, [%d1+4];\n@%p1 bra L;"),
    /* Tickets that do not move, or towards a bound that others move. */
    KERNEL("L: atom.global.add.u32 %r4, [%d1], 0;\nsetp.lt.u32 %p1, %r4, %r1;\n@%p1 bra L;"),
    KERNEL("L: atom.global.add.u32 %r4, [%d1], 1;\nld.volatile.global.u32 %r5, [%d1+4];\n"
           "setp.lt.u32 %p1, %r4, %r5;\n@%p1 bra L;"),
    KERNEL("L: atom.global.add.u32 %r4, [%d1], 1;\nsetp.ge.u32 %p1, %r4, %r1;\n@%p1 bra L;"),
    /* The flag takes a detour. */
    KERNEL("L: " LOOK "st.local.u32 [mine], %r4;\nld.local.u32 %r5, [mine];\nsetp.eq.s32 %p1, %r5, 0;\n"
           "@%p1 bra L;"),
    KERNEL("L: " LOOK "st.shared.u32 [ours], %r4;\nld.shared.u32 %r5, [ours];\nsetp.eq.s32 %p1, %r5, "
           "0;\n@%p1 bra L;"),
    KERNEL("L: " LOOK "shfl.sync.idx.b32 %r5|%p3, %r4, 0, 31, -1;\nsetp.eq.s32 %p1, %r5, 0;\n@%p1 bra "
           "L;"),
    KERNEL("L: " LOOK "setp.eq.s32 %p1, %r4, 0;\nvote.sync.all.pred %p2, %p1, -1;\n@%p2 bra L;"),
    KERNEL("L: " LOOK "add.cc.u32 %r5, %r4, -1;\naddc.u32 %r6, %r2, 0;\nsetp.eq.s32 %p1, %r6, 0;\n@%p1 "
           "bra L;"),
    KERNEL("L: " LOOK "setp.eq.s32 %p1, %r4, 0;\nmov.u32 %r5, 1;\n@%p1 mov.u32 %r5, 0;\nsetp.eq.s32 "
           "%p2, %r5, 0;\n@%p2 bra L;"),
    KERNEL("L: " LOOK "setp.ne.s32 %p1, %r4, 0;\n@%p1 ret;\nbra L;"),
    KERNEL("T: .branchtargets L, OUT;\nL: " LOOK "brx.idx %r4, T;"),
    /* Two ways into one loop. */
    KERNEL("setp.eq.u32 %p2, %r1, 3;\n@%p2 bra M;\nL: add.u32 %r2, %r2, 1;\nM: " LOOK
           "setp.eq.s32 %p1, %r4, 0;\n@%p1 bra L;"),
    /* Plain memory, walked in circles with a fence. */
    KERNEL("L: and.b32 %r5, %r2, 7;\nmul.wide.u32 %d2, %r5, 4;\nadd.u64 %d3, %d1, %d2;\nmembar.gl;\n"
           "ld.global.u32 %r4, [%d3];\nadd.u32 %r2, %r2, 1;\nsetp.eq.s32 %p1, %r4, 0;\n@%p1 bra L;"),
    /* What is added comes from memory, and may be nothing. */
    KERNEL("L: ld.global.u32 %r4, [%d1];\nadd.u32 %r2, %r2, %r4;\nsetp.lt.u32 %p1, %r2, %r1;\n@%p1 bra "
           "L;"),
    /* In functions: the loop, the look, the end of the thread. */
    WITH(".func spin(.param .u64 a)\n{\n" REGISTERS "ld.param.u64 %d1, [a];\nL: " LOOK
         "setp.eq.s32 %p1, %r4, 0;\n@%p1 bra L;\nret;\n}\n",
         "{ .param .b64 a0; st.param.b64 [a0], %d1; call spin, (a0); }"),
    WITH(".func (.param .b32 v) look(.param .u64 a)\n{\n" REGISTERS "ld.param.u64 %d1, [a];\n" LOOK
         "st.param.b32 [v], %r4;\nret;\n}\n",
         "L:\n{ .param .b64 a0; .param .b32 v0; st.param.b64 [a0], %d1; call (v0), look, (a0);\n"
         "ld.param.b32 %r5, [v0]; }\nsetp.eq.s32 %p1, %r5, 0;\n@%p1 bra L;"),
    WITH(".func stop(.param .u64 a)\n{\n" REGISTERS "ld.param.u64 %d1, [a];\n" LOOK
         "setp.ne.s32 %p1, %r4, 0;\n@%p1 exit;\nret;\n}\n",
         "L:\n{ .param .b64 a0; st.param.b64 [a0], %d1; call stop, (a0); }\nbra L;"),
    WITH(".shared .align 4 .b8 word[4];\n.func watch()\n{\n" REGISTERS
         "L: ld.volatile.shared.u32 %r4, [word];\nsetp.eq.s32 %p1, %r4, 0;\n@%p1 bra L;\nret;\n}\n",
         "setp.eq.u32 %p2, %r1, 0;\n@%p2 bra W;\n" LOOK "st.volatile.shared.u32 [word], %r4;\nbra OUT;\n"
         "W: call watch, ();"),
    /* An instruction of tomorrow may be anything: here it passes the flag on. */
    KERNEL("L: " LOOK "mma.sync.aligned.new {%r5, %r6}, {%r4}, {%r4};\nsetp.eq.s32 %p1, %r6, 0;\n@%p1 "
           "bra L;"),
};

START_TEST(attacks_on_the_analysis_fail)
{
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
        expect(waits[i], PTX_WHOLE_WAITS);
}
END_TEST

/* The same loop, counted: a poll that gives up is a poll. */
START_TEST(a_count_does_not_make_a_poll_safe)
{
    expect(KERNEL("L: " LOOK "setp.ne.s32 %p1, %r4, 0;\n@%p1 bra OUT;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 "
                  "%p2, %r2, %r1;\n@%p2 bra L;"),
           PTX_WHOLE_WAITS);
    expect(KERNEL("L: " PLAIN "membar.gl;\nsetp.ne.s32 %p1, %r4, 0;\n@%p1 bra OUT;\nadd.u32 %r2, %r2, 1;\n"
                  "setp.lt.u32 %p2, %r2, %r1;\n@%p2 bra L;"),
           PTX_WHOLE_WAITS);
}
END_TEST

START_TEST(loops_that_end_by_themselves_are_cut)
{
    static const char *const ends[] = {
        /* Plain loads that decide beside a counter. */
        KERNEL("L: " PLAIN "setp.ne.s32 %p1, %r4, 0;\n@%p1 bra OUT;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, "
               "%r2, %r1;\n@%p2 bra L;"),
        KERNEL("L: " PLAIN "setp.ne.s32 %p1, %r4, 0;\n@%p1 bra OUT;\nadd.s32 %r5, %r2, 4;\nsetp.ge.s32 %p2, "
               "%r5, 1000;\nmov.u32 %r2, %r5;\n@!%p2 bra L;"),
        KERNEL("L: " PLAIN "setp.ne.s32 %p1, %r4, 0;\n@%p1 bra OUT;\nadd.s32 %r1, %r1, -1;\nsetp.eq.s32 %p2, "
               "%r1, 0;\n@%p2 bra OUT;\nbra L;"),
        KERNEL("L: " PLAIN "setp.ne.s32 %p1, %r4, 0;\n@%p1 bra OUT;\nsub.s32 %r1, %r1, 2;\nsetp.gt.s32 "
               "%p2|%p3, %r1, 0;\n@%p3 bra OUT;\nbra L;"),
        KERNEL("L: " PLAIN "setp.ne.s32 %p1, %r4, 0;\nadd.u32 %r2, %r2, 1;\nsetp.ge.u32 %p2, %r2, %r1;\n"
               "or.pred %p3, %p1, %p2;\n@%p3 bra OUT;\nbra L;"),
        KERNEL("L: " PLAIN "setp.eq.s32 %p1, %r4, 0;\nadd.u32 %r2, %r2, 1;\nsetp.lt.and.u32 %p2, %r2, %r1, "
               "%p1;\n@%p2 bra L;"),
        KERNEL("L: " PLAIN "setp.ne.s32 %p1, %r4, 0;\n@%p1 ret;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, "
               "%r1;\nnot.pred %p3, %p2;\n@%p3 exit;\nbra L;"),
        /* Retried, with the value of the exchange or of a load. */
        KERNEL("L: atom.global.cas.b32 %r4, [%d1], %r2, 1;\nsetp.ne.s32 %p1, %r4, %r2;\nmov.u32 %r2, %r4;\n"
               "@%p1 bra L;"),
        KERNEL("L: ld.volatile.global.u32 %r2, [%d1];\nadd.u32 %r5, %r2, 3;\natom.global.cas.b32 %r4, [%d1], "
               "%r2, %r5;\nsetp.ne.s32 %p1, %r4, %r2;\n@%p1 bra L;"),
        WITH(".global .u32 word;\n", "L: atom.global.cas.b32 %r4, [word], %r2, 1;\nsetp.eq.s32 %p1, %r2, "
                                     "%r4;\nmov.u32 %r2, %r4;\n@!%p1 bra L;"),
        /* Tickets. */
        KERNEL("L: atom.global.add.u32 %r4, [%d1], 1;\nsetp.lt.u32 %p1, %r4, %r1;\n@%p1 bra L;"),
        /* A flag that is looked at but decides nothing, and one that decides about a branch. */
        KERNEL("L: " LOOK "add.u32 %r5, %r5, %r4;\nadd.u32 %r2, %r2, 1;\nsetp.ne.u32 %p1, %r2, %r1;\n@%p1 "
               "bra L;"),
        KERNEL("L: " LOOK "setp.eq.s32 %p2, %r4, 0;\n@%p2 bra M;\nadd.u32 %r5, %r5, 1;\nM: add.u32 %r2, %r2, "
               "8;\nsetp.ne.u32 %p1, %r2, %r1;\n@%p1 bra L;"),
        /* An atomic whose result is not used. */
        KERNEL("L: atom.global.add.u32 %r4, [%d1], 1;\nadd.u32 %r2, %r2, %r3;\nsetp.lt.u32 %p1, %r2, %r1;\n"
               "@%p1 bra L;"),
        /* A loop without an end of its own doing. */
        KERNEL("L: bra L;"),
        /* Barriers of shared memory concern the block alone. */
        KERNEL("L: mbarrier.try_wait.shared.b64 %p1, [ours], %d2;\n@!%p1 bra L;"),
    };

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        expect(ends[i], PTX_CUT);
    /*
     * Nothing is written, so nothing that is read can change: the same loop, in a kernel that does
     * not write.
     */
    expect(HEAD ".visible .entry k(.param .u64 flag)\n{\n" REGISTERS
                "ld.param.u64 %d1, [flag];\nL: ld.global.u32 %r4, [%d1];\nsetp.eq.s32 %p1, %r4, 0;\n@%p1 bra "
                "L;\nret;\n}\n",
           PTX_CUT);
}
END_TEST

/* Kernels that are safe to cut although they use atomics: results of pieces, by arithmetic. */
static void run_pieces(struct device *device, const struct ptx_cut *cut, const char *name, uint32_t blocks,
                       unsigned threads, void *buffer)
{
    const struct ptx_cut_entry *entry = ptx_cut_find(cut, name);
    const uint32_t grid[3] = {blocks, 1, 1};
    const unsigned block[3] = {threads, 1, 1};
    struct random_state random;
    struct pieces pieces;

    ck_assert(entry && entry->reason == PTX_CUT);
    random_init(&random, 31, blocks);
    do
        ck_assert_int_eq(pieces_make(&pieces, grid, &random), 0);
    while (pieces.n < 3);
    for (unsigned i = 0; i < pieces.n; i++) {
        const uint32_t line[3] = {pieces.end[i] - pieces.begin[i], 1, 1};

        pieces.whole.first = pieces.begin[i];
        memcpy((char *)buffer + entry->piece_offset, &pieces.whole, sizeof pieces.whole);
        ck_assert_msg(device_run_3d(device, entry->piece_name, line, block, buffer) == CPU_OK, "%s",
                      device->fault.text);
    }
}

/* The kernels of loops.ptx, cut and loaded. */
struct loops {
    struct device device;
    struct ptx_cut cut;
};

static void open_loops(struct loops *loops)
{
    char *text;
    size_t size;

    ck_assert_int_eq(file_read(harness_data("cut/loops.ptx"), 1 << 20, &text, &size), 0);
    ck_assert_int_eq(ptx_cut(text, size, &loops->cut), 0);
    loops->device.haste = IMAGE_SOON;
    device_open(&loops->device, loops->cut.text, loops->cut.size);
    free(text);
}

static void close_loops(struct loops *loops)
{
    device_close(&loops->device);
    ptx_cut_done(&loops->cut);
}

START_TEST(sums_and_maxima_by_compare_and_swap_run_in_pieces)
{
    struct loops loops = {0};
    struct {
        double *p, x;
        struct ptx_piece piece;
    } add = {.x = 0.5};
    struct {
        float *p, *in;
        struct ptx_piece piece;
    } max = {0};

    open_loops(&loops);
    add.p = device_memory(&loops.device, sizeof *add.p);
    run_pieces(&loops.device, &loops.cut, "ends_cas_add", 20, 32, &add);
    ck_assert_msg(*add.p == 320.0, "%f", *add.p); /* 20 blocks of 32 threads add a half each */
    max.p = device_memory(&loops.device, sizeof *max.p);
    max.in = device_memory(&loops.device, 320 * sizeof *max.in);
    for (int i = 0; i < 320; i++)
        max.in[i] = (float)(i * 37 % 320);
    run_pieces(&loops.device, &loops.cut, "ends_cas_max", 10, 32, &max);
    ck_assert_msg(*max.p == 319.0F, "%f", (double)*max.p); /* 37 and 320 have no common divisor */
    close_loops(&loops);
}
END_TEST

START_TEST(work_queues_and_last_blocks_run_in_pieces)
{
    struct loops loops = {0};
    struct {
        int *next, n, *in, *out;
        struct ptx_piece piece;
    } queue = {.n = 100};
    struct {
        unsigned *count;
        float *part, *out;
        struct ptx_piece piece;
    } last = {0};

    open_loops(&loops);
    queue.next = device_memory(&loops.device, sizeof *queue.next);
    queue.in = device_memory(&loops.device, 100 * sizeof *queue.in);
    queue.out = device_memory(&loops.device, 100 * sizeof *queue.out);
    for (int i = 0; i < 100; i++)
        queue.in[i] = i;
    run_pieces(&loops.device, &loops.cut, "ends_work_queue", 6, 8, &queue);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(queue.out[i], 2 * i);
    ck_assert_int_eq(*queue.next, 100 + 6 * 8); /* every thread takes one ticket too many */
    last.count = device_memory(&loops.device, sizeof *last.count);
    last.part = device_memory(&loops.device, 25 * sizeof *last.part);
    last.out = device_memory(&loops.device, sizeof *last.out);
    run_pieces(&loops.device, &loops.cut, "ends_last_block", 25, 32, &last);
    ck_assert_msg(*last.out == 300.0F, "%f", (double)*last.out); /* 0 + 1 + ... + 24 */
    close_loops(&loops);
}
END_TEST

HARNESS_MAIN("cut waits", 60, compiled_loops_get_the_verdict_of_their_names,
             every_way_to_look_at_a_flag_counts, attacks_on_the_analysis_fail,
             a_count_does_not_make_a_poll_safe, loops_that_end_by_themselves_are_cut,
             sums_and_maxima_by_compare_and_swap_run_in_pieces, work_queues_and_last_blocks_run_in_pieces)
