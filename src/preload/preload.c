/* libsuiro.so: finds the MPI library of the process at the first MPI-IO call, loads the shim compiled for it, and leads
 * the jump stubs to the shim. Without an MPI-IO call it does nothing at all, so it is harmless in any program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host.h"

extern void *suiro_table[] __attribute__((visibility("hidden"))); /* stubs_x86_64.S */
__attribute__((visibility("hidden"))) void *suiro_resolve(unsigned index);

static const char *const function_names[] = {
#define SUIRO_NATIVE(name)
#define SUIRO_FN_C(name) SUIRO_FN(name)
#define SUIRO_FN(name) #name,
#include "functions.def"
#undef SUIRO_FN
};
enum { kFunctions = sizeof function_names / sizeof function_names[0] };

enum mpi_kind { kNoMpi, kMpich, kOpenMpi, kMpiAbi };
static const char *const shim_names[] = {NULL, "libsuiro-mpich.so", "libsuiro-ompi.so", "libsuiro-abi.so"};

struct found_mpi {
  enum mpi_kind kind;
  char path[PATH_MAX];
  void *handle;
};

static struct found_mpi mpi;
static pthread_once_t resolved = PTHREAD_ONCE_INIT;

static void complain(const char *what, const char *detail) {
  fprintf(stderr, "suiro: warning: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
}

/* Which MPI an object loaded under this file name is. */
static enum mpi_kind kind_of_library(const char *path) {
  const char *base = strrchr(path, '/');
  base = base ? base + 1 : path;
  if (strncmp(base, "libmpi_abi.so", 13) == 0) return kMpiAbi;
  if (strncmp(base, "libmpi.so", 9) != 0 && strncmp(base, "libmpich.so", 11) != 0) return kNoMpi;
  void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL) return kNoMpi;
  enum mpi_kind kind = kNoMpi;
  if (dlsym(handle, "ompi_mpi_comm_world") != NULL) kind = kOpenMpi;
  else if (dlsym(handle, "PMPI_File_open") != NULL) kind = kMpich; /* MPICH and those with its ABI */
  dlclose(handle);
  return kind;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  struct found_mpi *found = data;
  if (info->dlpi_name == NULL || info->dlpi_name[0] == '\0' || strlen(info->dlpi_name) >= PATH_MAX) return 0;
  enum mpi_kind kind = kind_of_library(info->dlpi_name);
  if (kind == kNoMpi) return 0;
  /* A program of the MPI-5 ABI may load an implementation library behind it: the ABI is what the program speaks. */
  if (found->kind == kNoMpi || kind == kMpiAbi) {
    found->kind = kind;
    strcpy(found->path, info->dlpi_name);
  }
  return 0;
}

static void *native_function(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  /* NULL when the MPI library was loaded RTLD_LOCAL, as mpi4py does with MPICH. */
  if (function == NULL && mpi.handle != NULL) function = dlsym(mpi.handle, name);
  return function;
}

static void missing_function(void) {
  fprintf(stderr, "suiro: error: the program called an MPI-IO function that its MPI library (%s) does not have\n",
          mpi.path[0] ? mpi.path : "none found");
  abort();
}

static void lead_to_native(void) {
  for (int i = 0; i < kFunctions; i++) {
    char name[64] = "P";
    strncat(name, function_names[i], sizeof name - 2);
    void *function = native_function(name);
    if (function == NULL) function = (void *)missing_function;
    __atomic_store_n(&suiro_table[i], function, __ATOMIC_RELEASE);
  }
}

/* The shims lie in the folder "suiro" beside this library, installed as well as in the build tree. */
static int shim_path(enum mpi_kind kind, char *path, size_t size) {
  Dl_info self;
  if (dladdr((void *)&shim_path, &self) == 0 || self.dli_fname == NULL) return -1;
  const char *slash = strrchr(self.dli_fname, '/');
  int directory = slash ? (int)(slash - self.dli_fname) : 1;
  const char *from = slash ? self.dli_fname : ".";
  int length = snprintf(path, size, "%.*s/suiro/%s", directory, from, shim_names[kind]);
  return length > 0 && (size_t)length < size ? 0 : -1;
}

/* Returns NULL when the shim serves the process, else the reason why it does not. */
static const char *start_shim(void **table) {
  static char reason[PATH_MAX + 512];
  char path[PATH_MAX];
  if (shim_path(mpi.kind, path, sizeof path) != 0) return "cannot find my own library's folder";
  /* The shim has no dependency on a particular libmpi; it finds the symbols of the one that is already there. */
  if (dlopen(mpi.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL) == NULL) return dlerror();
  void *shim = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (shim == NULL) {
    snprintf(reason, sizeof reason, "%s", dlerror());
    return reason;
  }
  suiro_shim_start_fn *start = (suiro_shim_start_fn *)dlsym(shim, SUIRO_SHIM_START);
  static struct suiro_host host = {SUIRO_HOST_VERSION, native_function};
  if (start == NULL || start(&host, kFunctions, function_names, table) != 0) {
    snprintf(reason, sizeof reason, "%s does not fit this libsuiro.so; install both from one build", path);
    return reason;
  }
  return NULL;
}

/* SUIRO=off is the shim's to obey (it still takes our prefixes off file names); here it only spares the complaint about
 * a shim that cannot be had. */
static int is_switched_off(void) {
  const char *value = getenv("SUIRO");
  return value != NULL && (strcasecmp(value, "off") == 0 || strcmp(value, "0") == 0 || strcasecmp(value, "no") == 0 ||
                           strcasecmp(value, "false") == 0);
}

static void resolve_all(void) {
  dl_iterate_phdr(look_at_object, &mpi);
  if (mpi.kind != kNoMpi) mpi.handle = dlopen(mpi.path, RTLD_LAZY | RTLD_NOLOAD);
  void *table[kFunctions] = {NULL};
  const char *reason = mpi.kind == kNoMpi ? "no MPI library that Suiro knows is loaded in this process"
                                          : start_shim(table);
  lead_to_native();
  if (reason != NULL && is_switched_off()) return;
  if (reason != NULL) {
    const char *on_error = getenv("SUIRO_ON_ERROR");
    if (on_error != NULL && strcmp(on_error, "fail") == 0) {
      fprintf(stderr, "suiro: error: %s (SUIRO_ON_ERROR=fail)\n", reason);
      abort();
    }
    complain("files go to the MPI library's own MPI-IO", reason);
    return;
  }
  for (int i = 0; i < kFunctions; i++)
    if (table[i] != NULL) __atomic_store_n(&suiro_table[i], table[i], __ATOMIC_RELEASE);
}

void *suiro_resolve(unsigned index) {
  pthread_once(&resolved, resolve_all);
  return __atomic_load_n(&suiro_table[index], __ATOMIC_ACQUIRE);
}
