/*
 * What each enqueue call must refuse at once: on an idle queue, and on one whose head waits for a
 * user event.
 */
#include "conformance.h"

#include <stdio.h>
#include <string.h>

struct scene {
    const struct world *world;
    struct things *t;
    cl_command_queue queue;
    cl_event foreign;                          /* an event of another context */
    cl_mem foreign_mem;                        /* a buffer of another context */
    cl_kernel unset;                           /* arguments never set */
    cl_kernel ready;                           /* scale with its arguments set */
    cl_event event;                            /* an event of this context, complete */
    cl_mem no_access, host_reads, host_writes; /* what the host may do with them */
    cl_mem private_image;                      /* the host may not touch it */
    cl_mem first_part, second_part;            /* of one buffer: 1024 bytes, and 512 further on */
    cl_kernel fixed;                           /* reqd_work_group_size(8, 1, 1) */
    size_t *pitch;                             /* for what a map answers */
};

#define SIZES(...) ((const size_t[3]){__VA_ARGS__})

typedef cl_int (*attempt)(const struct scene *s);

#define ATTEMPT(name, expression)                                                                            \
    static cl_int name(const struct scene *s)                                                                \
    {                                                                                                        \
        cl_int code = 0;                                                                                     \
        (void)s;                                                                                             \
        (void)code;                                                                                          \
        return expression;                                                                                   \
    }

#define Q       s->queue
#define T       s->t
#define NOTHING 0, NULL, NULL

static void CL_CALLBACK never_called(void *args)
{
    (void)args;
}

static void CL_CALLBACK ignore_event(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    (void)data;
}

ATTEMPT(read_no_queue, clEnqueueReadBuffer(NULL, T->a, CL_FALSE, 0, 4, T->host, NOTHING))
ATTEMPT(read_no_mem, clEnqueueReadBuffer(Q, NULL, CL_FALSE, 0, 4, T->host, NOTHING))
ATTEMPT(read_no_pointer, clEnqueueReadBuffer(Q, T->a, CL_FALSE, 0, 4, NULL, NOTHING))
ATTEMPT(read_past_end, clEnqueueReadBuffer(Q, T->a, CL_FALSE, 1020, 8, T->host, NOTHING))
ATTEMPT(read_far_offset, clEnqueueReadBuffer(Q, T->a, CL_FALSE, (size_t)1 << 40, 4, T->host, NOTHING))
ATTEMPT(read_foreign_mem, clEnqueueReadBuffer(Q, s->foreign_mem, CL_FALSE, 0, 4, T->host, NOTHING))
ATTEMPT(read_count_without_list, clEnqueueReadBuffer(Q, T->a, CL_FALSE, 0, 4, T->host, 1, NULL, NULL))
ATTEMPT(read_list_without_count, clEnqueueReadBuffer(Q, T->a, CL_FALSE, 0, 4, T->host, 0, &s->event, NULL))
ATTEMPT(read_null_event, clEnqueueReadBuffer(Q, T->a, CL_FALSE, 0, 4, T->host, 1, &(cl_event){NULL}, NULL))
ATTEMPT(read_foreign_event, clEnqueueReadBuffer(Q, T->a, CL_FALSE, 0, 4, T->host, 1, &s->foreign, NULL))
ATTEMPT(write_no_mem, clEnqueueWriteBuffer(Q, NULL, CL_FALSE, 0, 4, T->host, NOTHING))
ATTEMPT(write_no_pointer, clEnqueueWriteBuffer(Q, T->a, CL_FALSE, 0, 4, NULL, NOTHING))
ATTEMPT(write_past_end, clEnqueueWriteBuffer(Q, T->a, CL_FALSE, 1000, 100, T->host, NOTHING))
ATTEMPT(write_foreign_event, clEnqueueWriteBuffer(Q, T->a, CL_FALSE, 0, 4, T->host, 1, &s->foreign, NULL))
ATTEMPT(copy_no_source, clEnqueueCopyBuffer(Q, NULL, T->b, 0, 0, 4, NOTHING))
ATTEMPT(copy_no_target, clEnqueueCopyBuffer(Q, T->a, NULL, 0, 0, 4, NOTHING))
ATTEMPT(copy_past_end, clEnqueueCopyBuffer(Q, T->a, T->b, 0, 1000, 100, NOTHING))
ATTEMPT(copy_overlap, clEnqueueCopyBuffer(Q, T->a, T->a, 0, 4, 16, NOTHING))
ATTEMPT(copy_foreign_mem, clEnqueueCopyBuffer(Q, T->a, s->foreign_mem, 0, 0, 4, NOTHING))
ATTEMPT(copy_null_event, clEnqueueCopyBuffer(Q, T->a, T->b, 0, 0, 4, 1, &(cl_event){NULL}, NULL))
ATTEMPT(fill_no_mem, clEnqueueFillBuffer(Q, NULL, T->host, 4, 0, 16, NOTHING))
ATTEMPT(fill_no_pattern, clEnqueueFillBuffer(Q, T->a, NULL, 4, 0, 16, NOTHING))
ATTEMPT(fill_odd_pattern, clEnqueueFillBuffer(Q, T->a, T->host, 3, 0, 12, NOTHING))
ATTEMPT(fill_misaligned, clEnqueueFillBuffer(Q, T->a, T->host, 4, 2, 16, NOTHING))
ATTEMPT(fill_past_end, clEnqueueFillBuffer(Q, T->a, T->host, 4, 1020, 16, NOTHING))
ATTEMPT(read_rect_no_mem, clEnqueueReadBufferRect(Q, NULL, CL_FALSE, SIZES(0), SIZES(0), SIZES(4, 1, 1), 0, 0,
                                                  0, 0, T->host, NOTHING))
