/* What the layer makes of how PoCL names its devices. */
#include "opencl/graph/crossing.h"

#include <string.h>

#include "harness.h"
#include "opencl/layer.h"

cl_icd_dispatch target;
static const char *device_version;
static const char *device_name;

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t room, void *ret_value,
                                      size_t *ret_size)
{
    const char *text = what == CL_DEVICE_NAME ? device_name : device_version;

    (void)device;
    (void)ret_size;
    if (strlen(text) >= room)
        return CL_INVALID_VALUE;
    (void)strcpy(ret_value, text);
    return CL_SUCCESS;
}

static struct crossing crossing_of(const char *version, const char *name)
{
    struct crossing crossing;

    target.clGetDeviceInfo = device_info;
    device_version = version;
    device_name = name;
    crossing_init(&crossing, NULL);
    return crossing;
}

/* As clinfo prints them on Debian 12, Ubuntu 24.04 and Debian 13. */
START_TEST(the_basic_device_of_every_pocl_runs_commands_inside_the_call)
{
    static const char *const basic[][2] = {
        {"OpenCL 3.0 PoCL HSTR: basic-x86_64-pc-linux-gnu-skylake-avx512", "basic-skylake-avx512-AMD EPYC"},
        {"OpenCL 3.0 PoCL HSTR: cpu-minimal-x86_64-pc-linux-gnu-skylake-avx512",
         "cpu-minimal-skylake-avx512-AMD EPYC"},
        {"OpenCL 3.0 PoCL HSTR: cpu-x86_64-pc-linux-gnu-skylake-avx512",
         "cpu-minimal-skylake-avx512-AMD EPYC"},
    };

    for (size_t i = 0; i < sizeof basic / sizeof basic[0]; i++) {
        struct crossing crossing = crossing_of(basic[i][0], basic[i][1]);

        ck_assert_msg(crossing.needed && crossing.inside, "%s", basic[i][0]);
    }
}
END_TEST

START_TEST(its_threaded_device_does_not)
{
    static const char *const threaded[][2] = {
        {"OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-skylake-avx512",
         "pthread-skylake-avx512-AMD EPYC"},
        {"OpenCL 3.0 PoCL HSTR: cpu-x86_64-pc-linux-gnu-skylake-avx512", "cpu-skylake-avx512-AMD EPYC"},
    };

    for (size_t i = 0; i < sizeof threaded / sizeof threaded[0]; i++) {
        struct crossing crossing = crossing_of(threaded[i][0], threaded[i][1]);

        ck_assert_msg(crossing.needed && !crossing.inside, "%s", threaded[i][0]);
    }
}
END_TEST

START_TEST(another_driver_is_crossed_freely_whatever_its_device_is_called)
{
    struct crossing crossing = crossing_of("OpenCL 3.0 CUDA", "basic accelerator");

    ck_assert(!crossing.needed);
    ck_assert(!crossing.inside);
}
END_TEST

HARNESS_MAIN("crossing", 20, the_basic_device_of_every_pocl_runs_commands_inside_the_call,
             its_threaded_device_does_not, another_driver_is_crossed_freely_whatever_its_device_is_called)
