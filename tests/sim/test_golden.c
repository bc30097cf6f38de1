/*
 * Schedules that papers draw, and counterexamples that they do not; every number is worked out in a
 * comment.
 */
#include "harness.h"
#include "recorder.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define MS(response) ((response) / NSEC_PER_MS)

/* Rows: CPU 0, then gpu0, its copy engine, gpu1, its copy engine, bus. */
enum { CPU, GPU0, COPY0, GPU1, COPY1, BUS };

static const struct sim_options priority = {.profile = PROFILE_PRIORITY};
static const struct sim_options all_multi = {.profile = PROFILE_PRIORITY, .multi = true};

/* GPU-SPARC Fig. 1: three jobs at time 0 on two GPUs; J1 and J2 need 7 by 10, J3 needs 26 by 30. */
#define FIGURE_1(multi)                                                                                      \
    "platform: {cpus: 1, gpus: 2, copy_engines: 1}\n"                                                        \
    "tasks:\n"                                                                                               \
    "  - {name: J1, period_ms: 100, deadline_ms: 10, placement: any, segments: [{kernel_ms: 7}]}\n"          \
    "  - {name: J2, period_ms: 100, deadline_ms: 10, placement: any, segments: [{kernel_ms: 7}]}\n"          \
    "  - {name: J3, period_ms: 100, deadline_ms: 30, segments: [{kernel_ms: 26" multi "}]}\n"

START_TEST(figure_1a_one_gpu_per_kernel_misses_a_deadline)
{
    /* J1 and J2 take both GPUs until 7; J3 runs 7 .. 33 and misses 30. */
    static const struct recorded_span expected[] = {{GPU0, 0, 0, 7}, {GPU1, 1, 0, 7}, {GPU0, 2, 7, 33}};
    struct scene scene;

    scene_run(&scene, FIGURE_1(""), &priority, 100, NULL);
    recorder_expect(&scene.recorder, expected, COUNT(expected));
    ck_assert_uint_eq(scene.result.tasks[2].misses, 1);
    ck_assert_int_eq(MS(scene.result.tasks[2].max_response), 33);
    scene_done(&scene);
}
END_TEST

START_TEST(figure_1b_the_long_kernel_on_both_gpus_meets_all_deadlines)
{
    /* J3 split in two halves of 13: both GPUs 7 .. 20. */
    static const struct recorded_span expected[] = {
        {GPU0, 0, 0, 7}, {GPU1, 1, 0, 7}, {GPU0, 2, 7, 20}, {GPU1, 2, 7, 20}};
    struct scene scene;

    scene_run(&scene, FIGURE_1(", multi_ms: 13"), &all_multi, 100, NULL);
    recorder_expect(&scene.recorder, expected, COUNT(expected));
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq(scene.result.tasks[i].misses, 0);
    scene_done(&scene);
}
END_TEST

/*
 * GPU-SPARC Fig. 11: J1 uploads 1, computes 10, downloads 1, deadline 13; J2 2, 22, 1, deadline 24.
 * On two GPUs copies take twice as long, kernels half, and merging the output takes 4 on a CPU.
 */
#define J1_SINGLE                                                                                            \
    "  - {name: J1, period_ms: 100, deadline_ms: 13, segments: [{copy_in_ms: 1}, {kernel_ms: 10}, "          \
    "{copy_out_ms: 1}]}\n"
#define J2_SINGLE                                                                                            \
    "  - {name: J2, period_ms: 100, deadline_ms: 24, segments: [{copy_in_ms: 2}, {kernel_ms: 22}, "          \
    "{copy_out_ms: 1}]}\n"
#define J1_MULTI                                                                                             \
    "  - {name: J1, period_ms: 100, deadline_ms: 13, segments: [{copy_in_ms: 1, multi_ms: 2}, "              \
    "{kernel_ms: 10, multi_ms: 5}, {copy_out_ms: 1, multi_ms: 2}, {cpu_ms: 0, multi_ms: 4}]}\n"