ATTEMPT(read_rect_no_pointer, clEnqueueReadBufferRect(Q, T->a, CL_FALSE, SIZES(0), SIZES(0), SIZES(4, 1, 1),
                                                      0, 0, 0, 0, NULL, NOTHING))
ATTEMPT(read_rect_past_end, clEnqueueReadBufferRect(Q, T->a, CL_FALSE, SIZES(0, 30, 0), SIZES(0),
                                                    SIZES(16, 8, 1), 32, 0, 0, 0, T->host, NOTHING))
ATTEMPT(read_rect_small_pitch, clEnqueueReadBufferRect(Q, T->a, CL_FALSE, SIZES(0), SIZES(0), SIZES(16, 4, 1),
                                                       8, 0, 0, 0, T->host, NOTHING))
ATTEMPT(read_rect_empty, clEnqueueReadBufferRect(Q, T->a, CL_FALSE, SIZES(0), SIZES(0), SIZES(16, 0, 1), 0, 0,
                                                 0, 0, T->host, NOTHING))
ATTEMPT(write_rect_past_end, clEnqueueWriteBufferRect(Q, T->a, CL_FALSE, SIZES(0, 30, 0), SIZES(0),
                                                      SIZES(16, 8, 1), 32, 0, 0, 0, T->host, NOTHING))
ATTEMPT(write_rect_no_pointer, clEnqueueWriteBufferRect(Q, T->a, CL_FALSE, SIZES(0), SIZES(0), SIZES(4, 1, 1),
                                                        0, 0, 0, 0, NULL, NOTHING))
ATTEMPT(copy_rect_no_mem,
        clEnqueueCopyBufferRect(Q, NULL, T->b, SIZES(0), SIZES(0), SIZES(4, 1, 1), 0, 0, 0, 0, NOTHING))
ATTEMPT(copy_rect_past_end, clEnqueueCopyBufferRect(Q, T->a, T->b, SIZES(0, 30, 0), SIZES(0), SIZES(16, 8, 1),
                                                    32, 0, 32, 0, NOTHING))
ATTEMPT(read_image_no_mem,
        clEnqueueReadImage(Q, NULL, CL_FALSE, SIZES(0), SIZES(4, 4, 1), 0, 0, T->pixels, NOTHING))
ATTEMPT(read_image_of_buffer,
        clEnqueueReadImage(Q, T->a, CL_FALSE, SIZES(0), SIZES(4, 4, 1), 0, 0, T->pixels, NOTHING))
