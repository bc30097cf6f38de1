#include "cli/notice_lines.h"

#include <stdio.h>

#include "base/demangle.h"
#include "wire/notice.h"
#include "wire/page.h"

enum { MOST = 64 }; /* more than batond keeps per client */

int notices_ask(struct monitor *monitor, uint32_t slot, uint64_t number, struct frame_about_notice *ret_about)
{
    struct frame frame;
    int result = number < MOST ? monitor_query(monitor, QUERY_NOTICE, slot, number, &frame) : 1;

    if (result)
        return result;
    if (frame.type != FRAME_ABOUT_NOTICE || frame.about_notice.notice >= NOTICE_N)
        return 1;
    *ret_about = frame.about_notice;
    return 0;
}

static void print_kernels(const struct frame_about_notice *all, size_t n, enum notice notice)
{
    char readable[DEMANGLE_SIZE];

    for (size_t i = 0; i < n; i++) {
        if (all[i].notice != (uint32_t)notice || (!all[i].kernel[0] && !all[i].detail[0]))
            continue;
        demangle_kernel(all[i].kernel, readable, sizeof readable);
        printf("         %s%s%s%s\n", all[i].kernel[0] ? "kernel " : "", readable,
               all[i].kernel[0] && all[i].detail[0] ? ": " : "", all[i].detail);
    }
}

static bool any_of(const struct frame_about_notice *all, size_t n, enum notice notice)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].notice == (uint32_t)notice)
            return true;
    return false;
}

int notices_print(struct monitor *monitor, const struct frame_about_client *client)
{
    struct frame_about_notice all[MOST];
    size_t n = 0;
    int result;

    while ((result = notices_ask(monitor, client->next - 1, n, &all[n])) == 0)
        n++;
    for (unsigned i = 0; i < NOTICE_N && result > 0; i++) {
        const struct notice_words *words = &notice_table[i];
        uint64_t launches = words->whole ? client->counters[PAGE_COUNTER_UNSLICED_BINARY + i] : 0;

        if (launches)
            printf("       %llu launches ran whole (%s): %s\n", (unsigned long long)launches, words->name,
                   words->sentence);
        else if (any_of(all, n, (enum notice)i))
            printf("       %s%s (%s)\n", words->whole ? "ran whole: " : "", words->sentence, words->name);
        print_kernels(all, n, (enum notice)i);
        if (any_of(all, n, (enum notice)i))
            printf("         what helps: %s\n", words->advice);
    }
    return result < 0 ? result : 0;
}

json_t *notices_json(struct monitor *monitor, const struct frame_about_client *client)
{
    struct frame_about_notice about;
    json_t *list = json_array();
    char readable[DEMANGLE_SIZE];

    for (uint64_t i = 0; notices_ask(monitor, client->next - 1, i, &about) == 0; i++) {
        const struct notice_words *words = &notice_table[about.notice];

        demangle_kernel(about.kernel, readable, sizeof readable);
        (void)json_array_append_new(
            list, json_pack("{s:o, s:o, s:s, s:s, s:s, s:s}", "kernel",
                            about.kernel[0] ? json_string(readable) : json_null(), "symbol",
                            about.kernel[0] ? json_string(about.kernel) : json_null(), "reason", words->name,
                            "why", words->sentence, "detail", about.detail, "advice", words->advice));
    }
    return list;
}
