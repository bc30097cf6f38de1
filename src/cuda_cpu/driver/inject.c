#include "cuda_cpu/driver/inject.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/driver/driver_state.h"

static bool read_rule(const char *text, size_t length, struct inject_rule *ret_rule)
{
    char line[128];
    int used = 0;

    if (length >= sizeof line)
        return false;
    memcpy(line, text, length);
    line[length] = 0;
    *ret_rule = (struct inject_rule){.n = 0};
    return sscanf(line, "%63[A-Za-z0-9_]:%lu:%d%n", ret_rule->name, &ret_rule->at, &ret_rule->code, &used) ==
               3 &&
           (size_t)used == length;
}

static int set_rules(const char *script)
{
    struct inject_rule rules[INJECT_MOST] = {0};
    size_t n = 0, length;
    int result = 0;

    for (; script && *script && result == 0; script += length + (script[length] == ',')) {
        length = strcspn(script, ",");
        if (n == INJECT_MOST || !read_rule(script, length, &rules[n]))
            result = -EINVAL;
        else
            n++;
    }
    if (result < 0)
        return result;
    pthread_mutex_lock(&driver.inject.lock);
    memcpy(driver.inject.rules, rules, n * sizeof rules[0]);
    driver.inject.n = n;
    pthread_mutex_unlock(&driver.inject.lock);
    return 0;
}

static void read_environment(void)
{
    const char *script = getenv("BATON_CUDA_CPU_FAIL");

    if (set_rules(script) < 0)
        fprintf(stderr, "baton-cuda-cpu: BATON_CUDA_CPU_FAIL: expected NAME:COUNT:CODE,..., found '%s'\n",
                script);
}

int inject_read(const char *script)
{
    /* run once now, so that the environment does not replace these rules later */
    pthread_once(&driver.inject.once, read_environment);
    return set_rules(script);
}

int inject_call(const char *name)
{
    int code = 0;

    pthread_once(&driver.inject.once, read_environment);
    if (driver.inject.n == 0) /* rules are set before the first call, or by a test between calls */
        return 0;
    pthread_mutex_lock(&driver.inject.lock);
    for (size_t i = 0; i < driver.inject.n; i++) {
        struct inject_rule *rule = &driver.inject.rules[i];

        if (strcmp(rule->name, name) == 0 && (++rule->n == rule->at || rule->at == 0))
            code = rule->code;
    }
    pthread_mutex_unlock(&driver.inject.lock);
    return code;
}