ATTEMPT(read_image_no_pointer,
        clEnqueueReadImage(Q, T->image, CL_FALSE, SIZES(0), SIZES(4, 4, 1), 0, 0, NULL, NOTHING))
ATTEMPT(read_image_past_end,
        clEnqueueReadImage(Q, T->image, CL_FALSE, SIZES(8, 0, 0), SIZES(16, 4, 1), 0, 0, T->pixels, NOTHING))
ATTEMPT(write_image_no_mem,
        clEnqueueWriteImage(Q, NULL, CL_FALSE, SIZES(0), SIZES(4, 4, 1), 0, 0, T->pixels, NOTHING))
ATTEMPT(write_image_past_end,
        clEnqueueWriteImage(Q, T->image, CL_FALSE, SIZES(0, 15, 0), SIZES(4, 4, 1), 0, 0, T->pixels, NOTHING))
ATTEMPT(copy_image_no_mem, clEnqueueCopyImage(Q, T->image, NULL, SIZES(0), SIZES(0), SIZES(4, 4, 1), NOTHING))
ATTEMPT(copy_image_past_end,
        clEnqueueCopyImage(Q, T->image, T->image2, SIZES(0), SIZES(14, 0, 0), SIZES(4, 4, 1), NOTHING))
ATTEMPT(image_to_buffer_past_end,
        clEnqueueCopyImageToBuffer(Q, T->image, T->c, SIZES(0), SIZES(4, 4, 1), 1020, NOTHING))
ATTEMPT(buffer_to_image_no_mem,
        clEnqueueCopyBufferToImage(Q, NULL, T->image, 0, SIZES(0), SIZES(4, 4, 1), NOTHING))
ATTEMPT(fill_image_no_color, clEnqueueFillImage(Q, T->image, NULL, SIZES(0), SIZES(4, 4, 1), NOTHING))
ATTEMPT(fill_image_past_end,
        clEnqueueFillImage(Q, T->image, T->host, SIZES(14, 0, 0), SIZES(4, 4, 1), NOTHING))
ATTEMPT(map_no_mem, (clEnqueueMapBuffer(Q, NULL, CL_FALSE, CL_MAP_READ, 0, 4, 0, NULL, NULL, &code), code))
ATTEMPT(map_past_end,
        (clEnqueueMapBuffer(Q, T->a, CL_FALSE, CL_MAP_READ, 1020, 8, 0, NULL, NULL, &code), code))
ATTEMPT(map_null_event,
        (clEnqueueMapBuffer(Q, T->a, CL_FALSE, CL_MAP_READ, 0, 8, 1, NULL, NULL, &code), code))
ATTEMPT(map_image_no_pitch, (clEnqueueMapImage(Q, T->image, CL_FALSE, CL_MAP_READ, SIZES(0), SIZES(4, 4, 1),
                                               NULL, NULL, 0, NULL, NULL, &code),
                             code))
ATTEMPT(unmap_no_mem, clEnqueueUnmapMemObject(Q, NULL, T->host, NOTHING))
ATTEMPT(unmap_unknown_pointer, clEnqueueUnmapMemObject(Q, T->a, T->host, NOTHING))
ATTEMPT(migrate_nothing, clEnqueueMigrateMemObjects(Q, 0, NULL, 0, NOTHING))
ATTEMPT(migrate_null_mem, clEnqueueMigrateMemObjects(Q, 1, &(cl_mem){NULL}, 0, NOTHING))
ATTEMPT(kernel_none, clEnqueueNDRangeKernel(Q, NULL, 1, NULL, SIZES(8), SIZES(8), NOTHING))
ATTEMPT(kernel_dim_0, clEnqueueNDRangeKernel(Q, s->ready, 0, NULL, SIZES(8), SIZES(8), NOTHING))
ATTEMPT(kernel_dim_4, clEnqueueNDRangeKernel(Q, s->ready, 4, NULL, SIZES(8), SIZES(8), NOTHING))
ATTEMPT(kernel_unset_args, clEnqueueNDRangeKernel(Q, s->unset, 1, NULL, SIZES(8), SIZES(8), NOTHING))
ATTEMPT(kernel_uneven, clEnqueueNDRangeKernel(Q, s->ready, 1, NULL, SIZES(10), SIZES(4), NOTHING))
ATTEMPT(kernel_huge_local,
        clEnqueueNDRangeKernel(Q, s->ready, 1, NULL, SIZES(1 << 20), SIZES(1 << 20), NOTHING))