#define J2_MULTI                                                                                             \
    "  - {name: J2, period_ms: 100, deadline_ms: 24, segments: [{copy_in_ms: 2, multi_ms: 4}, "              \
    "{kernel_ms: 22, multi_ms: 11}, {copy_out_ms: 1, multi_ms: 2}, {cpu_ms: 0, multi_ms: 4}]}\n"
#define FIGURE_11(first, second)                                                                             \
    "platform: {cpus: 1, gpus: 2, copy_engines: 1}\n"                                                        \
    "tasks:\n" first second

static void expect_responses(const struct scene *scene, long long first, long long second)
{
    ck_assert_int_eq(MS(scene->result.tasks[0].max_response), first);
    ck_assert_int_eq(MS(scene->result.tasks[1].max_response), second);
}

START_TEST(figure_11a_both_on_one_gpu_and_j2_is_late)
{
    /* J1: bus 0-1, gpu0 1-11, bus 11-12. J2: bus 1-3, gpu1 3-25, bus 25-26 > 24. */
    static const struct recorded_span expected[] = {
        {BUS, 0, 0, 1}, {COPY0, 0, 0, 1}, {GPU0, 0, 1, 11}, {BUS, 0, 11, 12}, {COPY0, 0, 11, 12},
        {BUS, 1, 1, 3}, {COPY1, 1, 1, 3}, {GPU1, 1, 3, 25}, {BUS, 1, 25, 26}, {COPY1, 1, 25, 26}};
    struct scene scene;

    scene_run(&scene, FIGURE_11(J1_SINGLE, J2_SINGLE), &priority, 100, NULL);
    recorder_expect(&scene.recorder, expected, COUNT(expected));
    expect_responses(&scene, 12, 26);
    ck_assert_uint_eq(scene.result.tasks[1].misses, 1);
    scene_done(&scene);
}
END_TEST

START_TEST(figure_11b_only_j2_on_both_gpus_and_it_is_still_late)
{
    /* J1 as before. J2: bus 1-5, gpu1 5-16, gpu0 11-22 (after J1), bus 22-24, merge 24-28 > 24. */
    struct scene scene;

    scene_run(&scene, FIGURE_11(J1_SINGLE, J2_MULTI), &all_multi, 100, NULL);
    expect_responses(&scene, 12, 28);
    ck_assert_uint_eq(scene.result.tasks[1].misses, 1);
    scene_done(&scene);
}
END_TEST

START_TEST(figure_11c_both_on_both_gpus_and_both_just_make_it)
{
    /*
     * J1: bus 0-2, both GPUs 2-7, bus 7-9, merge 9-13 = 13.
     * J2: bus 2-6, both GPUs 7-18, bus 18-20, merge 20-24 = 24.
     */
    static const struct recorded_span expected[] = {
        {BUS, 0, 0, 2},     {COPY0, 0, 0, 2},   {COPY1, 0, 0, 2}, {GPU0, 0, 2, 7},  {GPU1, 0, 2, 7},
        {BUS, 0, 7, 9},     {COPY0, 0, 7, 9},   {COPY1, 0, 7, 9}, {CPU, 0, 9, 13},  {BUS, 1, 2, 6},
        {COPY0, 1, 2, 6},   {COPY1, 1, 2, 6},   {GPU0, 1, 7, 18}, {GPU1, 1, 7, 18}, {BUS, 1, 18, 20},
        {COPY0, 1, 18, 20}, {COPY1, 1, 18, 20}, {CPU, 1, 20, 24}};
    struct scene scene;

    scene_run(&scene, FIGURE_11(J1_MULTI, J2_MULTI), &all_multi, 100, NULL);
    recorder_expect(&scene.recorder, expected, COUNT(expected));
    expect_responses(&scene, 13, 24);
    ck_assert_uint_eq(scene.result.tasks[0].misses + scene.result.tasks[1].misses, 0);
    scene_done(&scene);
}
END_TEST

