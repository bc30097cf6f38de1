/*
 * Linked with --wrap=image_load,--wrap=worker_launch into the tests of the CUDA device. Every
 * module is cut as it is loaded. Every launch of a kernel that was cut runs in random pieces, in
 * random order. The tests must not notice.
 */
#include "base/random.h"
#include "cuda_cpu/launch.h"
#include "pieces.h"
#include "ptx/cut/ptx_piece.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_IMAGES = 4096 };

static struct {
    const struct image *image;
    struct ptx_cut cut;
} images[MOST_IMAGES];
static size_t n_images;
struct pieces_count pieces_count;

enum cpu_status __real_image_load(struct space *space, const struct image_text texts[], size_t n,
                                  const struct image_options *options, struct image **ret_image);
enum cpu_status __wrap_image_load(struct space *space, const struct image_text texts[], size_t n,
                                  const struct image_options *options, struct image **ret_image);
enum cpu_status __real_worker_launch(struct worker *worker, const struct launch *launch,
                                     struct launch_fault *ret_fault);
enum cpu_status __wrap_worker_launch(struct worker *worker, const struct launch *launch,
                                     struct launch_fault *ret_fault);

enum cpu_status __wrap_image_load(struct space *space, const struct image_text texts[], size_t n,
                                  const struct image_options *options, struct image **ret_image)
{
    struct image_text text = texts[0];
    struct ptx_cut cut = {0};
    enum cpu_status status;

    if (n == 1 && n_images < MOST_IMAGES && ptx_cut(text.text, text.size, &cut) == 0 && cut.text) {
        text.text = cut.text;
        text.size = cut.size;
        status = __real_image_load(space, &text, 1, options, ret_image);
    } else {
        status = __real_image_load(space, texts, n, options, ret_image);
    }
    if (status == CPU_OK && cut.text) {
        images[n_images].image = *ret_image;
        images[n_images++].cut = cut;
    } else {
        ptx_cut_done(&cut);
    }
    return status;
}

/* The newest image at this address: older ones were freed. */
static const struct ptx_cut_entry *find(const struct launch *launch)
{
    for (size_t i = n_images; i > 0; i--)
        if (images[i - 1].image == launch->image)
            return ptx_cut_find(&images[i - 1].cut, launch->entry->name);
    return NULL;
}

static enum cpu_status launch_pieces(struct worker *worker, const struct launch *launch,
                                     const struct ptx_cut_entry *entry, struct launch_fault *ret_fault)
{
    static char buffer[LAUNCH_MOST_PARAMETERS];
    static struct random_state random;
    struct pieces pieces;
    struct launch piece = *launch;
    enum cpu_status status = CPU_OK;

    if (!pieces_count.launches)
        random_init(&random, 22, 1);
    if (pieces_make(&pieces, launch->grid, &random))
        return __real_worker_launch(worker, launch, ret_fault);
    piece.entry = image_find_entry(launch->image, entry->piece_name);
    if (!piece.entry || piece.entry->parameter_bytes != entry->piece_offset + sizeof pieces.whole ||
        piece.entry->n_parameters != entry->n_parameters + 1 ||
        piece.entry->parameters[entry->n_parameters].offset != entry->piece_offset)
        abort();
    if (launch->parameters)
        memcpy(buffer, launch->parameters, entry->bytes);
    piece.parameters = buffer;
    pieces_count.launches++;
    for (unsigned i = 0; i < pieces.n && status == CPU_OK; i++) {
        pieces.whole.first = pieces.begin[i];
        memcpy(buffer + entry->piece_offset, &pieces.whole, sizeof pieces.whole);
        piece.grid[0] = pieces.end[i] - pieces.begin[i];
        piece.grid[1] = piece.grid[2] = 1;
        status = __real_worker_launch(worker, &piece, ret_fault);
        pieces_count.pieces++;
    }
    return status;
}

enum cpu_status __wrap_worker_launch(struct worker *worker, const struct launch *launch,
                                     struct launch_fault *ret_fault)
{
    const struct ptx_cut_entry *entry = find(launch);

    if (!entry || entry->reason != PTX_CUT || launch->is_cooperative || launch->end_block ||
        launch->first_block) {
        pieces_count.whole++;
        return __real_worker_launch(worker, launch, ret_fault);
    }
    return launch_pieces(worker, launch, entry, ret_fault);
}