ATTEMPT(kernel_zero_local, clEnqueueNDRangeKernel(Q, s->ready, 1, NULL, SIZES(8), SIZES(0), NOTHING))
ATTEMPT(kernel_foreign_queue,
        clEnqueueNDRangeKernel(s->world->other_queue, s->ready, 1, NULL, SIZES(8), SIZES(8), NOTHING))
ATTEMPT(kernel_count_without_list,
        clEnqueueNDRangeKernel(Q, s->ready, 1, NULL, SIZES(8), SIZES(8), 1, NULL, NULL))
ATTEMPT(kernel_foreign_event,
        clEnqueueNDRangeKernel(Q, s->ready, 1, NULL, SIZES(8), SIZES(8), 1, &s->foreign, NULL))
ATTEMPT(task_none, clEnqueueTask(Q, NULL, NOTHING))
ATTEMPT(task_unset_args, clEnqueueTask(Q, s->unset, NOTHING))
ATTEMPT(native_none, clEnqueueNativeKernel(Q, NULL, NULL, 0, 0, NULL, NULL, NOTHING))
ATTEMPT(marker_count_without_list, clEnqueueMarkerWithWaitList(Q, 1, NULL, NULL))
ATTEMPT(marker_null_event, clEnqueueMarkerWithWaitList(Q, 1, &(cl_event){NULL}, NULL))
ATTEMPT(marker_foreign_event, clEnqueueMarkerWithWaitList(Q, 1, &s->foreign, NULL))
ATTEMPT(barrier_list_without_count, clEnqueueBarrierWithWaitList(Q, 0, &s->event, NULL))
ATTEMPT(old_marker_no_event, clEnqueueMarker(Q, NULL))
ATTEMPT(old_wait_nothing, clEnqueueWaitForEvents(Q, 0, NULL))
ATTEMPT(finish_no_queue, clFinish(NULL))
ATTEMPT(flush_no_queue, clFlush(NULL))
ATTEMPT(wait_nothing, clWaitForEvents(0, NULL))
ATTEMPT(wait_null, clWaitForEvents(1, &(cl_event){NULL}))
ATTEMPT(wait_two_contexts, clWaitForEvents(2, (cl_event[2]){s->event, s->foreign}))
ATTEMPT(set_status_of_command, clSetUserEventStatus(s->event, CL_COMPLETE))
ATTEMPT(callback_none, clSetEventCallback(s->event, CL_COMPLETE, NULL, NULL))
ATTEMPT(svm_copy_no_pointer, s->world->svm ? clEnqueueSVMMemcpy(Q, CL_FALSE, NULL, T->host, 4, NOTHING) : 0)
ATTEMPT(svm_fill_no_pattern, s->world->svm ? clEnqueueSVMMemFill(Q, T->svm, NULL, 4, 16, NOTHING) : 0)
ATTEMPT(svm_map_no_pointer, s->world->svm ? clEnqueueSVMMap(Q, CL_FALSE, CL_MAP_READ, NULL, 4, NOTHING) : 0)
ATTEMPT(svm_unmap_no_pointer, s->world->svm ? clEnqueueSVMUnmap(Q, NULL, NOTHING) : 0)
ATTEMPT(read_no_access, clEnqueueReadBuffer(Q, s->no_access, CL_FALSE, 0, 4, T->host, NOTHING))
ATTEMPT(read_write_only, clEnqueueReadBuffer(Q, s->host_writes, CL_FALSE, 0, 4, T->host, NOTHING))
ATTEMPT(read_nothing, clEnqueueReadBuffer(Q, T->a, CL_FALSE, 0, 0, T->host, NOTHING))
ATTEMPT(write_read_only, clEnqueueWriteBuffer(Q, s->host_reads, CL_FALSE, 0, 4, T->host, NOTHING))
ATTEMPT(copy_nothing, clEnqueueCopyBuffer(Q, T->a, T->b, 0, 0, 0, NOTHING))
ATTEMPT(copy_overlapping_parts, clEnqueueCopyBuffer(Q, s->first_part, s->second_part, 0, 0, 512, NOTHING))
ATTEMPT(copy_parts_apart, clEnqueueCopyBuffer(Q, s->first_part, s->second_part, 0, 256, 256, NOTHING))
ATTEMPT(fill_nothing, clEnqueueFillBuffer(Q, T->a, T->host, 4, 0, 0, NOTHING))
ATTEMPT(read_rect_write_only, clEnqueueReadBufferRect(Q, s->host_writes, CL_FALSE, SIZES(0), SIZES(0),
                                                      SIZES(4, 1, 1), 0, 0, 0, 0, T->host, NOTHING))
