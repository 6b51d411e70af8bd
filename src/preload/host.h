/* The contract between libsuiro.so, which is preloaded and knows no MPI, and the shim it loads for the MPI library that
 * it finds in the process. Plain C, so that neither side depends on the other's compiler or MPI. */
#ifndef SUIRO_PRELOAD_HOST_H
#define SUIRO_PRELOAD_HOST_H

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when this contract changes; a shim of another version refuses to load. */
#define SUIRO_HOST_VERSION 1

struct suiro_host {
  int version;
  /* The host MPI library's own function, for example "PMPI_File_open"; NULL when it has none. */
  void *(*native)(const char *name);
};

/* Exported by a shim. For each i with 0 <= i < count, puts the address of the code that serves names[i] into table[i],
 * or leaves table[i] alone when it does not serve that function. Called once, before any of those functions runs.
 * Returns 0, or a negative number when the shim cannot work with this host. */
typedef int suiro_shim_start_fn(const struct suiro_host *host, int count, const char *const *names, void **table);
#define SUIRO_SHIM_START "suiro_shim_start"

#ifdef __cplusplus
}
#endif
#endif
