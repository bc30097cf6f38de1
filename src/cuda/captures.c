/* Captures of the program (objects.h). */
#include "cuda/front.h"
#include "cuda/objects.h"

bool capture_counts(void)
{
    return atomic_fetch_add(&cuda_front.n_capturing, 1) == 0;
}

static void count_less(void)
{
    if (atomic_fetch_sub(&cuda_front.n_capturing, 1) <= 0)
        atomic_store(&cuda_front.n_capturing, 0);
}

void capture_counted(struct stream_record *stream, bool began)
{
    if (!began || (stream && atomic_exchange(&stream->captures, true)))
        count_less(); /* or the stream's last one ended without our knowledge */
}

void capture_over(struct stream_record *stream)
{
    if (!stream || atomic_exchange(&stream->captures, false))
        count_less();
}

bool stream_captures(const struct stream_record *stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    if (!front_captures())
        return false;
    if (stream->kind == STREAM_PER_THREAD && cuda_front.genuine.cuStreamIsCapturing_ptsz)
        return cuda_front.genuine.cuStreamIsCapturing_ptsz(NULL, &status) != CUDA_SUCCESS ||
               status != CU_STREAM_CAPTURE_STATUS_NONE;
    return cuda_front.genuine.cuStreamIsCapturing(stream->handle, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}