START_TEST(the_printed_bound_of_a_multi_mode_task_is_exceeded)
{
    /*
     * Printed R2 = 785. tau2 from 0: CPU 0-445, bus 445-457. tau1 from 368: CPU 368-397, bus
     * 397-456, kernel on gpu0 456-902. tau2's sub-kernel there 902-919, bus 919-923, CPU 923-974.
     */
    static const char text[] = "platform: {cpus: 4, gpus: 4, copy_engines: 1}\n"
                               "tasks:\n"
                               "  - {name: tau1, period_ms: 748, placement: [0], segments: [{cpu_ms: 29}, "
                               "{copy_in_ms: 59}, {kernel_ms: 446}, "
                               "{copy_out_ms: 3}, {cpu_ms: 8}]}\n"
                               "  - {name: tau2, period_ms: 953, placement: [0, 1, 2, 3], segments: "
                               "[{cpu_ms: 445}, {copy_in_ms: 12}, "
                               "{kernel_ms: 17}, {copy_out_ms: 4}, {cpu_ms: 51}]}\n";
    static const long long offsets[] = {368, 0};
    struct scene scene;

    scene_run(&scene, text, &priority, 975, offsets);
    ck_assert_int_eq(MS(scene.result.tasks[1].max_response), 974);
    ck_assert_uint_eq(scene.result.tasks[1].misses, 1);
    scene_done(&scene);
}
END_TEST

START_TEST(the_printed_bound_without_carry_in_is_exceeded)
{
    /*
     * Two CPUs, (C, T) = (2,4), (2,5), (4,8), (2,10); printed R4 = 8, with offset 4 for the last
     * task 9.
     */
    static const char text[] = "platform: {cpus: 2, gpus: 0}\n"
                               "tasks:\n"
                               "  - {name: a, period_ms: 4, segments: [{cpu_ms: 2}]}\n"
                               "  - {name: b, period_ms: 5, segments: [{cpu_ms: 2}]}\n"
                               "  - {name: c, period_ms: 8, segments: [{cpu_ms: 4}]}\n"
                               "  - {name: d, period_ms: 10, segments: [{cpu_ms: 2}]}\n";
    static const long long offsets[] = {0, 0, 0, 4};
    struct scene scene;

    scene_run(&scene, text, &priority, 14, offsets);
    ck_assert_int_eq(MS(scene.result.tasks[3].max_response), 9);
    scene_done(&scene);
}
END_TEST

START_TEST(pieces_let_the_urgent_task_in_at_the_next_border)
{
    /*
     * low: kernel of 10 in pieces of 2 from 0; high arrives at 3 with a kernel of 1: waits for the
     * border at 4, runs 4-5, and low goes on 5-11. Without pieces (priority-whole) high waits until
     * 10.
     */
    static const char text[] = "platform: {cpus: 1, gpus: 1, copy_engines: 1}\n"
                               "tasks:\n"
                               "  - {name: high, period_ms: 50, segments: [{kernel_ms: 1}]}\n"
                               "  - {name: low, period_ms: 100, segments: [{kernel_ms: 10, piece_ms: 2}]}\n";
    static const struct recorded_span expected[] = {{1, 1, 0, 2}, {1, 1, 2, 4}, {1, 0, 4, 5},
                                                    {1, 1, 5, 7}, {1, 1, 7, 9}, {1, 1, 9, 11}};
    static const long long offsets[] = {3, 0};
    static const struct sim_options whole = {.profile = PROFILE_PRIORITY_WHOLE};
    struct scene scene;

    scene_run(&scene, text, &priority, 40, offsets);
    recorder_expect(&scene.recorder, expected, COUNT(expected));
    expect_responses(&scene, 2, 11);
    ck_assert_uint_eq(scene.recorder.marks[SIM_YIELD], 1);
    scene_done(&scene);
    scene_run(&scene, text, &whole, 40, offsets);
    expect_responses(&scene, 8, 10);
    ck_assert_uint_eq(scene.recorder.marks[SIM_YIELD], 0);
    scene_done(&scene);
}
END_TEST

