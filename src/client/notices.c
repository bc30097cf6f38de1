/* Notices of this program: kept for --stats, sent once to every daemon. */
#include <inttypes.h>
#include <string.h>

#include "base/demangle.h"
#include "client/session_private.h"

void session_send_notice(struct session *session, int i)
{
    struct frame frame = {.type = FRAME_NOTICE, .notice = session->notices[i].said};

    if (session->protocol.flags & WELCOME_NOTICES)
        protocol_send(&session->protocol, &frame);
}

/* Under the lock: the number of the notice, or -1 if it is not stored. */
static int find(const struct session *session, enum notice notice, const char *kernel)
{
    for (int i = 0; i < session->n_notices; i++)
        if (session->notices[i].said.notice == (uint32_t)notice &&
            strncmp(session->notices[i].said.kernel, kernel, sizeof session->notices[i].said.kernel - 1) == 0)
            return i;
    return -1;
}

/* One place is kept for the notice that ends claims: kernels must not take it. */
static bool has_room(const struct session *session, enum notice notice)
{
    return session->n_notices < SESSION_NOTICES - (notice != NOTICE_UNMANAGED);
}

int session_notice(struct session *session, enum notice notice, const char *kernel, const char *detail)
{
    int i;

    if (session_forked(session))
        return -1;
    pthread_mutex_lock(&session->lock);
    i = find(session, notice, kernel);
    if (i < 0 && has_room(session, notice)) {
        struct session_notice *fresh = &session->notices[i = session->n_notices++];

        fresh->said = (struct frame_notice){.notice = notice};
        (void)snprintf(fresh->said.kernel, sizeof fresh->said.kernel, "%s", kernel);
        (void)snprintf(fresh->said.detail, sizeof fresh->said.detail, "%s", detail);
        if (atomic_load(&session->view.online)) {
            session_send_notice(session, i);
            session_flush(session);
        }
    }
    session->notices_left_out += i < 0;
    pthread_mutex_unlock(&session->lock);
    session_notice_again(session, i);
    return i;
}

void session_notice_again(struct session *session, int number)
{
    if (number >= 0)
        (void)atomic_fetch_add_explicit(&session->notices[number].launches, 1, memory_order_relaxed);
}

/*
 * Kernel names are C identifiers, but text from a driver or the translator may contain any
 * character.
 */
static void print_text(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            (void)fprintf(out, "\\%c", *text);
        else
            (void)fputc((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e ? '?' : *text, out);
    (void)fputc('"', out);
}

/* The kernel's readable name, and its symbol. */
static void print_kernel(FILE *out, const char *symbol)
{
    char readable[DEMANGLE_SIZE];

    if (!symbol[0]) {
        (void)fprintf(out, "\"kernel\": null, \"symbol\": null");
        return;
    }
    demangle_kernel(symbol, readable, sizeof readable);
    (void)fprintf(out, "\"kernel\": ");
    print_text(out, readable);
    (void)fprintf(out, ", \"symbol\": ");
    print_text(out, symbol);
}

void session_print_notices(struct session *session, FILE *out)
{
    (void)fprintf(out, ", \"notices\": [");
    if (session)
        pthread_mutex_lock(&session->lock);
    for (int i = 0; session && i < session->n_notices; i++) {
        const struct session_notice *notice = &session->notices[i];
        const struct notice_words *words = &notice_table[notice->said.notice];

        (void)fprintf(out, "%s{", i ? ", " : "");
        print_kernel(out, notice->said.kernel);
        (void)fprintf(out, ", \"reason\": \"%s\", \"launches\": %" PRIu64 ", \"why\": ", words->name,
                      atomic_load(&notice->launches));
        print_text(out, words->sentence);
        (void)fprintf(out, ", \"detail\": ");
        print_text(out, notice->said.detail);
        (void)fprintf(out, ", \"advice\": ");
        print_text(out, words->advice);
        (void)fprintf(out, "}");
    }
    (void)fprintf(out, "], \"notices_left_out\": %" PRIu64, session ? session->notices_left_out : 0);
    if (session)
        pthread_mutex_unlock(&session->lock);
}
