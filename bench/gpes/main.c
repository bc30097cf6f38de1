/*
 * usage: gpes [--quick] [--largest] [--output FOLDER] [opencl] [cuda]
 *             [rewriting|fig5|fig6|fig7|fig8|fig9|fig11]...
 *   default: everything over both APIs; the pictures go to gpes-figures/
 *   --largest: Fig. 5, 8 and 9 with the largest size only
 *
 * Started by bench/gpes/run. Tables go to standard output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpes.h"

static const struct {
    const char *name;
    void (*run)(struct gpes *gpes);
} figures[] = {{"rewriting", gpes_rewriting}, {"fig5", gpes_slicing}, {"fig6", gpes_chunks},
               {"fig7", gpes_switch},         {"fig8", gpes_kernels}, {"fig9", gpes_copies},
               {"fig11", gpes_orders}};

enum { FIGURES = sizeof figures / sizeof figures[0] };

/* CUDA programs run on the CPU device, with engines of their own. False: it is not built here. */
static bool prepare_cuda(const struct stage *stage)
{
    static const char *const needed[] = {"libbaton-cuda.so", "cuda-cpu/libcuda.so.1"};
    char path[PATH_MAX + 64];

    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", stage->build, needed[i]);
        if (access(path, R_OK) != 0)
            return false;
    }
    (void)snprintf(path, sizeof path, "%s/engines", stage->folder);
    return setenv("BATON_CUDA_CPU_ENGINES", path, 1) == 0;
}

static void choose_apis(struct gpes *gpes, const bool named[GPES_APIS])
{
    static const struct gpes_api *const all[GPES_APIS] = {&gpes_opencl, &gpes_cuda};
    bool any = named[0] || named[1];
    bool there[GPES_APIS] = {true, prepare_cuda(&gpes->stage)};

    for (size_t a = 0; a < GPES_APIS; a++) {
        if (!there[a])
            printf("The CPU device for CUDA programs is not built: its rows are left out.\n");
        else if (named[a] || !any)
            gpes->apis[gpes->n_apis++] = all[a];
    }
}

/* Takes one word of the command line; false: it is none. */
static bool take_word(struct gpes *gpes, const char *word, bool wanted[FIGURES], bool named[GPES_APIS])
{
    bool known = true;

    if (strcmp(word, "--quick") == 0)
        gpes->quick = true;
    else if (strcmp(word, "--largest") == 0)
        gpes->largest = true;
    else if (strcmp(word, "opencl") == 0)
        named[0] = true;
    else if (strcmp(word, "cuda") == 0)
        named[1] = true;
    else
        known = false;
    for (size_t f = 0; f < FIGURES; f++)
        if (strcmp(word, figures[f].name) == 0)
            known = wanted[f] = true;
    return known;
}

int main(int argc, char **argv)
{
    static struct gpes gpes;
    bool wanted[FIGURES] = {false};
    bool named[GPES_APIS] = {false};
    bool any = false;

    gpes.folder = "gpes-figures";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--output") == 0 && i + 1 < argc) {
            gpes.folder = argv[++i];
        } else if (!take_word(&gpes, argv[i], wanted, named)) {
            fprintf(stderr,
                    "gpes: %s: expected --quick, --largest, --output FOLDER, opencl, cuda, rewriting, or "
                    "fig5, fig6, fig7, fig8, fig9, fig11\n",
                    argv[i]);
            return 2;
        }
    }
    (void)mkdir(gpes.folder, 0777);
    stage_open(&gpes.stage, "basic");
    choose_apis(&gpes, named);
    if (!gpes.stage.realtime)
        printf("SCHED_FIFO is not permitted: the operating system's noise is in every row.\n");
    for (size_t f = 0; f < FIGURES; f++)
        any = any || wanted[f];
    for (size_t f = 0; f < FIGURES; f++)
        if (wanted[f] || !any)
            figures[f].run(&gpes);
    stage_close(&gpes.stage);
    printf("\nPictures: %s/fig*.svg\n", gpes.folder);
    return 0;
}
