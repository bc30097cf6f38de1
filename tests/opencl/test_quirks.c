/* Which quirks a device has, by what it says of itself. */
#include "opencl/quirks/quirks.h"

#include <string.h>

#include "harness.h"
#include "opencl/layer.h"

struct opencl_front front;
static const char *device_version;
static const char *device_name;
static const char *driver_version = "";

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t room, void *ret_value,
                                      size_t *ret_size)
{
    const char *text = what == CL_DEVICE_NAME      ? device_name
                       : what == CL_DRIVER_VERSION ? driver_version
                                                   : device_version;

    (void)device;
    (void)ret_size;
    if (strlen(text) >= room)
        return CL_INVALID_VALUE;
    (void)strcpy(ret_value, text);
    return CL_SUCCESS;
}

static struct quirks quirks_of(const char *version, const char *name)
{
    struct quirks quirks;

    front.target.clGetDeviceInfo = device_info;
    device_version = version;
    device_name = name;
    quirks_init(&quirks, NULL);
    return quirks;
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
        struct quirks quirks = quirks_of(basic[i][0], basic[i][1]);

        ck_assert_msg(quirks_have(&quirks, QUIRK_ENQUEUE_ALONE) && quirks_have(&quirks, QUIRK_RUNS_INSIDE),
                      "%s", basic[i][0]);
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
        struct quirks quirks = quirks_of(threaded[i][0], threaded[i][1]);

        ck_assert_msg(quirks_have(&quirks, QUIRK_ENQUEUE_ALONE) && !quirks_have(&quirks, QUIRK_RUNS_INSIDE),
                      "%s", threaded[i][0]);
    }
}
END_TEST

START_TEST(another_driver_has_none_whatever_its_device_is_called)
{
    struct quirks quirks = quirks_of("OpenCL 3.0 CUDA", "basic accelerator");

    ck_assert_uint_eq(quirks.has, 0);
}
END_TEST

/*
 * PoCL of Debian 12 and 13, and before grids had a width. tests/base/test_driver_quirks.c has each
 * row.
 */
START_TEST(the_version_that_the_driver_reports_decides)
{
    static const struct {
        const char *driver;
        bool has;
    } cases[] = {
        {"1.3-rc2", false}, {"3.1+debian", true}, {"6.0+debian", true}, {"unknown", true}, {"", true}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct quirks quirks;

        driver_version = cases[i].driver;
        quirks = quirks_of("OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu", "pthread-AMD EPYC");
        ck_assert_msg(quirks_have(&quirks, QUIRK_WIDE_GRIDS) == cases[i].has, "%s", cases[i].driver);
    }
}
END_TEST

HARNESS_MAIN("quirks", 20, the_basic_device_of_every_pocl_runs_commands_inside_the_call,
             its_threaded_device_does_not, another_driver_has_none_whatever_its_device_is_called,
             the_version_that_the_driver_reports_decides)
