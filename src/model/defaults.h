/*
 * The defaults that a task set and batond share. If a task set and a configuration of batond both
 * omit a key, both mean the same machine. Otherwise a plan made from one would not describe the
 * other.
 */
#ifndef MODEL_DEFAULTS_H
#define MODEL_DEFAULTS_H

#define DEFAULT_COPY_ENGINES   2 /* per GPU */
#define DEFAULT_TOKENS_PER_GPU 2 /* rho, of the profile gpusync */
#define DEFAULT_BUSES          1
#define DEFAULT_CHUNK_IN       4194304 /* bytes: 4 MiB */
#define DEFAULT_CHUNK_OUT      524288  /* bytes: 512 KiB */

#define DEFAULT_PROFILE "priority"
/* for programs with a priority; batond's `adaptive` ranks them in the same way */
#define DEFAULT_POLICY "fixed"
#define DEFAULT_LOCK   "r2dglp"

/* A default as text, for help and manual pages. */
#define DEFAULT_TEXT(value)  DEFAULT_TEXT_(value)
#define DEFAULT_TEXT_(value) #value

#endif
