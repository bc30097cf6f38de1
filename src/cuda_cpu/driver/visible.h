/*
 * Which of the machine's devices a program sees, and in which order: what CUDA_VISIBLE_DEVICES
 * says. A program counts the devices that it sees from 0; names, identities and engines belong to
 * the device of the machine.
 *
 * The text is a list with commas. Each part is the number of a device, or the beginning of its uuid
 * (GPU-b1...) that no other device has. The first part that names no device ends the list. An empty
 * text names none, and so does a text that names a device twice.
 */
#ifndef CUDA_CPU_DRIVER_VISIBLE_H
#define CUDA_CPU_DRIVER_VISIBLE_H

/*
 * Device n is ba70:b0+n:00.0. By this domain batond knows that the device is a core
 * (wire/device_name.h). With scripted lengths (scripted.h) it is 0000:b0+n:00.0.
 */
enum { VISIBLE_UUID_BYTES = 16, VISIBLE_PCI_BUS = 0xb0, VISIBLE_PCI_DOMAIN = 0xba70 };
unsigned visible_pci_domain(void);

/*
 * The devices of the machine that the program sees, of n_devices (at most 16). Their number is the
 * answer. NULL: all, in order.
 */
unsigned visible_read(const char *text, unsigned n_devices, unsigned ret_devices[]);

/* Of a device of the machine. The first byte is its PCI bus, which tells it from all others. */
void visible_uuid(unsigned device, char ret_bytes[VISIBLE_UUID_BYTES]);

#endif
