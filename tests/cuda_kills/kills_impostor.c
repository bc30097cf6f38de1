#include "kills_impostor.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "harness.h"
#include "wire/frame.h"
#include "wire/page.h"

/* What the peer does on one connection. */
enum act { HANGS_UP, SAYS_BYTES, SAYS_FRAMES, CALLS_IN, HAS_BAD_PAGE, IS_SLOW, IS_SILENT, ACTS };

static void fill(struct random_state *random, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)random_u64(random);
}

/* A page of the right size, or of none that a client may map. */
static int new_page(struct random_state *random, bool good, struct page **ret_page)
{
    int fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    unsigned how = good ? 0 : 1 + (unsigned)random_below(random, 3);

    *ret_page = NULL;
    (void)!ftruncate(fd, how == 1 ? 100 : (off_t)PAGE_SIZE_BYTES);
    if (how != 2)
        (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    if (how == 1)
        return fd;
    *ret_page = mmap(NULL, PAGE_SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    page_init(*ret_page, 1 + (uint32_t)random_below(random, 100), 1);
    if (how == 3)
        (*ret_page)->version++;
    return fd;
}

static void send_welcome(struct random_state *random, int to, int page)
{
    const struct frame welcome = {.type = FRAME_WELCOME,
                                  .welcome = {.version = FRAME_VERSION,
                                              .generation = 1 + (uint32_t)random_below(random, 100),
                                              .client = 1,
                                              .flags = (uint32_t)random_below(random, 32),
                                              .page_size = PAGE_SIZE_BYTES}};
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    uint8_t bytes[FRAME_MAX_SIZE];
    struct iovec vector = {bytes, frame_encode(&welcome, bytes)};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);

    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(part), &page, sizeof page);
    (void)sendmsg(to, &message, MSG_NOSIGNAL);
}

static void say_frame(struct random_state *random, int to)
{
    static const enum frame_type types[] = {FRAME_YIELD,  FRAME_REFUSED, FRAME_PLAN,    FRAME_RESET,
                                            FRAME_PLACED, FRAME_PLAN,    FRAME_WELCOME, FRAME_ABOUT_CLIENT};
    const struct frame frame = {.type = types[random_below(random, sizeof types / sizeof types[0])]};
    uint8_t bytes[FRAME_MAX_SIZE];
    size_t n = frame_encode(&frame, bytes);

    for (size_t i = FRAME_HEADER_SIZE; i < n; i++) /* small numbers, which may be valid */
        bytes[i] = random_below(random, 3) ? 0 : (uint8_t)random_u64(random) >> random_below(random, 8);
    (void)send(to, bytes, n, MSG_NOSIGNAL);
}

static void say_bytes(struct random_state *random, int to)
{
    uint8_t bytes[4096];
    size_t n = 1 + random_below(random, sizeof bytes);

    fill(random, bytes, n);
    (void)send(to, bytes, n, MSG_NOSIGNAL);
}

/* As batond does for another client, which is not there. A word that says more is believed. */
static void call_in(struct random_state *random, struct page *page)
{
    lease_word *word = &page->leases[random_below(random, 4)].word;

    (void)lease_word_call_in(word, random_u64(random) & LEASE_FLAGS);
    (void)syscall(SYS_futex, page_futex(word), FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void say_slowly(int to)
{
    static const uint8_t part[5] = {64, 0, 0, 0, 1};

    (void)send(to, part, sizeof part, MSG_NOSIGNAL);
}

static void serve(struct random_state *random, int fd)
{
    enum act act = (enum act)random_below(random, ACTS);
    bool welcomes = act != HANGS_UP && act != IS_SLOW && random_below(random, 8) != 0;
    struct page *page = NULL;
    int page_fd = new_page(random, act != HAS_BAD_PAGE, &page);

    if (welcomes)
        send_welcome(random, fd, page_fd);
    for (unsigned i = 0; act != HANGS_UP && i < random_below(random, 40); i++) {
        struct pollfd poll_fd = {fd, POLLIN, 0};
        uint8_t bytes[4096];

        if (act == SAYS_BYTES && i > 5)
            say_bytes(random, fd);
        else if (act == SAYS_FRAMES)
            say_frame(random, fd);
        else if (act == CALLS_IN && page)
            call_in(random, page);
        else if (act == IS_SLOW && i == 0)
            say_slowly(fd);
        if (poll(&poll_fd, 1, 2) > 0 && recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
            break;
    }
    if (page)
        (void)munmap(page, PAGE_SIZE_BYTES);
    (void)close(page_fd);
    (void)close(fd);
}

static _Noreturn void be_impostor(int listener, uint64_t seed)
{
    struct random_state random;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGCHLD, SIG_IGN);
    random_init(&random, seed, 1);
    for (uint64_t n = 0;; n++) {
        int fd = accept(listener, NULL, NULL);

        if (fork() == 0) { /* a connection does not wait for another */
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            random_init(&random, seed, 2 + n);
            serve(&random, fd);
            _exit(0);
        }
        (void)close(fd);
    }
}

void kills_impostor_start(struct kills_impostor *impostor, const char *socket_path, uint64_t seed)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    impostor->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path);
    (void)unlink(socket_path);
    ck_assert_int_eq(bind(impostor->listener, (const struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(impostor->listener, 64), 0);
    impostor->pid = fork();
    ck_assert_int_ge(impostor->pid, 0);
    if (impostor->pid == 0)
        be_impostor(impostor->listener, seed);
}

/*
 * Its children have the listener, too, and end a moment later. batond would take them for a live
 * program.
 */
void kills_impostor_end(struct kills_impostor *impostor)
{
    ck_assert_int_eq(kill(impostor->pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(impostor->pid, NULL, 0), impostor->pid);
    ck_assert_int_eq(shutdown(impostor->listener, SHUT_RDWR), 0);
    (void)close(impostor->listener);
}
