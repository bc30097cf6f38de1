/*
 * What OpenCL drivers get wrong by themselves, without Baton: tests step around it, and the table
 * in driver_faults.c says which versions and why. A row is written after the fault was seen in a
 * program without Baton.
 */
#ifndef TESTS_DRIVER_FAULTS_H
#define TESTS_DRIVER_FAULTS_H

#include <CL/cl.h>

enum driver_faults {
    FAULT_MIGRATE_TO_HOST_HANGS,
    /* a loop up to the item's own id between barriers, groups of one or two items */
    FAULT_SMALL_GROUPS_CRASH,
    /* events of FillImage and WriteImage say FILL_BUFFER and WRITE_BUFFER_RECT */
    FAULT_IMAGE_EVENTS_MISNAMED,
};

/* Why a test has to step around it on this device; NULL: it need not. */
const char *driver_fault(cl_device_id device, enum driver_faults fault);

#endif
