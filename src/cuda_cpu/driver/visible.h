/*
 * Which devices of the machine a program sees, and in which order: CUDA_VISIBLE_DEVICES. The
 * program numbers the devices that it sees from 0. Names, identities and engines belong to the
 * device of the machine.
 *
 * The text is a list with commas. Each part is the number of a device, or a beginning of its uuid
 * (GPU-b1...) that no other device shares. The first part that names no device ends the list. An
 * empty text selects no device, and so does a text that names a device twice.
 */
#ifndef CUDA_CPU_DRIVER_VISIBLE_H
#define CUDA_CPU_DRIVER_VISIBLE_H

/*
 * Device n is ba70:b0+n:00.0. This domain tells batond that the device is a core
 * (base/driver_quirks.def). With scripted lengths (scripted.h) the device is 0000:b0+n:00.0.
 */
enum { VISIBLE_UUID_BYTES = 16, VISIBLE_PCI_BUS = 0xb0, VISIBLE_PCI_DOMAIN = 0xba70 };
unsigned visible_pci_domain(void);

/*
 * Fills in the devices of the machine, of n_devices (at most 16), that the program sees. Answers
 * their number. text NULL: all, in order.
 */
unsigned visible_read(const char *text, unsigned n_devices, unsigned ret_devices[]);

/* The uuid of a device of the machine. The first byte is its PCI bus, which no other device has. */
void visible_uuid(unsigned device, char ret_bytes[VISIBLE_UUID_BYTES]);

#endif