ATTEMPT(read_rect_small_slice, clEnqueueReadBufferRect(Q, T->a, CL_FALSE, SIZES(0), SIZES(0), SIZES(8, 4, 2),
                                                       16, 32, 0, 0, T->host, NOTHING))
ATTEMPT(write_rect_read_only, clEnqueueWriteBufferRect(Q, s->host_reads, CL_FALSE, SIZES(0), SIZES(0),
                                                       SIZES(4, 1, 1), 0, 0, 0, 0, T->host, NOTHING))
ATTEMPT(copy_rect_overlap, clEnqueueCopyBufferRect(Q, T->a, T->a, SIZES(0), SIZES(4, 1, 0), SIZES(8, 4, 1),
                                                   32, 0, 32, 0, NOTHING))
ATTEMPT(copy_rect_beside, clEnqueueCopyBufferRect(Q, T->c, T->c, SIZES(0), SIZES(8, 0, 0), SIZES(8, 4, 1), 32,
                                                  0, 32, 0, NOTHING))
ATTEMPT(copy_rect_other_pitch, clEnqueueCopyBufferRect(Q, T->c, T->c, SIZES(0), SIZES(0, 8, 0),
                                                       SIZES(8, 4, 1), 32, 0, 64, 0, NOTHING))
ATTEMPT(read_image_no_access,
        clEnqueueReadImage(Q, s->private_image, CL_FALSE, SIZES(0), SIZES(4, 4, 1), 0, 0, T->pixels, NOTHING))
ATTEMPT(read_image_small_pitch,
        clEnqueueReadImage(Q, T->image, CL_FALSE, SIZES(0), SIZES(4, 4, 1), 8, 0, T->pixels, NOTHING))
ATTEMPT(write_image_no_access, clEnqueueWriteImage(Q, s->private_image, CL_FALSE, SIZES(0), SIZES(4, 4, 1), 0,
                                                   0, T->pixels, NOTHING))
ATTEMPT(copy_image_overlap,
        clEnqueueCopyImage(Q, T->image, T->image, SIZES(0), SIZES(2, 2, 0), SIZES(4, 4, 1), NOTHING))
ATTEMPT(copy_image_beside,
        clEnqueueCopyImage(Q, T->image2, T->image2, SIZES(0), SIZES(8, 0, 0), SIZES(4, 4, 1), NOTHING))
ATTEMPT(map_no_access,
        (clEnqueueMapBuffer(Q, s->no_access, CL_FALSE, CL_MAP_READ, 0, 4, 0, NULL, NULL, &code), code))
ATTEMPT(map_read_write_only,
        (clEnqueueMapBuffer(Q, s->host_writes, CL_FALSE, CL_MAP_READ, 0, 4, 0, NULL, NULL, &code), code))
ATTEMPT(map_write_read_only,
        (clEnqueueMapBuffer(Q, s->host_reads, CL_FALSE, CL_MAP_WRITE, 0, 4, 0, NULL, NULL, &code), code))
ATTEMPT(map_nothing, (clEnqueueMapBuffer(Q, T->a, CL_FALSE, CL_MAP_READ, 0, 0, 0, NULL, NULL, &code), code))
ATTEMPT(map_image_no_access,
        (clEnqueueMapImage(Q, s->private_image, CL_FALSE, CL_MAP_READ, SIZES(0), SIZES(4, 4, 1), &s->pitch[0],
                           &s->pitch[1], 0, NULL, NULL, &code),
         code))
