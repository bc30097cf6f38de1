/*
 * usage: gpes [--quick] [--output FOLDER] [fig5|fig6|fig7|fig8|fig9|fig11]...
 *   default: all figures; the pictures go to gpes-figures/
 *
 * Started by bench/gpes/run. Tables go to standard output.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "gpes.h"

static const struct {
    const char *name;
    void (*run)(struct gpes *gpes);
} figures[] = {{"fig5", gpes_slicing}, {"fig6", gpes_chunks}, {"fig7", gpes_switch},
               {"fig8", gpes_kernels}, {"fig9", gpes_copies}, {"fig11", gpes_orders}};

enum { FIGURES = sizeof figures / sizeof figures[0] };

int main(int argc, char **argv)
{
    static struct gpes gpes;
    bool wanted[FIGURES] = {false};
    bool any = false;

    gpes.folder = "gpes-figures";
    for (int i = 1; i < argc; i++) {
        bool known = strcmp(argv[i], "--quick") == 0;
        gpes.quick = gpes.quick || known;
        if (strcmp(argv[i], "--output") == 0 && i + 1 < argc) {
            gpes.folder = argv[++i];
            continue;
        }
        for (size_t f = 0; f < FIGURES; f++)
            if (strcmp(argv[i], figures[f].name) == 0)
                known = wanted[f] = any = true;
        if (!known) {
            fprintf(stderr,
                    "gpes: %s: expected --quick, --output FOLDER, or fig5, fig6, fig7, fig8, fig9, fig11\n",
                    argv[i]);
            return 2;
        }
    }
    (void)mkdir(gpes.folder, 0777);
    stage_open(&gpes.stage, "basic");
    if (!gpes.stage.realtime)
        printf("SCHED_FIFO is not permitted: the operating system's noise is in every row.\n");
    for (size_t f = 0; f < FIGURES; f++)
        if (wanted[f] || !any)
            figures[f].run(&gpes);
    stage_close(&gpes.stage);
    printf("\nPictures: %s/fig*.svg\n", gpes.folder);
    return 0;
}
