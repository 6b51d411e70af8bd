// The host MPI library's own file functions, and the guard that sends its calls of them back to it.
#pragma once

#include <mpi.h>

namespace suiro::mpi {

/// One function pointer per function of functions.def, named and typed like the function; null where the library that
/// runs the program lacks it. Constant after the shim has started.
struct Native {
#define SUIRO_NATIVE(name)
#define SUIRO_FN(name) decltype(&P##name) name = nullptr;
#if MPI_VERSION >= 4
#define SUIRO_FN_C(name) SUIRO_FN(name)
#else
#define SUIRO_FN_C(name)
#endif
#include "preload/functions.def"
#undef SUIRO_FN_C
#undef SUIRO_FN
#undef SUIRO_NATIVE
};

const Native& native();

/// While one lives, this thread's calls of MPI_File_open and MPI_File_delete go straight to the host library: both MPIs
/// call their own file functions through the symbols we have taken over.
class NativeSection {
 public:
  NativeSection() { depth_++; }
  ~NativeSection() { depth_--; }
  NativeSection(const NativeSection&) = delete;
  NativeSection& operator=(const NativeSection&) = delete;
  static bool active() { return depth_ > 0; }

 private:
  static thread_local int depth_;
};

}  // namespace suiro::mpi