START_TEST(fifo_serves_in_order_of_arrival_whatever_the_priority)
{
    /*
     * low 0-10, then mid (arrived 1) 10-14, then high (arrived 2) 14-15: response 13. By priority
     * high would go first: 10-11, 9.
     */
    static const char text[] = "platform: {cpus: 1, gpus: 1, copy_engines: 1}\n"
                               "tasks:\n"
                               "  - {name: high, period_ms: 50, segments: [{kernel_ms: 1}]}\n"
                               "  - {name: mid, period_ms: 60, segments: [{kernel_ms: 4}]}\n"
                               "  - {name: low, period_ms: 100, segments: [{kernel_ms: 10}]}\n";
    static const long long offsets[] = {2, 1, 0};
    static const struct sim_options fifo = {.profile = PROFILE_FIFO};
    struct scene scene;

    scene_run(&scene, text, &fifo, 40, offsets);
    expect_responses(&scene, 13, 13);
    scene_done(&scene);
    scene_run(&scene, text, &priority, 40, offsets);
    expect_responses(&scene, 9, 14);
    scene_done(&scene);
}
END_TEST

START_TEST(gpusync_holds_the_token_over_the_whole_critical_section)
{
    /*
     * One GPU, one token, c = 2. Critical sections of 1 + 4 + 1 (in, kernel, out), CPU 1 before.
     * Both from 0: CPU 0-1 each. a has the earlier deadline, so its step ends first at 1 and it
     * takes the token: 1-7. b 7-13. With two tokens b's upload (copy engine) overlaps: a in 1-2, b
     * in 2-3, a kernel 2-6, b kernel 6-10, a out 6-7, b out 10-11.
     */
    static const char one[] = "platform: {cpus: 2, gpus: 1, copy_engines: 1, tokens_per_gpu: 1}\n"
                              "tasks:\n"
                              "  - {name: a, period_ms: 50, segments: [{cpu_ms: 1}, {copy_in_ms: 1}, "
                              "{kernel_ms: 4}, {copy_out_ms: 1}]}\n"
                              "  - {name: b, period_ms: 60, segments: [{cpu_ms: 1}, {copy_in_ms: 1}, "
                              "{kernel_ms: 4}, {copy_out_ms: 1}]}\n";
    static const char two[] = "platform: {cpus: 2, gpus: 1, copy_engines: 1, tokens_per_gpu: 2}\n"
                              "tasks:\n"
                              "  - {name: a, period_ms: 50, segments: [{cpu_ms: 1}, {copy_in_ms: 1}, "
                              "{kernel_ms: 4}, {copy_out_ms: 1}]}\n"
                              "  - {name: b, period_ms: 60, segments: [{cpu_ms: 1}, {copy_in_ms: 1}, "
                              "{kernel_ms: 4}, {copy_out_ms: 1}]}\n";
    static const struct sim_options gpusync = {
        .profile = PROFILE_GPUSYNC, .policy = POLICY_EDF, .lock = LOCK_R2DGLP};
    struct scene scene;

    scene_run(&scene, one, &gpusync, 40, NULL);
    expect_responses(&scene, 7, 13);
    scene_done(&scene);
    scene_run(&scene, two, &gpusync, 40, NULL);
    expect_responses(&scene, 7, 11);
    scene_done(&scene);
}
END_TEST

