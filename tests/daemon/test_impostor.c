/* Hostile daemons, and programs that close what is not theirs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/session.h"
#include "daemon_ask.h"
#include "harness.h"
#include "raw.h"
#include "wire/page.h"

/* ---- daemons ---- */

static unsigned open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned n = 0;

    ck_assert_ptr_nonnull(folder);
    while (readdir(folder))
        n++;
    (void)closedir(folder);
    return n;
}

/* Not a daemon: a socket at the usual place. */
static int impostor(struct fixture *fixture)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    harness_folder(fixture->folder);
    (void)snprintf(fixture->socket, sizeof fixture->socket, "%s/s", fixture->folder);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", fixture->socket);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    return fd;
}

static int new_page(void)
{
    int fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct page *page;

    ck_assert_int_eq(ftruncate(fd, (off_t)PAGE_SIZE_BYTES), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    page = mmap(NULL, PAGE_SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    page_init(page, 1, 1);
    (void)munmap(page, PAGE_SIZE_BYTES);
    return fd;
}

/* A frame, and this descriptor so many times. */
static void send_with(int to, const struct frame *frame, int fd, unsigned times)
{
    union {
        char room[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    uint8_t bytes[FRAME_MAX_SIZE];
    struct iovec vector = {bytes, frame_encode(frame, bytes)};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(times * sizeof(int))};
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);

    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(times * sizeof(int));
    for (unsigned i = 0; i < times; i++)
        memcpy(CMSG_DATA(part) + i * sizeof(int), &fd, sizeof fd);
    ck_assert_int_gt(sendmsg(to, &message, MSG_NOSIGNAL), 0);
}

static const struct frame welcome = {
    .type = FRAME_WELCOME,
    .welcome = {.version = FRAME_VERSION, .generation = 1, .client = 1, .page_size = PAGE_SIZE_BYTES}};

static void *open_session(void *fixture)
{
    struct settings settings = fixture_settings(fixture, "victim", 50);
    struct session *session = NULL;

    settings.require_daemon = false; /* one that hangs up may be gone before the session is open */
    ck_assert_int_eq(session_open(&settings, NULL, &session), 0);
    return session;
}

static bool has_few_descriptors(void *most)
{
    return open_descriptors() <= *(unsigned *)most;
}

START_TEST(descriptors_that_nobody_asked_for_are_closed)
{
    struct frame nonsense = {.type = FRAME_PLACED};
    struct fixture fixture;
    void *session = NULL;
    pthread_t opener;
    unsigned most;
    int listener = impostor(&fixture);
    int page = new_page();
    int fd;

    ck_assert_int_eq(pthread_create(&opener, NULL, open_session, &fixture), 0);
    fd = accept(listener, NULL, NULL);
    send_with(fd, &welcome, page, 1);
    ck_assert_int_eq(pthread_join(opener, &session), 0);
    ck_assert(session_online(session));
    most = open_descriptors() + 4;
    for (unsigned i = 0; i < 100; i++)
        send_with(fd, &nonsense, page, 2);
    nonsense.type = FRAME_YIELD; /* of a lease that does not exist: the last that it hears */
    send_with(fd, &nonsense, page, 2);
    while (recv(fd, &(char){0}, 1, 0) > 0)
        ; /* it hangs up, so all was read */
    fixture_wait(has_few_descriptors, &most, "what came is closed");
    close(fd);
    session_close(session);
    close(listener);
}
END_TEST

START_TEST(a_daemon_that_welcomes_and_hangs_up_is_not_asked_without_pause)
{
    enum { TIMES = 3 };
    struct fixture fixture;
    void *session = NULL;
    pthread_t opener;
    baton_nsec begin_at;
    int listener = impostor(&fixture);
    int page = new_page();

    begin_at = clock_now(); /* before the first attempt, however late its end is seen */
    ck_assert_int_eq(pthread_create(&opener, NULL, open_session, &fixture), 0);
    for (unsigned i = 0; i < TIMES; i++) {
        int fd = accept(listener, NULL, NULL);

        send_with(fd, &welcome, page, 1);
        close(fd);
    }
    /* A second between one and the next, however that is spent. */
    ck_assert_int_ge(clock_now() - begin_at, (TIMES - 1) * NSEC_PER_SEC * 9 / 10);
    ck_assert_int_eq(pthread_join(opener, &session), 0);
    close(listener);
    session_close(session);
}
END_TEST

struct waiter {
    struct lease *lease;
    pthread_t thread;
    atomic_int answer; /* 1: none yet */
};

static void *wait_for_answer(void *argument)
{
    struct waiter *waiter = argument;

    atomic_store(&waiter->answer, lease_refusal(waiter->lease, true));
    return NULL;
}

static void start_waiter(struct waiter *waiter, struct session *session, const char *device)
{
    ck_assert_int_eq(lease_open(session, device, ENGINE_EXECUTION, &waiter->lease), 0);
    ck_assert_int_eq(lease_refusal(waiter->lease, false), 0);
    atomic_store(&waiter->answer, 1);
    ck_assert_int_eq(pthread_create(&waiter->thread, NULL, wait_for_answer, waiter), 0);
}

static int answer_of(struct waiter *waiter)
{
    ck_assert_int_eq(pthread_join(waiter->thread, NULL), 0);
    return atomic_load(&waiter->answer);
}

static void say(int fd, const struct frame *frame)
{
    uint8_t bytes[FRAME_MAX_SIZE];
    size_t n = frame_encode(frame, bytes);

    ck_assert_int_eq(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

/*
 * Under tokens every engine must be managed. A client that wants to use one waits for its word,
 * but not for ever, and not longer than the connection lasts.
 */
START_TEST(a_client_waits_until_it_knows_whether_an_engine_is_managed)
{
    const struct frame managed = {.type = FRAME_MANAGED, .managed = {.index = 0}};
    const struct frame refused = {.type = FRAME_REFUSED, .refused = {.index = 1, .reason = ENOSPC}};
    const struct lease_group_engine engine = {"test:1", ENGINE_EXECUTION};
    struct frame tokens = welcome;
    struct lease_group group;
    struct waiter waiters[4];
    struct fixture fixture;
    void *session = NULL;
    pthread_t opener;
    int listener = impostor(&fixture);
    int page = new_page();
    int fd;

    tokens.welcome.flags = WELCOME_TOKENS;
    ck_assert_int_eq(pthread_create(&opener, NULL, open_session, &fixture), 0);
    fd = accept(listener, NULL, NULL);
    send_with(fd, &tokens, page, 1);
    ck_assert_int_eq(pthread_join(opener, &session), 0);
    ck_assert(session_has_tokens(session));
    start_waiter(&waiters[0], session, "test:0");
    start_waiter(&waiters[1], session, "test:1");
    say(fd, &managed);
    ck_assert_int_eq(answer_of(&waiters[0]), 0);
    say(fd, &refused);
    ck_assert_int_eq(answer_of(&waiters[1]), -ENOSPC);
    ck_assert_int_eq(lease_group_take(session, &engine, 1, &group), -ENOSPC); /* a batch there */
    ck_assert_int_eq(unsetenv("BATON_TEST_PATIENCE"), 0); /* the limit of a program is what is tested */
    start_waiter(&waiters[2], session, "test:2");
    ck_assert_int_eq(answer_of(&waiters[2]), -ETIMEDOUT);
    ck_assert_int_eq(setenv("BATON_TEST_PATIENCE", "20", 1), 0);
    start_waiter(&waiters[3], session, "test:3");
    close(fd);
    ck_assert_int_eq(answer_of(&waiters[3]), 0);
    session_close(session);
    close(listener);
}
END_TEST

/* ---- programs ---- */

/*
 * Everything from 3 on is closed, and the numbers go to files: code that still writes to, reads
 * from or closes them is found out.
 */
static int work_without_descriptors(const struct fixture *fixture)
{
    struct settings settings = fixture_settings(fixture, "closes", 50);
    struct session *session = NULL;
    struct lease *lease = NULL;
    int files[16];
    int status = 0;

    if (session_open(&settings, NULL, &session) || lease_open(session, DEVICE, ENGINE_EXECUTION, &lease))
        return 2;
    (void)close_range(3, ~0U, 0);
    for (unsigned i = 0; i < 16; i++) {
        char path[128];

        (void)snprintf(path, sizeof path, "%s/file%u", fixture->folder, i);
        files[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (write(files[i], "mine, all of it", 15) != 15 || lseek(files[i], 5, SEEK_SET) != 5)
            return 3;
    }
    for (unsigned round = 0; round < 20; round++) {
        if (lease_try_begin(lease) != LEASE_BEGUN && lease_request(lease) == LEASE_ASK &&
            lease_wait(lease, clock_now() + FIXTURE_LIMIT) != LEASE_BEGUN)
            return 4;
        lease_arm_reaper(lease, true);
        lease_arm_reaper(lease, false);
        lease_end(lease);
    }
    session_close(session);
    for (unsigned i = 0; i < 16; i++) {
        char text[32];

        if (lseek(files[i], 0, SEEK_CUR) != 5 || pread(files[i], text, sizeof text, 0) != 15 ||
            memcmp(text, "mine, all of it", 15) != 0)
            status = 5;
    }
    return status;
}

START_TEST(a_program_that_closes_all_descriptors_goes_on_and_finds_its_files_untouched)
{
    struct fixture fixture;
    int status = -1;
    pid_t pid;

    fixture_start(&fixture, PLAIN, NULL);
    pid = fork();
    if (pid == 0)
        _exit(work_without_descriptors(&fixture));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    fixture_done(&fixture);
}
END_TEST

HARNESS_MAIN("impostor", 60, descriptors_that_nobody_asked_for_are_closed,
             a_daemon_that_welcomes_and_hangs_up_is_not_asked_without_pause,
             a_client_waits_until_it_knows_whether_an_engine_is_managed,
             a_program_that_closes_all_descriptors_goes_on_and_finds_its_files_untouched)
