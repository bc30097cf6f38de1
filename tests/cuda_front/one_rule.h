/*
 * For programs that run one of their rules, named on the command line. A program includes it once,
 * behind what has `kernels`, `n_wrong` and open_context().
 */
#ifndef TESTS_CUDA_FRONT_ONE_RULE_H
#define TESTS_CUDA_FRONT_ONE_RULE_H

struct rule {
    const char *name;
    void (*run)(void);
};

/* The status with which the program ends. Its arguments are a rule and a file of kernels. */
static inline int run_one_rule(const struct rule rules[], size_t n, int argc, char **argv)
{
    if (argc != 3)
        return 2;
    kernels = argv[2];
    MUST(cuInit(0));
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rules[i].name, argv[1]) != 0)
            continue;
        open_context();
        rules[i].run();
        printf("%s\n", n_wrong ? "wrong" : "right");
        return n_wrong > 0;
    }
    return 2;
}

#endif