START_TEST(fair_lateness_orders_by_points_not_by_deadlines)
{
    /*
     * PAPERS: m = 2, (C, T) = (50,50), (20,40), (100,200): Y = 25, 30, 150. All at 0: the two CPUs
     * run task 0 (Y 25) and task 1 (Y 30) first; under EDF task 1 (deadline 40) would come before
     * task 0 (50), to the same effect on two CPUs. On the CPU that task 1 leaves at 20 task 2 runs
     * 20-40; then the second job of task 1 (point 70) preempts it 40-60, and so on.
     */
    static const char text[] = "platform: {cpus: 2, gpus: 0}\n"
                               "tasks:\n"
                               "  - {name: a, period_ms: 50, segments: [{cpu_ms: 50}]}\n"
                               "  - {name: b, period_ms: 40, segments: [{cpu_ms: 20}]}\n"
                               "  - {name: c, period_ms: 200, segments: [{cpu_ms: 100}]}\n";
    static const struct sim_options fair = {.profile = PROFILE_PRIORITY, .policy = POLICY_FAIR_LATENESS};
    struct scene scene;

    scene_run(&scene, text, &fair, 20000, NULL);
    /* Bounds of the analysis for this set: 120, 110, 270. */
    ck_assert_int_le(MS(scene.result.tasks[0].max_response), 120);
    ck_assert_int_le(MS(scene.result.tasks[1].max_response), 110);
    ck_assert_int_le(MS(scene.result.tasks[2].max_response), 270);
    ck_assert_uint_ge(scene.result.tasks[0].jobs, 390);
    scene_done(&scene);
}
END_TEST

START_TEST(critical_cpu_time_is_taken_from_the_segments_around)
{
    /*
     * One token, one CPU each. a: CPU 3 of which the last 2 are inside, kernel 4: token 1-7. b,
     * released at 1: CPU 1-2 (none of it inside), waits for the token until 7, kernel 7-9: response
     * 8.
     */
    static const char text[] =
        "platform: {cpus: 2, gpus: 1, copy_engines: 1, tokens_per_gpu: 1}\n"
        "tasks:\n"
        "  - {name: a, period_ms: 50, critical_cpu_ms: 2, segments: [{cpu_ms: 3}, {kernel_ms: 4}]}\n"
        "  - {name: b, period_ms: 60, segments: [{cpu_ms: 1}, {kernel_ms: 2}]}\n";
    static const long long offsets[] = {0, 1};
    static const struct sim_options gpusync = {
        .profile = PROFILE_GPUSYNC, .policy = POLICY_EDF, .lock = LOCK_R2DGLP};
    struct scene scene;

    scene_run(&scene, text, &gpusync, 40, offsets);
    expect_responses(&scene, 7, 8);
    scene_done(&scene);
}
END_TEST

START_TEST(overheads_are_charged_where_they_arise)
{
    /*
     * scheduler 1 + context switch 1 = 2 ms at each dispatch, cpmd 3 after a preemption; 10 ms
     * after each GPU step (5 + 3 + 1 + 1). high, released at 4: 4-6 dispatch, 6-9 work (3), kernel
     * 9-10, handled until 20: response 16. low, released at 0: dispatch 0-2, works 2-4, is
     * preempted until 9, then 2 + 3 before its last 3: done at 17.
     */
    static const char text[] = "platform:\n"
                               "  cpus: 1\n"
                               "  gpus: 1\n"
                               "  copy_engines: 1\n"
                               "  overheads: {scheduler: 1000, context_switch: 1000, cpmd: 3000, "
                               "gpu_top_half: 5000, gpu_bottom_half: 3000, "
                               "syscall_in: 1000, syscall_out: 1000}\n"
                               "tasks:\n"
                               "  - {name: high, period_ms: 100, segments: [{cpu_ms: 3}, {kernel_ms: 1}]}\n"
                               "  - {name: low, period_ms: 200, segments: [{cpu_ms: 5}]}\n";
    static const long long offsets[] = {4, 0};
    static const struct sim_options options = {.profile = PROFILE_PRIORITY, .overheads = true};
    struct scene scene;

    scene_run(&scene, text, &options, 90, offsets);
    expect_responses(&scene, 16, 17);
    scene_done(&scene);
    scene_run(&scene, text, &priority, 90, offsets);
    expect_responses(&scene, 4, 8); /* without: high 4-8, low 0-4 and 7-8 */
    scene_done(&scene);
}
END_TEST

