#include "opencl/graph/kinds.h"

#include "opencl/graph/adopt.h"
#include "opencl/graph/chunk.h"
#include "opencl/graph/give.h"
#include "opencl/graph/opencl_issue.h"
#include "opencl/graph/kernel_launch.h"
#include "opencl/graph/deferred_map.h"
#include "opencl/graph/uses.h"
#include "opencl/graph/opencl_validate.h"

#define CHUNKS                 .issue = chunk_issue, .issue_range = chunk_issue_range
#define WHOLE                  .issue = issue_as_given
#define MOVES(source, target)  .from = SIDE_##source, .to = SIDE_##target
#define LINEAR(source, target) .linear = true, MOVES(source, target)

/* clang-format off */
const struct kind kinds[COMMAND_KINDS] = {
    [COMMAND_USER] = {.type = CL_COMMAND_USER, .label = "", .user = true},

    /* --- buffers --- */
    [COMMAND_READ] = {
        LINEAR(BUFFER, HOST),
        .type = CL_COMMAND_READ_BUFFER, .engine = ENGINE_COPY_OUT, .leased = true, .label = "",
        .validate = validate_linear, .give = give_read, .uses = uses_read,
        .bytes = chunk_bytes_linear, .plan_chunks = chunk_plan_linear, .chunk = chunk_linear, CHUNKS},
    [COMMAND_WRITE] = {
        LINEAR(HOST, BUFFER),
        .type = CL_COMMAND_WRITE_BUFFER, .engine = ENGINE_COPY_IN, .leased = true, .label = "",
        .validate = validate_linear, .give = give_write, .uses = uses_write,
        .bytes = chunk_bytes_linear, .plan_chunks = chunk_plan_linear, .chunk = chunk_linear, CHUNKS},
    [COMMAND_COPY_BUFFER] = {
        LINEAR(BUFFER, BUFFER),
        .type = CL_COMMAND_COPY_BUFFER, .engine = ENGINE_EXECUTION, .leased = true, .label = "(copy)",
        .validate = validate_linear, .give = give_copy, .uses = uses_copy,
        .bytes = chunk_bytes_linear, .plan_chunks = chunk_plan_linear, .chunk = chunk_linear, CHUNKS},
    [COMMAND_FILL] = {
        LINEAR(PATTERN, BUFFER),
        .type = CL_COMMAND_FILL_BUFFER, .engine = ENGINE_EXECUTION, .leased = true, .label = "(copy)",
        .validate = validate_linear, .give = give_fill, .uses = uses_write,
        .bytes = chunk_bytes_linear, .plan_chunks = chunk_plan_fill, .chunk = chunk_linear, CHUNKS},
    [COMMAND_READ_RECT] = {
        MOVES(BUFFER, HOST),
        .type = CL_COMMAND_READ_BUFFER_RECT, .engine = ENGINE_COPY_OUT, .leased = true, .label = "",
        .validate = validate_rect, .give = give_read_rect, .uses = uses_read_box,
        .bytes = chunk_bytes_rect, .plan_chunks = chunk_plan_box, .chunk = chunk_box_both, CHUNKS},
    [COMMAND_WRITE_RECT] = {
        MOVES(HOST, BUFFER),
        .type = CL_COMMAND_WRITE_BUFFER_RECT, .engine = ENGINE_COPY_IN, .leased = true, .label = "",
        .validate = validate_rect, .give = give_write_rect, .uses = uses_write_box,
        .bytes = chunk_bytes_rect, .plan_chunks = chunk_plan_box, .chunk = chunk_box_both, CHUNKS},
    [COMMAND_COPY_RECT] = {
        MOVES(BUFFER, BUFFER),
        .type = CL_COMMAND_COPY_BUFFER_RECT, .engine = ENGINE_EXECUTION, .leased = true, .label = "(copy)",
        .validate = validate_rect, .give = give_copy_rect, .uses = uses_copy_box,
        .bytes = chunk_bytes_rect, .plan_chunks = chunk_plan_box, .chunk = chunk_box_both, CHUNKS},

    /* --- images --- */
    [COMMAND_READ_IMAGE] = {
        MOVES(IMAGE, HOST),
        .type = CL_COMMAND_READ_IMAGE, .engine = ENGINE_COPY_OUT, .leased = true, .label = "",
        .validate = validate_image, .give = give_read_image, .uses = uses_read_box,
        .bytes = chunk_bytes_from_image, .plan_chunks = chunk_plan_box, .chunk = chunk_box_host, CHUNKS},
    [COMMAND_WRITE_IMAGE] = {
        MOVES(HOST, IMAGE),
        .type = CL_COMMAND_WRITE_IMAGE, .engine = ENGINE_COPY_IN, .leased = true, .label = "",
        .validate = validate_image, .give = give_write_image, .uses = uses_write_box,
        .bytes = chunk_bytes_from_image, .plan_chunks = chunk_plan_box, .chunk = chunk_box_host, CHUNKS},
    [COMMAND_COPY_IMAGE] = {
        MOVES(IMAGE, IMAGE),
        .type = CL_COMMAND_COPY_IMAGE, .engine = ENGINE_EXECUTION, .leased = true, .label = "(copy)",
        .validate = validate_image, .give = give_copy_image, .uses = uses_copy_box,
        .bytes = chunk_bytes_from_image, .plan_chunks = chunk_plan_box, .chunk = chunk_box_both, CHUNKS},
    [COMMAND_IMAGE_TO_BUFFER] = {
        MOVES(IMAGE, BUFFER),
        .type = CL_COMMAND_COPY_IMAGE_TO_BUFFER, .engine = ENGINE_EXECUTION, .leased = true,
        .label = "(copy)", .validate = validate_image, .give = give_image_to_buffer, .uses = uses_copy_box,
        .bytes = chunk_bytes_from_image, .plan_chunks = chunk_plan_box, .chunk = chunk_box_bytes, CHUNKS},
    [COMMAND_BUFFER_TO_IMAGE] = {
        MOVES(BUFFER, IMAGE),
        .type = CL_COMMAND_COPY_BUFFER_TO_IMAGE, .engine = ENGINE_EXECUTION, .leased = true,
        .label = "(copy)", .validate = validate_image, .give = give_buffer_to_image, .uses = uses_copy_box,
        .bytes = chunk_bytes_to_image, .plan_chunks = chunk_plan_box, .chunk = chunk_box_bytes, CHUNKS},
    [COMMAND_FILL_IMAGE] = {
        MOVES(PATTERN, IMAGE),
        .type = CL_COMMAND_FILL_IMAGE, .engine = ENGINE_EXECUTION, .leased = true, .label = "(copy)",
        .validate = validate_image, .give = give_fill_image, .uses = uses_write_box,
        .bytes = chunk_bytes_from_image, .plan_chunks = chunk_plan_box, .chunk = chunk_box_fill, CHUNKS},

    /* --- maps, migrations: graph/deferred_map.h; a map names its own type --- */
    [COMMAND_MAP] = {
        .type = CL_COMMAND_MAP_BUFFER, .engine = ENGINE_COPY_OUT, .leased = true, .label = "",
        .next_at_end = true, .issue = map_issue, .uses = uses_map},
    [COMMAND_UNMAP] = {
        .type = CL_COMMAND_UNMAP_MEM_OBJECT, .engine = ENGINE_COPY_IN, .leased = true, .label = "",
        .next_at_end = true, .give = give_unmap, .issue = map_issue_unmap, .uses = uses_unmap,
        .over = map_finished},
    [COMMAND_MIGRATE] = {
        .type = CL_COMMAND_MIGRATE_MEM_OBJECTS, .engine = ENGINE_COPY_IN, .leased = true, .label = "",
        .driver_waits = WAITS_ALWAYS, .validate = validate_migrate, .give = give_migrate,
        .adopt = adopt_migrate, .uses = uses_migrate, WHOLE},

    /* --- kernels --- */
    [COMMAND_KERNEL] = {
        .type = CL_COMMAND_NDRANGE_KERNEL, .engine = ENGINE_EXECUTION, .leased = true, .label = "",
        .launch = true, .cut_by_time = true, .validate = validate_launch, .give = give_kernel,
        .adopt = adopt_launch, .uses = uses_launch, .issue = launch_issue, .issue_range = launch_issue_range},
    [COMMAND_TASK] = {
        .type = CL_COMMAND_TASK, .engine = ENGINE_EXECUTION, .leased = true, .label = "",
        .launch = true, .task = true, .validate = validate_launch, .give = give_task,
        .adopt = adopt_launch, .uses = uses_launch, .issue = launch_issue},
    [COMMAND_NATIVE] = {
        .type = CL_COMMAND_NATIVE_KERNEL, .engine = ENGINE_EXECUTION, .leased = true, .label = "(native)",
        .calls_program = true, .validate = validate_native, .give = give_native,
        .adopt = adopt_native, .uses = uses_native, WHOLE},

    /* --- order --- */
    [COMMAND_MARKER] = {
        .type = CL_COMMAND_MARKER, .label = "", .follows_all = true, .driver_waits = WAITS_UNORDERED,
        .give = give_marker, WHOLE},
    [COMMAND_BARRIER] = {
        .type = CL_COMMAND_BARRIER, .label = "", .follows_all = true, .barrier = true,
        .driver_waits = WAITS_UNORDERED, .give = give_barrier, WHOLE},

    /* --- shared virtual memory --- */
    [COMMAND_SVM_MEMCPY] = {
        .type = CL_COMMAND_SVM_MEMCPY, .engine = ENGINE_COPY_IN, .leased = true, .label = "",
        .validate = validate_svm_memcpy, .give = give_svm_memcpy,
        .bytes = chunk_bytes_svm, .plan_chunks = chunk_plan_linear, .chunk = chunk_svm_memcpy, CHUNKS},
    [COMMAND_SVM_FILL] = {
        .type = CL_COMMAND_SVM_MEMFILL, .engine = ENGINE_EXECUTION, .leased = true, .label = "(copy)",
        .validate = validate_svm_fill, .give = give_svm_fill,
        .bytes = chunk_bytes_svm, .plan_chunks = chunk_plan_svm_fill, .chunk = chunk_svm_fill, CHUNKS},
    [COMMAND_SVM_MAP] = {
        .type = CL_COMMAND_SVM_MAP, .engine = ENGINE_COPY_OUT, .leased = true, .label = "",
        .validate = validate_svm_map, .give = give_svm_map, WHOLE},
    [COMMAND_SVM_UNMAP] = {
        .type = CL_COMMAND_SVM_UNMAP, .engine = ENGINE_COPY_IN, .leased = true, .label = "",
        .validate = validate_svm_unmap, .give = give_svm_unmap, WHOLE},
    [COMMAND_SVM_FREE] = {
        .type = CL_COMMAND_SVM_FREE, .label = "", .calls_program = true,
        .validate = validate_svm_free, .give = give_svm_free, .adopt = adopt_svm_free, WHOLE},
    [COMMAND_SVM_MIGRATE] = {
        .type = CL_COMMAND_SVM_MIGRATE_MEM, .engine = ENGINE_COPY_IN, .leased = true, .label = "",
        .validate = validate_svm_migrate, .give = give_svm_migrate, .adopt = adopt_svm_migrate, WHOLE},
};
/* clang-format on */
