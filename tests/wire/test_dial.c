#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "wire/dial.h"

#define SOMEBODY_ELSE 65534 /* nobody */

/* A folder that stands for XDG_RUNTIME_DIR, where every user may put a socket. */
struct place {
    char folder[64];
    char path[SOCKET_PATH_SIZE]; /* of the user's own socket in it */
    pid_t listener;
};

static void place_make(struct place *place)
{
    char folder[80];

    harness_folder(place->folder);
    (void)snprintf(folder, sizeof folder, "%s/baton", place->folder);
    (void)snprintf(place->path, sizeof place->path, "%s/baton.sock", folder);
    ck_assert_int_eq(mkdir(folder, 0777) | chmod(folder, 0777) | chmod(place->folder, 0777), 0);
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", place->folder, 1), 0);
    place->listener = 0;
}

/* A process of that user listens; it is killed with the test. */
static void place_listen(struct place *place, uid_t uid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int ready[2];
    char byte;

    ck_assert_int_eq(pipe(ready), 0);
    memcpy(address.sun_path, place->path, sizeof place->path);
    place->listener = fork();
    if (place->listener == 0) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (setuid(uid) == 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
            chmod(place->path, 0666) == 0 && listen(fd, 8) == 0 && write(ready[1], "1", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
}

static void place_remove(struct place *place)
{
    if (place->listener) {
        (void)kill(place->listener, SIGKILL);
        (void)waitpid(place->listener, NULL, 0);
    }
}

START_TEST(where_nobody_listens_the_answer_is_no)
{
    char path[SOCKET_PATH_SIZE] = "untouched";
    struct place place;

    place_make(&place);
    ck_assert_int_eq(dial("/nowhere/at/all.sock", 0, path), -ECONNREFUSED);
    ck_assert_str_eq(path, "untouched");
    place_remove(&place);
}
END_TEST

START_TEST(our_own_daemon_is_found_and_its_path_told)
{
    char path[SOCKET_PATH_SIZE] = "";
    struct place place;
    int fd;

    place_make(&place);
    place_listen(&place, getuid());
    fd = dial("", SOCK_NONBLOCK, path);
    ck_assert_int_ge(fd, 0);
    ck_assert_str_eq(path, place.path);
    close(fd);
    place_remove(&place);
}
END_TEST

/* Only root can play two users. */
START_TEST(a_socket_of_another_user_is_believed_only_where_it_was_named)
{
    char path[SOCKET_PATH_SIZE] = "untouched";
    struct place place;
    int fd;

    if (getuid() != 0)
        return;
    place_make(&place);
    place_listen(&place, SOMEBODY_ELSE);
    fd = dial(NULL, 0, path);
    ck_assert_msg(fd < 0 || strcmp(path, place.path) != 0, "believed a stranger");
    fd = dial(place.path, 0, path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    place_remove(&place);
}
END_TEST

START_TEST(a_path_that_no_socket_can_have_is_said_to_be_too_long)
{
    char path[SOCKET_PATH_SIZE];
    char given[SOCKET_PATH_SIZE + 1];

    memset(given, 'x', sizeof given);
    given[sizeof given - 1] = 0;
    ck_assert_int_eq(dial(given, 0, path), -ENAMETOOLONG);
}
END_TEST

HARNESS_MAIN("dial", 20, where_nobody_listens_the_answer_is_no, our_own_daemon_is_found_and_its_path_told,
             a_socket_of_another_user_is_believed_only_where_it_was_named,
             a_path_that_no_socket_can_have_is_said_to_be_too_long)