ATTEMPT(map_image_past_end,
        (clEnqueueMapImage(Q, T->image, CL_FALSE, CL_MAP_READ, SIZES(8, 0, 0), SIZES(16, 4, 1), &s->pitch[0],
                           &s->pitch[1], 0, NULL, NULL, &code),
         code))
ATTEMPT(migrate_flags, clEnqueueMigrateMemObjects(Q, 1, &T->a, 64, NOTHING))
ATTEMPT(kernel_zero_global, clEnqueueNDRangeKernel(Q, s->ready, 1, NULL, SIZES(0), NULL, NOTHING))
ATTEMPT(kernel_wide_local,
        clEnqueueNDRangeKernel(Q, s->ready, 3, NULL, SIZES(4, 4, 1 << 20), SIZES(4, 4, 1 << 20), NOTHING))
ATTEMPT(kernel_other_local, clEnqueueNDRangeKernel(Q, s->fixed, 1, NULL, SIZES(8), SIZES(4), NOTHING))
ATTEMPT(kernel_no_global, clEnqueueNDRangeKernel(Q, s->ready, 1, NULL, NULL, NULL, NOTHING))
ATTEMPT(native_size_without_args, clEnqueueNativeKernel(Q, never_called, NULL, 4, 0, NULL, NULL, NOTHING))
ATTEMPT(svm_copy_overlap,
        s->world->svm ? clEnqueueSVMMemcpy(Q, CL_FALSE, T->svm, T->svm + 1, 16, NOTHING) : 0)
ATTEMPT(svm_fill_odd_size, s->world->svm ? clEnqueueSVMMemFill(Q, T->svm, T->host, 4, 18, NOTHING) : 0)
ATTEMPT(svm_fill_misaligned,
        s->world->svm ? clEnqueueSVMMemFill(Q, (char *)T->svm + 2, T->host, 4, 16, NOTHING) : 0)
ATTEMPT(svm_fill_odd_pattern, s->world->svm ? clEnqueueSVMMemFill(Q, T->svm, T->host, 3, 12, NOTHING) : 0)
ATTEMPT(copy_part_of_whole, clEnqueueCopyBuffer(Q, s->first_part, s->second_part, 512, 0, 256, NOTHING))
ATTEMPT(copy_rect_uneven_slice,
        clEnqueueCopyBufferRect(Q, T->a, T->b, SIZES(0), SIZES(0), SIZES(8, 2, 2), 16, 40, 16, 40, NOTHING))
ATTEMPT(kernel_of_no_groups, clEnqueueNDRangeKernel(Q, s->ready, 1, NULL, SIZES(0), SIZES(8), NOTHING))
ATTEMPT(write_nothing, clEnqueueWriteBuffer(Q, T->a, CL_FALSE, 4, 0, T->host, NOTHING))
ATTEMPT(svm_free_no_list, s->world->svm ? clEnqueueSVMFree(Q, 1, NULL, NULL, NULL, NOTHING) : 0)
ATTEMPT(callback_odd_status, clSetEventCallback(s->event, 77, ignore_event, NULL))

#define ROW(name)                                                                                            \
    {                                                                                                        \
#name, name                                                                                          \
    }
