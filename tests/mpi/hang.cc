// Canary of the watchdog: rank 0 never comes to the barrier. The run must end with exit code 99 and tell where everyone
// is.
#include "test.h"

int main(int argc, char** argv) {
  Session session(argc, argv);
  CHECK(session.size > 1);
  if (session.rank == 0) {
    for (;;) pause();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return session.finish();
}