START_TEST(ticks_and_release_interrupts_take_time_from_whoever_runs)
{
    /*
     * One CPU, event latency 1 ms, release interrupts 2 ms, a tick of 1 ms every 10 ms; low first.
     * low, released at 0, is noticed at 1 on an idle CPU and has run 5 of its 12 when high is
     * noticed, at 6; the interrupt adds 2. high, released at 5, works from 6 for its 5, the tick at
     * 10 adds 1: done at 12, response 7. low goes on at 12 with 9 left; the tick at 20 adds 1: done
     * at 22.
     */
    static const char text[] =
        "platform:\n"
        "  cpus: 1\n"
        "  gpus: 1\n"
        "  overheads: {event_latency: 1000, release: 2000, tick: 1000, tick_period: 10000}\n"
        "tasks:\n"
        "  - {name: high, period_ms: 100, segments: [{cpu_ms: 5}]}\n"
        "  - {name: low, period_ms: 200, segments: [{cpu_ms: 12}]}\n";
    static const long long offsets[] = {5, 0};
    static const struct sim_options options = {.profile = PROFILE_PRIORITY, .overheads = true};
    struct scene scene;

    scene_run(&scene, text, &options, 90, offsets);
    expect_responses(&scene, 7, 22);
    scene_done(&scene);
}
END_TEST

START_TEST(copies_that_share_a_link_slow_each_other_down)
{
    /*
     * Links MEM0 -> HUB 10 GB/s, HUB -> either GPU 6 GB/s; uploads of 60 MB. Alone 6 GB/s: 10 ms.
     * From 0 the first moves 30 MB by 5; then both go on at 5 GB/s: the first needs 30 / 5 = 6
     * more, until 11; by then the second has 30 MB, the rest at 6 GB/s: 16.
     */
    static const char text[] =
        "platform: {cpus: 2, gpus: 2, copy_engines: 1, tokens_per_gpu: 1, chunk_in: 100 MB}\n"
        "tasks:\n"
        "  - {name: a, period_ms: 50, segments: [{copy_in_ms: 1, bytes: 60 MB}]}\n"
        "  - {name: b, period_ms: 60, segments: [{copy_in_ms: 1, bytes: 60 MB}]}\n";
    static const char links[] = "links: [{from: MEM0, to: HUB0, gbps: 10}, {from: HUB0, to: MEM0, gbps: 10}, "
                                "{from: HUB0, to: GPU0, gbps: 6}, {from: GPU0, to: HUB0, gbps: 6}, "
                                "{from: HUB0, to: GPU1, gbps: 6}, {from: GPU1, to: HUB0, gbps: 6}]\n";
    static const long long offsets[] = {0, 5};
    struct topology topology;
    struct input_error error;
    struct sim_options options = {.profile = PROFILE_GPUSYNC, .policy = POLICY_EDF, .topology = &topology};
    struct scene scene;

    ck_assert_msg(topology_read("links", links, sizeof links - 1, &topology, &error) == 0,
                  "%u:%u: expected %s, found %s", error.line, error.column, error.expected, error.found);
    scene_run(&scene, text, &options, 40, offsets);
    expect_responses(&scene, 11, 11);
    scene_done(&scene);
    topology_done(&topology);
}
END_TEST

HARNESS_MAIN("golden schedules", 20, figure_1a_one_gpu_per_kernel_misses_a_deadline,
             figure_1b_the_long_kernel_on_both_gpus_meets_all_deadlines,
             figure_11a_both_on_one_gpu_and_j2_is_late, figure_11b_only_j2_on_both_gpus_and_it_is_still_late,
             figure_11c_both_on_both_gpus_and_both_just_make_it,
             the_printed_bound_of_a_multi_mode_task_is_exceeded,
             the_printed_bound_without_carry_in_is_exceeded, pieces_let_the_urgent_task_in_at_the_next_border,
             fifo_serves_in_order_of_arrival_whatever_the_priority,
             gpusync_holds_the_token_over_the_whole_critical_section,
             fair_lateness_orders_by_points_not_by_deadlines, copies_that_share_a_link_slow_each_other_down,
             critical_cpu_time_is_taken_from_the_segments_around, overheads_are_charged_where_they_arise,
             ticks_and_release_interrupts_take_time_from_whoever_runs)