static const struct {
    const char *name;
    attempt run;
} attempts[] = {
    ROW(read_no_queue),
    ROW(read_no_mem),
    ROW(read_no_pointer),
    ROW(read_past_end),
    ROW(read_far_offset),
    ROW(read_foreign_mem),
    ROW(read_count_without_list),
    ROW(read_list_without_count),
    ROW(read_null_event),
    ROW(read_foreign_event),
    ROW(write_no_mem),
    ROW(write_no_pointer),
    ROW(write_past_end),
    ROW(write_foreign_event),
    ROW(copy_no_source),
    ROW(copy_no_target),
    ROW(copy_past_end),
    ROW(copy_overlap),
    ROW(copy_foreign_mem),
    ROW(copy_null_event),
    ROW(fill_no_mem),
    ROW(fill_no_pattern),
    ROW(fill_odd_pattern),
    ROW(fill_misaligned),
    ROW(fill_past_end),
    ROW(read_rect_no_mem),
    ROW(read_rect_no_pointer),
    ROW(read_rect_past_end),
    ROW(read_rect_small_pitch),
    ROW(read_rect_empty),
    ROW(write_rect_past_end),
    ROW(write_rect_no_pointer),
    ROW(copy_rect_no_mem),
    ROW(copy_rect_past_end),
    ROW(read_image_no_mem),
    ROW(read_image_of_buffer),
    ROW(read_image_no_pointer),
    ROW(read_image_past_end),
    ROW(write_image_no_mem),
    ROW(write_image_past_end),
    ROW(copy_image_no_mem),
    ROW(copy_image_past_end),
    ROW(image_to_buffer_past_end),
    ROW(buffer_to_image_no_mem),
    ROW(fill_image_no_color),
    ROW(fill_image_past_end),
    ROW(map_no_mem),
    ROW(map_past_end),
    ROW(map_null_event),
    ROW(map_image_no_pitch),
    ROW(unmap_no_mem),
    ROW(unmap_unknown_pointer),
    ROW(migrate_nothing),
    ROW(migrate_null_mem),
    ROW(kernel_none),
    ROW(kernel_dim_0),
    ROW(kernel_dim_4),
    ROW(kernel_unset_args),
    ROW(kernel_uneven),
    ROW(kernel_huge_local),
    ROW(kernel_zero_local),
    ROW(kernel_foreign_queue),
    ROW(kernel_count_without_list),
    ROW(kernel_foreign_event),
    ROW(task_none),
    ROW(task_unset_args),
    ROW(native_none),
    ROW(marker_count_without_list),
    ROW(marker_null_event),
    ROW(marker_foreign_event),
    ROW(barrier_list_without_count),
    ROW(old_marker_no_event),
    ROW(old_wait_nothing),
    ROW(finish_no_queue),
    ROW(flush_no_queue),
    ROW(wait_nothing),
    ROW(wait_null),
    ROW(wait_two_contexts),
    ROW(set_status_of_command),
    ROW(callback_none),
    ROW(svm_copy_no_pointer),
    ROW(svm_fill_no_pattern),
    ROW(svm_map_no_pointer),
    ROW(svm_unmap_no_pointer),
    ROW(read_no_access),
    ROW(read_write_only),
    ROW(read_nothing),
    ROW(write_read_only),
    ROW(copy_nothing),
    ROW(copy_overlapping_parts),
    ROW(copy_parts_apart),
    ROW(fill_nothing),
    ROW(read_rect_write_only),
    ROW(read_rect_small_slice),
    ROW(write_rect_read_only),
    ROW(copy_rect_overlap),
    ROW(copy_rect_beside),
    ROW(copy_rect_other_pitch),
    ROW(read_image_no_access),
    ROW(read_image_small_pitch),
    ROW(write_image_no_access),
    ROW(copy_image_overlap),
    ROW(copy_image_beside),
    ROW(map_no_access),
    ROW(map_read_write_only),
    ROW(map_write_read_only),
    ROW(map_nothing),
    ROW(map_image_no_access),
    ROW(map_image_past_end),
    ROW(migrate_flags),
    ROW(kernel_zero_global),
    ROW(kernel_wide_local),
    ROW(kernel_other_local),
    ROW(kernel_no_global),
    ROW(native_size_without_args),
    ROW(svm_copy_overlap),
    ROW(svm_fill_odd_size),
    ROW(svm_fill_misaligned),
    ROW(svm_fill_odd_pattern),
    ROW(copy_part_of_whole),
    ROW(copy_rect_uneven_slice),
    ROW(kernel_of_no_groups),
    ROW(write_nothing),
    ROW(svm_free_no_list),
    ROW(callback_odd_status),
};

