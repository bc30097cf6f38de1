#include "asking.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

const char simple[] = "__kernel void k(__global int *out) { out[get_global_id(0)] = get_group_id(0); }\n";

char folder[64];

void fresh_cache(void)
{
    harness_folder(folder);
    ck_assert_int_eq(setenv("BATON_CACHE_DIR", folder, 1), 0);
}

int translate_bytes(const char *text, size_t length, const char *options, struct translate_result *ret)
{
    struct translate_request request = {
        .sources = &text, .lengths = &length, .n_sources = 1, .options = options};

    request.device = (struct translate_device){.version = "OpenCL 3.0 PoCL",
                                               .c_version = "OpenCL C 1.2 PoCL",
                                               .extensions = "cl_khr_fp64 cl_khr_global_int32_base_atomics",
                                               .driver = "PoCL test",
                                               .address_bits = 64,
                                               .images = true,
                                               .little_endian = true};
    return translate_program(&request, ret);
}

int translate_text(const char *text, const char *options, struct translate_result *ret)
{
    return translate_bytes(text, strlen(text), options, ret);
}

size_t entries(char *ret_path, size_t room)
{
    char path[512];
    const struct dirent *entry;
    size_t n = 0;
    DIR *dir;

    (void)snprintf(path, sizeof path, "%s/translate", folder);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.') {
            (void)snprintf(ret_path, room, "%s/%.100s", path, entry->d_name);
            n++;
        }
    if (dir)
        (void)closedir(dir);
    return n;
}

void expect_whole(const char *text, const char *options, const char *reason)
{
    struct translate_result result;

    ck_assert_int_eq(translate_text(text, options, &result), TRANSLATE_WHOLE);
    ck_assert_msg(strstr(result.reason, reason), "reason '%s', expected '%s'", result.reason, reason);
    ck_assert_ptr_null(result.source);
    translate_result_done(&result);
}