/* PoCL 3.1 crashes on these, or accepts what it must refuse and goes on to undefined behaviour. */
static bool survives_not(const char *name)
{
    static const char *const names[] = {
        "copy_rect_no_mem",       "kernel_none",         "kernel_count_without_list",
        "kernel_foreign_event",   "task_none",           "old_wait_nothing",
        "svm_fill_no_pattern",    "copy_image_past_end", "kernel_zero_local",
        "copy_overlapping_parts", "copy_part_of_whole",  "read_image_small_pitch"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static void attempt_all(struct scene *scene, const char *state)
{
    char name[80];

    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
        cl_event gate = NULL;
        if (scene->world->pocl && survives_not(attempts[i].name))
            continue;
        if (!strcmp(state, "gated")) {
            gate = clCreateUserEvent(scene->world->context, NULL);
            clEnqueueMarkerWithWaitList(scene->queue, 1, &gate, NULL);
        }
        (void)snprintf(name, sizeof name, "%s/%s", attempts[i].name, state);
        line(name, "%d", attempts[i].run(scene));
        if (gate) {
            clSetUserEventStatus(gate, CL_COMPLETE);
            clReleaseEvent(gate);
        }
        clFinish(scene->queue);
    }
}

static void make_guarded(struct scene *ret_scene)
{
    static size_t pitch[2];
    cl_context context = ret_scene->world->context;
    cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};
    cl_buffer_region first = {0, 1024}, second = {512, 1024};
    cl_mem whole = clCreateBuffer(context, CL_MEM_READ_WRITE, 2048, NULL, NULL);

    ret_scene->no_access = clCreateBuffer(context, CL_MEM_HOST_NO_ACCESS, 1024, NULL, NULL);
    ret_scene->host_reads = clCreateBuffer(context, CL_MEM_HOST_READ_ONLY, 1024, NULL, NULL);
    ret_scene->host_writes = clCreateBuffer(context, CL_MEM_HOST_WRITE_ONLY, 1024, NULL, NULL);
    if (ret_scene->world->images)
        ret_scene->private_image = clCreateImage(context, CL_MEM_HOST_NO_ACCESS, &format, &desc, NULL, NULL);
    ret_scene->first_part =
        clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &first, NULL);
    ret_scene->second_part =
        clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &second, NULL);
    clReleaseMemObject(whole);
    ret_scene->fixed = make_kernel(ret_scene->world, "fixed");
    clSetKernelArg(ret_scene->fixed, 0, sizeof ret_scene->t->c, &ret_scene->t->c);
    ret_scene->pitch = pitch;
}

static void release_guarded(const struct scene *scene)
{
    clReleaseMemObject(scene->no_access);
    clReleaseMemObject(scene->host_reads);
    clReleaseMemObject(scene->host_writes);
    if (scene->private_image)
        clReleaseMemObject(scene->private_image);
    clReleaseMemObject(scene->first_part);
    clReleaseMemObject(scene->second_part);
    clReleaseKernel(scene->fixed);
}

void check_errors(const struct world *world)
{
    struct things t;
    struct scene scene = {.world = world, .t = &t, .queue = world->second};
    cl_int one = 1;

    things_make(world, &t);
    scene.foreign = clCreateUserEvent(world->other_context, NULL);
    clSetUserEventStatus(scene.foreign, CL_COMPLETE);
    scene.foreign_mem = clCreateBuffer(world->other_context, CL_MEM_READ_WRITE, 1024, NULL, NULL);
    scene.unset = make_kernel(world, "scale");
    scene.ready = make_kernel(world, "scale");
    clSetKernelArg(scene.ready, 0, sizeof t.a, &t.a);
    clSetKernelArg(scene.ready, 1, sizeof one, &one);
    clEnqueueMarkerWithWaitList(world->second, 0, NULL, &scene.event);
    clFinish(world->second);
    make_guarded(&scene);
    attempt_all(&scene, "idle");
    attempt_all(&scene, "gated");
    line("errors", "data %08x", things_hash(world, &t));
    clReleaseEvent(scene.event);
    clReleaseEvent(scene.foreign);
    clReleaseMemObject(scene.foreign_mem);
    release_guarded(&scene);
    clReleaseKernel(scene.unset);
    clReleaseKernel(scene.ready);
    things_free(world, &t);
}
